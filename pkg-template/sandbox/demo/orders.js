import { randomInt } from "node:crypto";
import { ShopError } from "../server/server.js";
import { CURRENCY, PRODUCTS, SHOP_NAME } from "./catalogue.js";

/** The most pairs of one shoe in an order, and the most orders. */
const [MAX_QUANTITY, MAX_ORDERS] = [99, 10_000];
const NUMBERS = [100_000, 1_000_000];

/** The orders of the shop. They stand for the tables of your database, and are lost when this process ends. */
export class Orders {
  #orders = new Map();

  /** Places the order of a basket. An equal basket of a customer is the same order until that is paid. */
  place(customer, basket, language) {
    const lines = linesOf(basket, language);
    const open = [...this.#orders.values()].find((order) => order.customer === customer && order.status !== "paid" && areEqual(order.lines, lines));
    if (open) return open;
    if (this.#orders.size >= MAX_ORDERS) throw new ShopError(503, "unavailable", "The shop has too many orders. Please try again later.");
    let id;
    do {
      id = String(randomInt(...NUMBERS));
    } while (this.#orders.has(id));
    const order = { id, customer, lines, status: "unpaid", attempt: 0, earlierLines: [], paidBy: undefined, paymentRef: undefined, approvableUntil: null, refundsDue: new Map() };
    this.#orders.set(id, order);
    return order;
  }

  /** An order of this customer. The order of another one gets the same 404 as an unknown one. */
  require(id, customer) {
    const order = this.#orders.get(id);
    if (order?.customer !== customer) throw new ShopError(404, "order_missing", "There is no such order.");
    return order;
  }

  /** An order to be paid. If its last payment failed for good, the next one gets a new reference, and today's prices. */
  toPay(id, customer) {
    const order = this.require(id, customer);
    if (order.status === "failed" || order.status === "canceled") {
      const lines = order.lines.map(withTodaysPrice);
      order.earlierLines.push(order.lines);
      order.lines = lines;
      order.attempt += 1;
      order.status = "unpaid";
    }
    return order;
  }

  /** The order of a `merchant_reference`, the number of this payment of it, and whether no later one has begun. */
  named(reference) {
    const [, id, attempt = 0] = /^ORDER-(\d+)(?:\.(\d+))?$/.exec(reference);
    const order = this.#orders.get(id);
    return { order, attempt: Number(attempt), isNewest: order.attempt === Number(attempt) };
  }
}

/** Marks an order paid. From now on its payment is the one that paid it, which may be an earlier one that was shown as failed. */
export function markPaid(order, sold, attempt) {
  order.lines = order.earlierLines[attempt] ?? order.lines;
  [order.status, order.paidBy, order.paymentRef, order.attempt] = ["paid", sold.merchant_reference, sold.payment_ref, attempt];
}

/** What is sent to the service for an order. It depends on the order alone, so that a repeated create is the same payment. */
export function purchaseOf(order, returnUrl) {
  const { email, firstname, lastname } = order.customer;
  return {
    merchant_reference: order.attempt ? `ORDER-${order.id}.${order.attempt}` : `ORDER-${order.id}`,
    amount: String(totalOf(order)),
    currency: CURRENCY,
    email,
    firstname,
    lastname,
    description: `${SHOP_NAME} #${order.id}`,
    fee_bearer: "customer",
    items: order.lines.map(({ name, price, quantity }) => ({ name, price: String(price), currency: CURRENCY, quantity })),
    redirect_url: returnUrl,
  };
}

function withTodaysPrice(line) {
  const product = PRODUCTS.find(({ sku }) => sku === line.sku);
  if (!product) throw new ShopError(409, "order_ended", "The shop no longer sells this.");
  return { ...line, price: product.price };
}

/** Its total, in the smallest unit. */
const totalOf = ({ lines }) => lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0);

/** The order as the pages get it. */
export const publicOrder = (order) => ({
  id: order.id,
  total: String(totalOf(order)),
  currency: CURRENCY,
  lines: order.lines.map(({ price, ...line }) => ({ ...line, price: String(price) })),
  status: order.status,
  payment_ref: order.paymentRef,
  approvable_until: order.approvableUntil,
  refunds_due: [...order.refundsDue.values()],
});

/** The lines of an order, with names and prices from the catalogue: the page names products and quantities alone. */
function linesOf(basket, language) {
  const quantities = new Map();
  for (const line of Array.isArray(basket) ? basket : []) quantities.set(line?.sku, (quantities.get(line?.sku) ?? 0) + line?.quantity);
  const isValid = (quantity) => Number.isInteger(quantity) && quantity >= 1 && quantity <= MAX_QUANTITY;
  if (quantities.size === 0 || ![...quantities.values()].every(isValid)) {
    throw new ShopError(422, "basket_invalid", `A basket holds 1 to ${MAX_QUANTITY} pairs of each shoe.`);
  }
  return [...quantities].sort().map(([sku, quantity]) => {
    const product = PRODUCTS.find((product) => product.sku === sku);
    if (!product) throw new ShopError(422, "sku_unknown", "The shop does not sell this product.");
    return { sku, quantity, name: language === "fr" ? product.name.fr : product.name.en, price: product.price };
  });
}

/** Whether two baskets hold the same. The names may be in two languages. */
function areEqual(some, others) {
  const key = (lines) => JSON.stringify(lines.map(({ sku, quantity, price }) => [sku, quantity, price]));
  return key(some) === key(others);
}
