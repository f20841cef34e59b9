// Every name that guichet-server exports, as a user's TypeScript uses it.
import { createShop, ShopError } from "guichet-server";
import type { CallReport, Customer, EndedOrder, OrderChanged, Profile, ProfileRoute, Purchase, ShopErrorKind, ShopOptions, ShopServer, ShownPayment } from "guichet-server";
import type { LedgerStore } from "guichet-server/orders";
import { toNode, type Incoming, type Outgoing } from "guichet-server/node";

declare const orders: LedgerStore;
const awa: Customer = { id: "17", login: "9f86", visit: "9f85" };
const shoes: Purchase = { name: "ORDER-17", amount: 45_000, description: "Shoes", firstname: "Awa", lastname: "Ngono", metadata: { size: 42 } };
const purchase = (order: unknown): Purchase | EndedOrder => (order ? shoes : { name: "ORDER-17", ended: true });
const orderChanged = ({ name, state, paid_by, refunds_due }: OrderChanged) => `${name} ${state} ${paid_by?.id ?? ""} ${refunds_due.length}`;
const options: ShopOptions = { baseUrl: new URL("https://api.example.com"), secretKey: "sk_test_1", customer: () => awa, purchase, orderChanged, orders, onCall: (call: CallReport) => call.ms };
const shop: ShopServer = createShop(options);
// What `customer` returns is what `purchase` is given.
createShop({ ...options, customer: () => ({ id: 17, size: 42 }), purchase: async (_order, { size }) => ({ ...shoes, metadata: { size: size + 1 } }) });
export const answered: Promise<Response> = shop.fetch(new Request("https://shop.example.com/guichet/session"));
export const ended: readonly Error[] = (await shop.signOut("9f86")).failed;
export const shown: ShownPayment | null = await shop.order("ORDER-17");
createShop({ ...options, publicReads: true });
// @ts-expect-error: it is on or off
createShop({ ...options, publicReads: "merchant" });
const { due, failed } = await shop.settle();
export const reads: number = due;
export const kinds: (ShopErrorKind | undefined)[] = failed.map((error) => (error instanceof ShopError ? error.kind : undefined));
export const handler: (request: Incoming, response: Outgoing) => void = toNode(shop);
const read: ProfileRoute = { method: "POST", path: "/status?of={id}", credential: "client_secret" };
const profile: Profile = { base_url: "https://api.example.com", read, cancel: null, statuses: { pending: "processing" } };
createShop({ secretKey: "sk_test_1", customer: () => awa, purchase, orderChanged, orders, profile });
// @ts-expect-error: a word becomes one of ours
export const unknown: Profile = { ...profile, statuses: { pending: "paid" } };
// @ts-expect-error: what an order has become is stored
createShop({ ...options, orderChanged: undefined });
// @ts-expect-error: an order is kept somewhere
createShop({ baseUrl: "https://api.example.com", secretKey: "sk_test_1", customer: () => null, purchase, orderChanged });
// @ts-expect-error: a price is a must
export const free: Purchase = { name: "ORDER-17", description: "Shoes", firstname: "Awa", lastname: "Ngono" };
