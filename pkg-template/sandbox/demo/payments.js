import { ShopError } from "../server/server.js";
import { markPaid } from "./orders.js";
import { log } from "./shop_error.js";

const DAY_MS = 24 * 60 * 60 * 1000;
/** The most payments of a customer that are open, and how long one counts that was not created. */
const [MAX_OPEN, CREATING_MS] = [20, 60_000];
/** How often a payment is read: until its status is final, and then for a day, in which an operator may approve an attempt late. */
const [OPEN_EVERY_MS, FINAL_EVERY_MS] = [3_000, 60_000];

/** Where guichet-server keeps the payments of the shop's orders. An order becomes paid here, and nowhere else. */
export class Payments {
  #orders;
  /** By `merchant_reference`. */
  #payments = new Map();

  constructor(orders) {
    this.#orders = orders;
  }

  openPayments(owner, next) {
    const stored = this.#payments.get(next);
    if (stored && stored.owner !== owner) throw new ShopError(404, "order_missing", "There is no such order.");
    if (stored) return 0;
    const isOpen = ({ sold, finalSince, begunAt }) => !finalSince && (sold || Date.now() < begunAt + CREATING_MS);
    const open = [...this.#payments.values()].filter((payment) => payment.owner === owner && isOpen(payment)).length;
    if (open < MAX_OPEN) this.#payments.set(next, { owner, begunAt: Date.now(), readAt: 0, hasReturned: false, isOver: false });
    return open;
  }

  remember(sold) {
    this.#payments.get(sold.merchant_reference).sold ??= sold;
    const { order, isNewest } = this.#orders.named(sold.merchant_reference);
    if (isNewest) order.paymentRef = sold.payment_ref;
  }

  find(paymentRef, { owner }) {
    const payment = [...this.#payments.values()].find(({ sold }) => sold?.payment_ref === paymentRef && sold.owner === owner);
    if (payment) payment.hasReturned = true;
    return payment?.sold;
  }

  settled(sold, { status, amount, amount_payable, currency, approvable_until: until }, askAgain) {
    const { order, attempt, isNewest } = this.#orders.named(sold.merchant_reference);
    // The order's next payment does not say until when this one may be approved late.
    if (until > (order.approvableUntil ?? 0)) order.approvableUntil = until;
    if (status === "succeeded") {
      if (!order.paidBy) markPaid(order, sold, attempt); // ship it
      else if (order.paidBy !== sold.merchant_reference) this.overpaid(sold, { attempt: "successful", amount: amount_payable ?? amount, currency });
    } else if (isNewest && order.status !== "paid") {
      order.status = status;
    }
    const payment = this.#payments.get(sold.merchant_reference);
    payment.finalSince ??= Date.now();
    payment.isOver = askAgain === "never" || Date.now() - payment.finalSince > DAY_MS;
  }

  /** The customer paid twice. The interface has no refund: make it with the payment company. */
  overpaid({ intent, merchant_reference }, { attempt, amount, currency }) {
    const { order } = this.#orders.named(merchant_reference);
    const name = `${intent}, attempt ${attempt}`;
    if (order.refundsDue.has(name)) return;
    order.refundsDue.set(name, { amount, currency });
    log(`${merchant_reference}: a refund of ${amount} ${currency} is due (${name}).`);
  }

  open(limit) {
    const now = Date.now();
    const due = [...this.#payments.values()].filter(({ sold, isOver, readAt, finalSince }) =>
      sold && !isOver && now >= readAt + (finalSince ? FINAL_EVERY_MS : OPEN_EVERY_MS));
    due.sort((one, other) => other.hasReturned - one.hasReturned || other.begunAt - one.begunAt);
    // Every customer's first is before anyone's second, so that no customer delays another.
    const [counts, places] = [new Map(), new Map()];
    for (const payment of due) {
      const place = counts.get(payment.owner) ?? 0;
      counts.set(payment.owner, place + 1);
      places.set(payment, place);
    }
    const next = due.sort((one, other) => places.get(one) - places.get(other)).slice(0, limit);
    for (const payment of next) payment.readAt = now;
    return next.map(({ sold }) => sold);
  }

  /** The shop is one process. */
  claim = () => true;
}
