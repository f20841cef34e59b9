// Every name that guichet-server/orders exports, as a user's TypeScript uses it.
import { memoryOrders, postgresOrders, sqliteOrders } from "guichet-server/orders";
import type { DuePayment, LedgerCommit, LedgerStore, LoadedOrder, OpenEvent, PaymentRow, Postgres, Sqlite, StoreOptions } from "guichet-server/orders";

declare const pool: Postgres;
declare const database: Sqlite;
const options: StoreOptions = { prefix: "pay_" };
const store: LedgerStore = sqliteOrders(database, options);
export const inPostgres: LedgerStore = postgresOrders(pool);
await store.open((now: number) => String(now));
const now: number = await store.now();
const loaded: LoadedOrder = await store.load("ORDER-17", "customer:awa", now);
const row: PaymentRow = { reference: "ORDER-17", created_at: now, due_at: null, counts_until: now + 60, names: ["pi_1"] };
const commit: LedgerCommit = { name: "ORDER-17", version: 1, body: "{}", owner: "customer:awa", before: null, open: loaded.open, now, rows: [row], event: null };
export const isStored: boolean = await store.commit(commit);
export const due: DuePayment[] = await store.due(now, now + 60);
export const events: OpenEvent[] = await store.events();
// @ts-expect-error: a version is a number
await store.close("ORDER-17", "1");
// @ts-expect-error: whether the order is new is said
await store.commit({ ...commit, before: undefined });
export const inMemory: LedgerStore = memoryOrders();
