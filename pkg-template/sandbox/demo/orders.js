import { randomInt } from "node:crypto";
import { ShopError } from "../server/server.js";
import { CURRENCY, PRODUCTS, SHOP_NAME } from "./catalogue.js";
import { log } from "./shop_error.js";

/** The most pairs of one shoe in an order, and the most orders. */
const [MAX_QUANTITY, MAX_ORDERS] = [99, 10_000];
const NUMBERS = [100_000, 1_000_000];
/** What the names of the orders begin with in the ledger. */
const NAME = "ORDER-";

/** The orders of the shop. They stand for the tables of your database, and are lost when this process ends. */
export class Orders {
  #orders = new Map();

  /** Places the order of a basket. An equal basket of a customer is the same order until that is paid. */
  place(customer, basket, language) {
    const lines = linesOf(basket, language);
    const isOpen = (order) => order.customer === customer && order.status === "unpaid" && areEqual(order.lines, lines);
    const open = [...this.#orders.values()].find(isOpen);
    if (open) return open;
    if (this.#orders.size >= MAX_ORDERS) throw new ShopError(503, "unavailable", "The shop has too many orders. Please try again later.");
    let id;
    do {
      id = String(randomInt(...NUMBERS));
    } while (this.#orders.has(id));
    const order = { id, customer, lines, status: "unpaid", version: 0, refundsDue: [] };
    this.#orders.set(id, order);
    return order;
  }

  /** An order of this customer. The order of another one gets the same 404 as an unknown one. */
  require(id, customer) {
    const order = this.#orders.get(id);
    if (order?.customer !== customer) throw new ShopError(404, "order_missing", "There is no such order.");
    return order;
  }

  /** Keeps what an order has become. An older event that comes late changes nothing. */
  change({ name, version, state, paid_by: paid, asked, refunds_due: refunds }) {
    const order = this.#orders.get(name.slice(NAME.length));
    if (!order || version <= order.version) return;
    const { status: before, refundsDue: known } = order;
    [order.version, order.status, order.refundsDue] = [version, state, refunds];
    if (state === "paid" && before !== "paid") log(`${name} is paid.`); // ship it
    if (state === "paid_other_sum" && before !== state) {
      const sums = `${paid.amount} ${paid.currency} was paid (${paid.reference}), and it costs ${asked.amount} ${asked.currency}`;
      log(`${name}: ${sums}. Nothing is shipped; a person decides.`);
    }
    if (state === "paid_after_end" && before !== state) log(`${name} was paid after its end. Nothing is shipped; a person decides.`);
    // The interface has no refund: make it with the payment company.
    const isKnown = (refund) => known.some((one) => nameOfRefund(one) === nameOfRefund(refund));
    for (const refund of refunds.filter((refund) => !isKnown(refund))) {
      const sum = `${refund.amount} ${refund.currency}${refund.plus_fee ? " and the fee" : ""}`;
      log(`${name}: a refund of ${sum} is due (${nameOfRefund(refund)}).`);
    }
  }
}

/** Without an attempt, the whole payment is due. */
const nameOfRefund = ({ id, attempt }) => (attempt ? `${id}, attempt ${attempt}` : id);

/** An order's name in the ledger, which adds a number to that of a second payment. */
export const nameOf = ({ id }) => NAME + id;

/** What an order is and costs today. */
export function purchaseOf(order, returnUrl) {
  const lines = linesToday(order);
  if (!lines) return { name: nameOf(order), ended: true };
  const { email, firstname, lastname } = order.customer;
  return {
    name: nameOf(order),
    amount: String(totalOf(lines)),
    currency: CURRENCY,
    email,
    firstname,
    lastname,
    description: `${SHOP_NAME} #${order.id}`,
    fee_bearer: "customer",
    items: lines.map(({ name, price, quantity }) => ({ name, price: String(price), currency: CURRENCY, quantity })),
    redirect_url: returnUrl,
  };
}

/** Its lines at today's prices; undefined if the shop no longer sells one of the products. */
function linesToday({ lines }) {
  const prices = new Map(PRODUCTS.map(({ sku, price }) => [sku, price]));
  return lines.every(({ sku }) => prices.has(sku)) ? lines.map((line) => ({ ...line, price: prices.get(line.sku) })) : undefined;
}

/** The total of lines, in the smallest unit. */
const totalOf = (lines) => lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0);

/** The order as the pages get it, with what the ledger shows of it. */
export function publicOrder(order, shown) {
  const lines = linesToday(order) ?? order.lines;
  return {
    id: order.id,
    // A payment keeps the price at which it began.
    total: shown?.amount ?? String(totalOf(lines)),
    currency: CURRENCY,
    lines: lines.map(({ price, ...line }) => ({ ...line, price: String(price) })),
    status: order.status,
    payment_ref: shown?.payment_ref,
    approvable_until: shown?.approvable_until ?? null,
    refunds_due: order.refundsDue,
  };
}

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

/** Whether two baskets hold the same. Their names may be in two languages, and their prices of two days. */
function areEqual(some, others) {
  const key = (lines) => JSON.stringify(lines.map(({ sku, quantity }) => [sku, quantity]));
  return key(some) === key(others);
}
