import { CURRENCY, SHOP_NAME } from "./catalogue.js";
import { referenceOf, totalOf } from "./orders.js";
import { log, ShopError } from "./shop_error.js";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The payments of the shop's orders. An order becomes paid here, and nowhere else. */
export class Payments {
  #service;
  #nonceOf;
  #returnUrl;
  /** By `payment_ref`. */
  #payments = new Map();

  constructor(service, nonceOf, returnUrl) {
    this.#service = service;
    this.#nonceOf = nonceOf;
    this.#returnUrl = returnUrl;
  }

  /** Creates the payment of an order. All that is sent depends on the order alone, so that a repeated create is the same payment. */
  async create(order) {
    const { customer, attempt } = order;
    const sold = { merchant_reference: referenceOf(order), amount: String(totalOf(order)), currency: CURRENCY, email: customer.email };
    const nonce = this.#nonceOf(sold.merchant_reference);
    const intent = await this.#service.createPaymentIntent({
      ...sold,
      firstname: customer.firstname,
      lastname: customer.lastname,
      description: `${SHOP_NAME} #${order.id}`,
      fee_bearer: "customer",
      items: order.lines.map(({ name, price, quantity }) => ({ name, price: String(price), currency: CURRENCY, quantity })),
      // Without the nonce the return page cannot match the return.
      redirect_url: `${this.#returnUrl}?guichet_return=${nonce}`,
    });
    // Stored before the customer leaves to pay.
    const paymentRef = intent.payment_ref ?? intent.id;
    const payment = this.#payments.get(paymentRef) ?? { id: intent.id, sold, order, attempt, readAt: 0, finalSince: undefined, isOver: false };
    this.#payments.set(paymentRef, payment);
    if (order.attempt === attempt) order.paymentRef = paymentRef;
    record(payment, intent, Date.now());
    return { intent: { ...intent, payment_ref: paymentRef }, nonce };
  }

  /** Reads a payment of this customer. The payment of another one gets the same 404 as an unknown one. */
  read(paymentRef, customer) {
    const payment = this.#payments.get(paymentRef);
    if (payment?.order.customer !== customer) throw new ShopError(404, "resource_missing", "There is no such payment.");
    return this.settle(payment);
  }

  /** Reads a payment with the secret key, and records what it says. */
  async settle(payment) {
    const begun = Date.now();
    const intent = await this.#service.readPaymentIntent(payment.id);
    record(payment, intent, begun);
    return intent;
  }

  /** The payments that were last read at least so long ago: by whether their status is final, in milliseconds. */
  due(openEvery, finalEvery) {
    const now = Date.now();
    const isDue = ({ isOver, finalSince, readAt }) => !isOver && now >= readAt + (finalSince ? finalEvery : openEvery);
    return [...this.#payments.values()].filter(isDue);
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
  for (const duplicate of intent.duplicate_payments ?? []) recordRefund(payment, duplicate);
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
