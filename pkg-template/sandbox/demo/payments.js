import { CURRENCY, SHOP_NAME } from "./catalogue.js";
import { referenceOf, totalOf, updatePrices } from "./orders.js";
import { log, ShopError } from "./shop_error.js";

const DAY_MS = 24 * 60 * 60 * 1000;
/** The most payments of a customer that are open, and how long one counts that the service did not get. */
const [MAX_OPEN, CREATING_MS] = [20, 60_000];

/** The payments of the shop's orders. An order becomes paid here, and nowhere else. */
export class Payments {
  #service;
  #nonceOf;
  #returnUrl;
  /** By `merchant_reference`. */
  #payments = new Map();

  constructor(service, nonceOf, returnUrl) {
    this.#service = service;
    this.#nonceOf = nonceOf;
    this.#returnUrl = returnUrl;
  }

  /** Creates the payment of an order. All that is sent depends on the order alone, so that a repeated create is the same payment. */
  async create(order) {
    const { customer } = order;
    const payment = this.#payments.get(referenceOf(order)) ?? this.#begin(order);
    const nonce = this.#nonceOf(payment.sold.merchant_reference);
    const intent = await this.#service.createPaymentIntent({
      ...payment.sold,
      firstname: customer.firstname,
      lastname: customer.lastname,
      description: `${SHOP_NAME} #${order.id}`,
      fee_bearer: "customer",
      items: order.lines.map(({ name, price, quantity }) => ({ name, price: String(price), currency: CURRENCY, quantity })),
      // Without the nonce the return page cannot match the return.
      redirect_url: `${this.#returnUrl}?guichet_return=${nonce}`,
    });
    // Stored before the customer leaves to pay.
    payment.id ??= intent.id;
    payment.paymentRef ??= intent.payment_ref ?? intent.id;
    if (order.attempt === payment.attempt) order.paymentRef = payment.paymentRef;
    record(payment, intent, Date.now());
    return { intent: { ...intent, payment_ref: payment.paymentRef }, nonce };
  }

  /** Begins an order's next payment, unless its customer has too many: others would wait for theirs to be read. */
  #begin(order) {
    const { customer, attempt } = order;
    const isOpen = ({ order, id, begunAt, finalSince }) =>
      order.customer === customer && !finalSince && (id || Date.now() < begunAt + CREATING_MS);
    if ([...this.#payments.values()].filter(isOpen).length >= MAX_OPEN) {
      throw new ShopError(409, "too_many_open_payments", `You have ${MAX_OPEN} unpaid payments. Pay or cancel one of them first.`);
    }
    if (attempt) updatePrices(order);
    const sold = { merchant_reference: referenceOf(order), amount: String(totalOf(order)), currency: CURRENCY, email: customer.email };
    const times = { begunAt: Date.now(), readAt: 0, finalSince: undefined, isOver: false };
    const payment = { id: undefined, paymentRef: undefined, sold, order, attempt, hasReturned: false, ...times };
    this.#payments.set(sold.merchant_reference, payment);
    return payment;
  }

  /** Reads a payment of this customer. The payment of another one gets the same 404 as an unknown one. */
  read(paymentRef, customer) {
    const payment = [...this.#payments.values()].find((payment) => payment.paymentRef === paymentRef && payment.order.customer === customer);
    if (!payment) throw new ShopError(404, "resource_missing", "There is no such payment.");
    payment.hasReturned = true;
    return this.settle(payment);
  }

  /** Reads a payment with the secret key, and records what it says. */
  async settle(payment) {
    const begun = Date.now();
    const intent = await this.#service.readPaymentIntent(payment.id);
    record(payment, intent, begun);
    return intent;
  }

  /**
   * The payments that were last read at least so long ago: by whether their status is final, in milliseconds. Every customer's first is
   * before anyone's second, so that no customer delays another; of one customer, those that the customer returned to, then the youngest.
   */
  due(openEvery, finalEvery) {
    const now = Date.now();
    const isDue = ({ id, isOver, finalSince, readAt }) => id && !isOver && now >= readAt + (finalSince ? finalEvery : openEvery);
    const due = [...this.#payments.values()].filter(isDue);
    due.sort((one, other) => other.hasReturned - one.hasReturned || other.begunAt - one.begunAt);
    const counts = new Map();
    const places = new Map(
      due.map((payment) => {
        const place = counts.get(payment.order.customer) ?? 0;
        counts.set(payment.order.customer, place + 1);
        return [payment, place];
      }),
    );
    return due.sort((one, other) => places.get(one) - places.get(other));
  }
}

/** Records what a reading says, if the payment is the one that was sold. */
function record(payment, intent, readAt) {
  const { order, sold, attempt } = payment;
  payment.readAt = readAt;
  if (!isTheOneSold(payment, intent)) {
    // Read again now and then, as if its status were final: the service may have sent an unexpected reply.
    if (!payment.finalSince) log(`${sold.merchant_reference}: the payment ${payment.id} is not the one that was sold. Look at it by hand.`);
    watch(payment, readAt);
    throw new ShopError(409, "payment_mismatch", "The payment is not the one of this order. Please ask the shop.");
  }
  const { status, attempts } = intent;
  if (status === "succeeded") {
    order.status = "paid"; // ship it
    order.paymentRef = intent.payment_ref ?? intent.id;
  } else if ((status === "failed" || status === "canceled") && attempt === order.attempt && order.status !== "paid") {
    order.status = status;
  }
  // If the service gives no number, the place in its list, which only grows, stands for it.
  (intent.duplicate_payments ?? []).forEach((one, place) => recordRefund(payment, { ...one, attempt: one.attempt || 0xffffffff - place }));
  if (!["succeeded", "failed", "canceled"].includes(status)) {
    payment.finalSince = undefined;
    return;
  }
  watch(payment, readAt);
  // Only a declined attempt can be approved late.
  if (attempts <= (status === "succeeded" ? 1 : 0)) payment.isOver = true;
}

/** Goes on reading a payment for a day, and once after it. */
function watch(payment, readAt) {
  payment.finalSince ??= readAt;
  payment.isOver = readAt - payment.finalSince > DAY_MS;
}

/** An operator approved an attempt late: the customer paid twice. The interface has no refund: make it with the payment company. */
function recordRefund({ id, order, sold }, { attempt, amount, currency, approved_at }) {
  const name = `${id}, attempt ${attempt}`;
  if (order.refundsDue.has(name)) return;
  order.refundsDue.set(name, { amount, currency, approved_at });
  log(`${sold.merchant_reference}: a refund of ${amount} ${currency} is due (${name}).`);
}

const isTheOneSold = ({ id, sold }, intent) =>
  intent.id === id && intent.merchant_reference === sold.merchant_reference && intent.amount === sold.amount &&
  intent.currency === sold.currency && intent.customer?.email?.toLowerCase() === sold.email.toLowerCase();
