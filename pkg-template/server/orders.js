// The stores of a shop's ledger in SQLite and PostgreSQL: the tables and statements of the crate `guichet-orders`. A store decides nothing:
// it compares what it is given with what it has, every time is an argument, and no status, age or limit stands in it.
export { memoryOrders } from "./memory.js";

/** The format of the tables that this version writes. */
const FORMAT = 1;

/** Each table, without its prefix, and what creates it. `{text}` is a text that is compared byte by byte. */
const TABLES = Object.entries({
  ledger: ["CREATE TABLE IF NOT EXISTS {p}ledger (id BIGINT PRIMARY KEY, format BIGINT NOT NULL, shared {text} NOT NULL)"],
  orders: ["CREATE TABLE IF NOT EXISTS {p}orders (name {text} PRIMARY KEY, version BIGINT NOT NULL, body {text} NOT NULL)"],
  payments: [
    `CREATE TABLE IF NOT EXISTS {p}payments (
      reference {text} PRIMARY KEY, name {text} NOT NULL, owner {text} NOT NULL, created_at BIGINT NOT NULL,
      returned_at BIGINT, due_at BIGINT, counts_until BIGINT)`,
    "CREATE INDEX IF NOT EXISTS {p}payments_due ON {p}payments (due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS {p}payments_owner ON {p}payments (owner, counts_until) WHERE counts_until IS NOT NULL",
  ],
  names: ["CREATE TABLE IF NOT EXISTS {p}names (payment {text}, name {text}, PRIMARY KEY (payment, name))"],
  events: ["CREATE TABLE IF NOT EXISTS {p}events (name {text}, version BIGINT, body {text} NOT NULL, PRIMARY KEY (name, version))"],
  // An empty token says that the login has ended.
  session_tokens: ["CREATE TABLE IF NOT EXISTS {p}session_tokens (login {text}, token {text}, until BIGINT NOT NULL, PRIMARY KEY (login, token))"],
});

const COUNT = "SELECT count(*) AS open FROM {p}payments WHERE owner = $1 AND counts_until > $2";

/** The ledger in SQLite, by a `DatabaseSync` of node:sqlite or a `Database` of libsql. */
export function sqliteOrders(database, { prefix = "guichet_" } = {}) {
  if (typeof database?.prepare !== "function") {
    throw new TypeError("sqliteOrders takes a `DatabaseSync` of node:sqlite or a `Database` of libsql.");
  }
  const query = (sql, values = []) => {
    // A value for each `?`: the drivers bind `$1` differently.
    const bound = [];
    const text = sql.replace(/\$(\d)/g, (_, place) => (bound.push(values[place - 1]), "?"));
    return database.prepare(text.replaceAll("{p}", prefix)).all(...bound);
  };
  return ordersBy(prefix, {
    query,
    // Without `await`: another request of this process would execute its statements within the transaction.
    transact(steps) {
      query("BEGIN IMMEDIATE");
      try {
        let step = steps.next();
        while (!step.done) step = steps.next(query(...step.value));
        query(step.value === false ? "ROLLBACK" : "COMMIT");
        return step.value;
      } catch (e) {
        try {
          query("ROLLBACK");
        } catch {
          // After some errors, such as a full disk, SQLite has rolled back.
        }
        throw e;
      }
    },
    prepare() {
      const [{ timeout }] = query("PRAGMA busy_timeout");
      if (timeout < 5_000) query("PRAGMA busy_timeout = 5000");
    },
    text: "TEXT",
    now: "SELECT unixepoch() AS now",
    tables: "SELECT name FROM sqlite_schema WHERE type = 'table'",
  });
}

/** The ledger in PostgreSQL, by a `Pool` of pg, in the first schema of the `search_path`. */
export function postgresOrders(pool, { prefix = "guichet_" } = {}) {
  if (typeof pool?.connect !== "function" || typeof pool.query !== "function") throw new TypeError("postgresOrders takes a `Pool` of pg.");
  const queryOn = (connection) => async (sql, values) => (await connection.query(sql.replaceAll("{p}", prefix), values)).rows;
  return ordersBy(prefix, {
    query: queryOn(pool),
    async transact(steps) {
      const client = await pool.connect();
      // Of a lost connection the statement says so, too. Without a listener the process would end.
      const ignore = () => {};
      client.on("error", ignore);
      try {
        // In another isolation the owner's payments would be counted as they were before the lock.
        await client.query(
          "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL idle_in_transaction_session_timeout = '5s'",
        );
        const query = queryOn(client);
        let step = steps.next();
        while (!step.done) step = steps.next(await query(...step.value));
        await client.query(step.value === false ? "ROLLBACK" : "COMMIT");
        client.off("error", ignore);
        client.release();
        return step.value;
      } catch (e) {
        client.release(e); // closes the connection, which rolls back
        throw e;
      }
    },
    prepare() {},
    text: 'TEXT COLLATE "C"',
    lock: "SELECT pg_advisory_xact_lock(hashtextextended($1, 7267631045223164514))",
    now: "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint AS now",
    tables: "SELECT tablename::text AS name FROM pg_catalog.pg_tables WHERE schemaname = current_schema()",
  });
}

/** The methods. Both engines take the same statements. A transaction is a generator: it yields statements, and gets their rows. */
function ordersBy(prefix, { query, transact, prepare, text, lock, now, tables }) {
  // The prefix becomes a part of the statements.
  if (typeof prefix !== "string" || !/^(?!\d)[a-z\d_]{0,30}$/.test(prefix)) {
    throw new TypeError("Option `prefix` must be of the letters a to z, digits and `_`, 30 at most, and must not begin with a digit.");
  }
  const execute = async (sql, ...values) => answered(() => query(sql, values));

  const time = async () => Number((await execute(now))[0].now);

  async function refuseNewer() {
    const [row] = await execute("SELECT format FROM {p}ledger WHERE id = 1");
    if (Number(row?.format ?? FORMAT) <= FORMAT) return;
    throw new Error(
      `The table ${prefix}ledger has the format ${row.format}, which this version of guichet-server does not know. Use a newer one.`,
    );
  }

  /** Servers that start at once create them one after the other. */
  function* create(missing) {
    if (lock) yield [lock, ["guichet's tables"]];
    for (const statement of missing.flatMap(([, statements]) => statements)) yield [statement.replaceAll("{text}", text)];
  }

  function* store({ name, version, body, owner, before, open, now, rows, event }) {
    if (open !== null) {
      if (lock) yield [lock, [owner]];
      const [counted] = yield [COUNT, [owner, now]];
      if (Number(counted.open) !== open) return false;
    }
    const insert = "INSERT INTO {p}orders (name, version, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING name";
    const update = "UPDATE {p}orders SET version = $2, body = $3 WHERE name = $1 AND version = $4 RETURNING name";
    const order = [name, version, body];
    const stored = yield before === null ? [insert, order] : [update, [...order, before]];
    if (stored.length === 0) return false;
    for (const { reference, created_at, due_at, counts_until, names } of rows) {
      const sql = `INSERT INTO {p}payments AS old (reference, name, owner, created_at, due_at, counts_until) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (reference) DO UPDATE SET owner = excluded.owner, due_at = excluded.due_at, counts_until = excluded.counts_until
        WHERE old.name = excluded.name RETURNING reference`;
      const stored = yield [sql, [reference, name, owner, created_at, due_at, counts_until]];
      if (stored.length === 0) return false;
      for (const payment of names) yield ["INSERT INTO {p}names (payment, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", [payment, name]];
    }
    if (event !== null) yield ["INSERT INTO {p}events (name, version, body) VALUES ($1, $2, $3)", [name, event.version, event.body]];
    return true;
  }

  function* keep(login, token, now, until) {
    if (lock) yield [lock, [`login:${login}`]];
    yield ["DELETE FROM {p}session_tokens WHERE until < $1", [now]];
    const ended = yield ["SELECT login FROM {p}session_tokens WHERE login = $1 AND token = ''", [login]];
    if (ended.length > 0) return false;
    yield ["INSERT INTO {p}session_tokens (login, token, until) VALUES ($1, $2, $3)", [login, token, until]];
    return true;
  }

  function* end(login, until) {
    if (lock) yield [lock, [`login:${login}`]];
    const kept = yield ["DELETE FROM {p}session_tokens WHERE login = $1 RETURNING token", [login]];
    yield ["INSERT INTO {p}session_tokens (login, token, until) VALUES ($1, '', $2)", [login, until]];
    return kept.map(({ token }) => token).filter((token) => token !== "");
  }

  return {
    async open(first) {
      prepare();
      const there = (await execute(tables)).map(({ name }) => name);
      if (there.includes(`${prefix}ledger`)) await refuseNewer();
      const missing = TABLES.filter(([table]) => !there.includes(prefix + table));
      try {
        if (missing.length > 0) await transact(create(missing));
      } catch (cause) {
        const named = missing.map(([table]) => prefix + table).join(", ");
        const remedy = "Create them by a role that may.";
        throw new Error(`The ledger's tables ${named} are missing and could not be created (${cause.message}). ${remedy}`, { cause });
      }
      const row = [FORMAT, first(await time())];
      await execute("INSERT INTO {p}ledger (id, format, shared) VALUES (1, $1, $2) ON CONFLICT DO NOTHING", ...row);
      await refuseNewer();
    },
    now: time,
    async load(name, owner, now) {
      const [order] = await execute("SELECT body FROM {p}orders WHERE name = $1", name);
      const [{ open }] = await execute(COUNT, owner, now);
      // `.` comes after `-`: between them is everything that begins with the name and `-`.
      const sql = `SELECT reference FROM {p}payments WHERE (reference = $1 OR (reference > $2 AND reference < $3)) AND name <> $1
        ORDER BY reference`;
      const taken = await execute(sql, name, `${name}-`, `${name}.`);
      return { order: order?.body ?? null, open: Number(open), taken: taken.map(({ reference }) => reference) };
    },
    commit: (commit) => answered(() => transact(store(commit))),
    async find(payment) {
      return (await execute("SELECT name FROM {p}names WHERE payment = $1 ORDER BY name", payment)).map(({ name }) => name);
    },
    async returned(reference, now) {
      await execute("UPDATE {p}payments SET returned_at = $2 WHERE reference = $1", reference, now);
    },
    async due(now, beyond) {
      const sql = "SELECT reference, owner, created_at, returned_at, due_at FROM {p}payments WHERE due_at <= $1 OR due_at > $2";
      return (await execute(sql, now, beyond)).map(({ reference, owner, created_at, returned_at, due_at }) => {
        const returned = returned_at === null ? null : Number(returned_at);
        return { reference, owner, created_at: Number(created_at), returned_at: returned, since: Number(due_at) };
      });
    },
    async postpone(reference, dueAt) {
      await execute("UPDATE {p}payments SET due_at = $2 WHERE reference = $1", reference, dueAt);
    },
    async shared() {
      return (await execute("SELECT shared FROM {p}ledger WHERE id = 1"))[0].shared;
    },
    async replaceShared(before, after) {
      const sql = "UPDATE {p}ledger SET shared = $2 WHERE id = 1 AND shared = $1 RETURNING id";
      return (await execute(sql, before, after)).length === 1;
    },
    async events() {
      const events = await execute("SELECT name, version, body FROM {p}events ORDER BY version, name");
      return events.map(({ name, version, body }) => ({ name, version: Number(version), body }));
    },
    async close(name, version) {
      await execute("DELETE FROM {p}events WHERE name = $1 AND version = $2", name, version);
    },
    keepSession: (login, token, now, until) => answered(() => transact(keep(login, token, now, until))),
    endSessions: (login, until) => answered(() => transact(end(login, until))),
  };
}

async function answered(work) {
  try {
    return await work();
  } catch (cause) {
    const message = "The ledger's database failed or did not answer, so a change may have been stored";
    throw new Error(`${message}: ${cause.message}`, { cause });
  }
}
