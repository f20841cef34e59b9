// Every name that guichet-server exports, as a user's TypeScript uses it.
import { checkPurchase, createShop, ShopError } from "guichet-server";
import type { AskAgain, CallReport, Customer, Duplicate, EndedOrder, LedgerShopOptions, LedgerShopServer, OrderChanged, Orders, Payment, PricedOrder, Purchase, ShopErrorKind, ShopOptions, ShopServer, Sold } from "guichet-server";
import type { LedgerStore } from "guichet-server/orders";
import { postgresOrders, sqliteOrders } from "guichet-server/examples/orders.mjs";
import type { Postgres, Price, Sqlite, StoredOrders, StoreOptions } from "guichet-server/examples/orders.mjs";
import { toNode, type Incoming, type Outgoing } from "guichet-server/node";

const kept: Sold[] = [];
const orders: Orders = {
  openPayments: (owner: string, next: string) => (next ? kept.filter((sold) => sold.owner === owner).length : 0),
  remember: (sold) => void kept.push(sold),
  find: async (reference, { owner }) => kept.find((sold) => sold.payment_ref === reference && sold.owner === owner),
  settled: (_sold: Sold, intent: Payment, again: AskAgain) => intent.status === "succeeded" && again === "never",
  overpaid: (_sold, { attempt, amount = "" }: Duplicate) => `${attempt} ${amount}`,
  open: (limit) => kept.slice(0, limit),
  claim: async () => true,
};
const purchase: Purchase = { merchant_reference: "ORDER-17", amount: 45_000, description: "Shoes", firstname: "Awa", lastname: "Ngono", metadata: { size: 42 } };
export const checked: Promise<void> = checkPurchase(purchase);
const awa: Customer = { id: "17", login: "9f86" };
const options: ShopOptions = { baseUrl: new URL("https://api.example.com"), secretKey: "sk_test_1", customer: () => awa, purchase: async () => purchase, orders, onCall: (call: CallReport) => call.ms };
const shop: ShopServer = createShop(options);
declare const pool: Postgres;
declare const database: Sqlite;
const price: Price = { amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono" };
const storeOptions: StoreOptions = { onPaid: (sold: Sold, order) => console.log(sold.amount, order), onRefund: (_sold, { attempt }) => attempt === "successful" };
const stored: StoredOrders = sqliteOrders(database, storeOptions);
export const inPostgres: Promise<StoredOrders> = postgresOrders(pool);
// What `customer` returns is what `purchase` is given.
createShop({ ...options, customer: () => ({ id: 17, size: 42 }), purchase: (_order, { size }) => stored.purchase("ORDER-17", () => ({ ...price, metadata: { size: size + 1 } })), orders: stored });
export const answered: Promise<Response> = shop.fetch(new Request("https://shop.example.com/guichet/session"));
export const ended: readonly Error[] = (await shop.signOut("9f86")).failed;
export const kinds: (ShopErrorKind | undefined)[] = (await shop.settle()).failed.map((error) => (error instanceof ShopError ? error.kind : undefined));
export const handler: (request: Incoming, response: Outgoing) => void = toNode(shop);
// Over a ledger.
declare const ledger: LedgerStore;
const named = (order: unknown): PricedOrder | EndedOrder => (order ? { ...price, name: "ORDER-17", firstname: "Awa", lastname: "Ngono" } : { name: "ORDER-17", ended: true });
const changed = ({ name, state, paid_by, refunds_due }: OrderChanged) => `${name} ${state} ${paid_by?.id ?? ""} ${refunds_due.length}`;
const overLedger: LedgerShopOptions = { baseUrl: "https://api.example.com", secretKey: "sk_test_1", customer: () => ({ ...awa, visit: "9f85" }), purchase: named, orderChanged: changed, orders: ledger };
const ledgerShop: LedgerShopServer = createShop(overLedger);
export const due: number = (await ledgerShop.settle()).due;
// @ts-expect-error: what an order has become is stored
createShop({ ...overLedger, orderChanged: undefined });
// @ts-expect-error: an order is kept somewhere
createShop({ baseUrl: "https://api.example.com", secretKey: "sk_test_1", customer: () => null, purchase: () => purchase });
// @ts-expect-error: a price is a must
export const free: Purchase = { merchant_reference: "ORDER-17", description: "Shoes", firstname: "Awa", lastname: "Ngono" };
