import type { Duplicate, Orders, Purchase, Sold } from "../server.js";

/**
 * The orders of `createShop` in a database. Its tables are created where they are missing: `purchases`, `owners`, `payments`,
 * `paid`, `refunds_due`, `rounds`, `session_tokens`.
 *
 * @example
 * const purchase = ({ key }: { key: string }) => stored.purchase(`ORDER-${key}`, () => price);
 */
export interface StoredOrders extends Orders {
  /**
   * What an order costs: as it was stored while its payment is open, or what `make` returns. After a final decline, a cancellation or an
   * expiry the next payment has the next reference: `ORDER-17.1`. The name must be the order's own: not one that two customers can have.
   * It belongs to the first who pays for it, and everybody else gets 404 `order_missing`.
   *
   * @example
   * await stored.purchase("ORDER-17", () => price);
   */
  purchase(order: string, make: () => Price | Promise<Price>): Promise<Purchase>;
}

/**
 * A purchase without its reference.
 *
 * @example
 * const shoes: Price = { amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
 */
export type Price = { [Name in keyof Purchase as Name extends "merchant_reference" ? never : Name]: Purchase[Name] };

/**
 * What the shop does besides: each is called at most once, and not if the process is killed before. The tables `paid` and `refunds_due` say
 * what is to be done.
 *
 * @example
 * const options: StoreOptions = { onPaid: (sold, order) => console.log(order, "is paid") };
 */
export interface StoreOptions {
  /**
   * An order has become paid.
   *
   * @example
   * const onPaid: StoreOptions["onPaid"] = ({ merchant_reference }) => console.log(merchant_reference);
   */
  onPaid?(sold: Sold, order: string): unknown;
  /**
   * A refund is due, which is made with the payment company.
   *
   * @example
   * const onRefund: StoreOptions["onRefund"] = (sold, { intent, attempt }) => console.log(intent, attempt);
   */
  onRefund?(sold: Sold, refund: Omit<Duplicate, "attempt"> & { attempt: number | "successful" }): unknown;
  /**
   * The time in seconds. Default: the machine's.
   *
   * @example
   * const now: StoreOptions["now"] = () => Math.floor(Date.now() / 1000);
   */
  now?(): number;
}

/**
 * A SQLite database: a `Database` of node-sqlite3-wasm; or, with a `DatabaseSync` of `node:sqlite`,
 * `{ all: (sql, values) => database.prepare(sql).all(...values) }`.
 *
 * @example
 * const empty: Sqlite = { all: () => [] };
 */
export interface Sqlite {
  /**
   * Executes a statement. Returns its rows.
   *
   * @example
   * const all: Sqlite["all"] = (sql, values) => (console.log(sql, values), []);
   */
  all(sql: string, values: (string | number)[]): unknown[];
}

/**
 * A PostgreSQL database: a `Pool` of `pg`.
 *
 * @example
 * const orders = (pool: Postgres) => postgresOrders(pool);
 */
export interface Postgres {
  /**
   * Executes a statement.
   *
   * @example
   * const rows = async (pool: Postgres) => (await pool.query("SELECT * FROM paid", [])).rows;
   */
  query(sql: string, values: unknown[]): Promise<{ rows: unknown[] }>;
  /**
   * A connection of the pool.
   *
   * @example
   * const client = async (pool: Postgres) => (await pool.connect()).release();
   */
  connect(): Promise<{ query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>; release(error?: Error): void }>;
}

/**
 * Keeps the orders in SQLite.
 *
 * @example
 * const orders = (database: Sqlite) => sqliteOrders(database, { onPaid: (sold, order) => console.log(order) });
 */
export function sqliteOrders(database: Sqlite, options?: StoreOptions): StoredOrders;

/**
 * Keeps the orders in PostgreSQL, for any number of processes.
 *
 * @example
 * const orders = (pool: Postgres) => postgresOrders(pool, { onPaid: (sold, order) => console.log(order) });
 */
export function postgresOrders(pool: Postgres, options?: StoreOptions): Promise<StoredOrders>;

// Nothing else is exported.
export {};
