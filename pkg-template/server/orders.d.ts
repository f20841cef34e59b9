/**
 * The store of a shop's ledger. It decides nothing: every time is an argument, in seconds. Each method rejects if the database fails or does
 * not answer; then a change may have been stored.
 *
 * @example
 * const open = (store: LedgerStore) => store.open((now) => JSON.stringify({ created_at: now }));
 */
export interface LedgerStore {
  /**
   * Creates the tables that are missing. Rejects, before it creates any, if they were written by a newer version. `first` returns what all
   * servers share when the ledger is created.
   *
   * @example
   * await store.open((now) => JSON.stringify({ created_at: now }));
   */
  open(first: (now: number) => string): Promise<void>;
  /**
   * The time: the database's on PostgreSQL, the machine's on SQLite.
   *
   * @example
   * const seconds = await store.now();
   */
  now(): Promise<number>;
  /**
   * An order, and what is known of its owner.
   *
   * @example
   * const { order, open, taken } = await store.load("ORDER-17", "customer:awa", now);
   */
  load(name: string, owner: string, now: number): Promise<LoadedOrder>;
  /**
   * Stores all of this, or nothing. Resolves with false, and nothing is stored, if the order has another version than `before`, if the owner
   * has another number of payments than `open`, or if a reference is another order's.
   *
   * @example
   * const order = { name: "ORDER-17", version: 2, body: "{}", owner: "customer:awa" };
   * const isStored = await store.commit({ ...order, before: 1, open: null, now, rows: [], event: null });
   */
  commit(commit: LedgerCommit): Promise<boolean>;
  /**
   * The names of the orders that have a payment of this reference, id or public reference.
   *
   * @example
   * const [name] = await store.find("pi_1");
   */
  find(payment: string): Promise<string[]>;
  /**
   * Notes that the customer of this payment has asked for it.
   *
   * @example
   * await store.returned("ORDER-17", now);
   */
  returned(reference: string, now: number): Promise<void>;
  /**
   * Every payment that is to be read by now, or only after `beyond`: then a clock was ahead when it was stored.
   *
   * @example
   * for (const { reference } of await store.due(now, now + 31 * 86_400)) console.log(reference);
   */
  due(now: number, beyond: number): Promise<DuePayment[]>;
  /**
   * Sets when a payment is read again. No order is read for it.
   *
   * @example
   * await store.postpone("ORDER-17", now + 60);
   */
  postpone(reference: string, dueAt: number): Promise<void>;
  /**
   * What all servers of this ledger share.
   *
   * @example
   * const shared = JSON.parse(await store.shared());
   */
  shared(): Promise<string>;
  /**
   * Replaces it. Resolves with false, and nothing is replaced, if it is not `before` any more.
   *
   * @example
   * const before = await store.shared();
   * const isMine = await store.replaceShared(before, JSON.stringify({ ...JSON.parse(before), round_until: now + 15 }));
   */
  replaceShared(before: string, after: string): Promise<boolean>;
  /**
   * Every event that is not closed, the oldest first.
   *
   * @example
   * for (const { name, version } of await store.events()) console.log(name, version);
   */
  events(): Promise<OpenEvent[]>;
  /**
   * Closes an event: the shop has received it.
   *
   * @example
   * await store.close("ORDER-17", 2);
   */
  close(name: string, version: number): Promise<void>;
  /**
   * Keeps an encrypted session token of a login until then. Resolves with false, and keeps nothing, if the login has ended.
   *
   * @example
   * await store.keepSession("9f86", "AAECAw==", now, now + 31 * 60);
   */
  keepSession(login: string, token: string, now: number, until: number): Promise<boolean>;
  /**
   * Ends a login, which is remembered until then. Resolves with the tokens that were kept, and forgets them.
   *
   * @example
   * const tokens = await store.endSessions("9f86", now + 31 * 60);
   */
  endSessions(login: string, until: number): Promise<string[]>;
}

/**
 * What a store has of an order, and of its owner. `open` is how many payments of the owner count now; `taken` are references that other
 * orders have, of those that this order may take.
 *
 * @example
 * const unknown: LoadedOrder = { order: null, open: 0, taken: [] };
 */
export interface LoadedOrder {
  order: string | null;
  open: number;
  taken: string[];
}

/**
 * What is stored as one. `before` is the version that the order was decided from; null: there is no such order. `open`, if the order has a
 * new payment: how many of its owner's counted then, by `now`.
 *
 * @example
 * const order = { name: "ORDER-17", version: 1, body: "{}", owner: "customer:awa" };
 * const commit: LedgerCommit = { ...order, before: null, open: 0, now, rows: [], event: null };
 */
export interface LedgerCommit {
  name: string;
  version: number;
  body: string;
  owner: string;
  before: number | null;
  open: number | null;
  now: number;
  rows: PaymentRow[];
  event: { version: number; body: string } | null;
}

/**
 * What a store looks for in a payment: its reference, which no other payment of the ledger has; when it is read again, and until when it
 * counts as one of its owner's (null: not any more); and by what a customer or the service names it.
 *
 * @example
 * const row: PaymentRow = { reference: "ORDER-17", created_at: now, due_at: now + 3, counts_until: null, names: ["ORDER-17", "pi_1"] };
 */
export interface PaymentRow {
  reference: string;
  created_at: number;
  due_at: number | null;
  counts_until: number | null;
  names: string[];
}

/**
 * A payment that is to be read: since when, and when its customer has asked for it.
 *
 * @example
 * const isAwaited = ({ returned_at }: DuePayment) => returned_at !== null;
 */
export interface DuePayment {
  reference: string;
  owner: string;
  created_at: number;
  returned_at: number | null;
  since: number;
}

/**
 * An event that is not closed: of which order, and its version.
 *
 * @example
 * const changed = ({ body }: OpenEvent) => JSON.parse(body);
 */
export interface OpenEvent {
  name: string;
  version: number;
  body: string;
}

/**
 * With what the names of the tables begin: of the letters a to z, digits and `_`, 30 at most. Default: `guichet_`.
 *
 * @example
 * const options: StoreOptions = { prefix: "pay_" };
 */
export interface StoreOptions {
  prefix?: string;
}

/**
 * A SQLite database: a `DatabaseSync` of node:sqlite (Node.js 22.13), or a `Database` of libsql.
 *
 * @example
 * const store = (database: Sqlite) => sqliteOrders(database);
 */
export interface Sqlite {
  /**
   * Prepares a statement.
   *
   * @example
   * const prepared = (database: Sqlite) => database.prepare("SELECT 1");
   */
  prepare(sql: string): unknown;
}

/**
 * A PostgreSQL database: a `Pool` of pg, which needs a listener of `error`.
 *
 * @example
 * const store = (pool: Postgres) => postgresOrders(pool);
 */
export interface Postgres {
  /**
   * Executes a statement.
   *
   * @example
   * const rows = async (pool: Postgres) => (await pool.query("SELECT 1", [])).rows;
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
 * The store of a ledger in SQLite, for the processes of one machine. No transaction of the shop's may be open on the connection while the
 * ledger uses it: a change would be undone with it. Open a `Database` of libsql with `{ timeout: 5000 }`, so that processes wait for each
 * other.
 *
 * @example
 * const store = (database: Sqlite) => sqliteOrders(database, { prefix: "guichet_" });
 */
export function sqliteOrders(database: Sqlite, options?: StoreOptions): LedgerStore;

/**
 * The store of a ledger in PostgreSQL, for any number of processes.
 *
 * @example
 * const store = (pool: Postgres) => postgresOrders(pool, { prefix: "guichet_" });
 */
export function postgresOrders(pool: Postgres, options?: StoreOptions): LedgerStore;

/**
 * The store of a ledger in this process's memory, which is lost when it ends: for demos and tests.
 *
 * @example
 * const forTests = memoryOrders();
 */
export function memoryOrders(): LedgerStore;

// Nothing else is exported.
export {};
