// The stores of guichet-server's ledger keep the contract of `src/shop/ledger/contract.rs`: in SQLite by libsql, and by node:sqlite
// where this Node.js has it; in PostgreSQL if DATABASE_URL or the argument is its address, as a role that may create databases and roles.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryOrders, postgresOrders, sqliteOrders } from "guichet-server/orders";

const AWA = "customer:awa";
const DAY = 24 * 60 * 60;
const TABLES = ["events", "ledger", "names", "orders", "payments", "session_tokens"];
if (process.argv[2]?.startsWith("postgres:")) process.env.DATABASE_URL = process.argv.splice(2, 1)[0];
const [, , role, ...argument] = process.argv;
const first = (now) => JSON.stringify({ created_at: now });

/** Each is how to make an empty database, and how to connect to it as one server. `wrap` gets what the store is given. */
const engines = { libsql: inFile((await import("libsql")).default) };
const builtin = await import("node:sqlite").catch(() => null);
if (builtin) engines["node:sqlite"] = inFile(builtin.DatabaseSync);
if (process.env.DATABASE_URL) engines.pg = await inPostgres(process.env.DATABASE_URL);

function inFile(Database) {
  const folder = fs.mkdtempSync(join(tmpdir(), "guichet-stores-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  const connect = (address, { wrap = (database) => database } = {}) => {
    const database = new Database(address);
    const store = (options) => sqliteOrders(wrap(database), options);
    return { store, query: async (sql) => database.prepare(sql).all(), close: async () => database.close() };
  };
  return { empty: async () => join(folder, `${files++}.sqlite`), connect };
}

async function inPostgres(connectionString) {
  const { default: pg } = await import("pg");
  const connect = (address, { wrap = (pool) => pool, ...config } = {}) => {
    const pool = new pg.Pool({ connectionString: address, ...config });
    pool.on("error", () => {});
    const store = (options) => postgresOrders(wrap(pool), options);
    return { store, pool, query: async (sql) => (await pool.query(sql)).rows, close: () => pool.end() };
  };
  const empty = async () => {
    const server = connect(connectionString);
    const name = `stores_${process.pid}_${Math.random().toString(36).slice(2)}`;
    await server.query(`CREATE DATABASE ${name}`);
    await server.close();
    return Object.assign(new URL(connectionString), { pathname: name }).href;
  };
  return { empty, connect };
}

/** A commit of an order that has one payment. */
function orderOf(name, more = {}) {
  const { now = 1_000, owner = AWA, ...rest } = more;
  const row = { reference: name, created_at: now, due_at: now + 3, counts_until: now + DAY, names: [name, `pi_${name}`, `gch_${name}`] };
  const body = JSON.stringify({ name, owner });
  return { name, version: 1, body, owner, before: null, open: null, now, rows: [row], event: { version: 1, body: "{}" }, ...rest };
}

/** What is stored of an order: all of it, or nothing. */
async function isStored(store, name) {
  const { order } = await store.load(name, AWA, 1_000);
  const is = { order: order !== null };
  is.due = (await store.due(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).some(({ reference }) => reference === name);
  for (const payment of [name, `pi_${name}`, `gch_${name}`]) is[payment] = (await store.find(payment)).length === 1;
  is.event = (await store.events()).some((event) => event.name === name);
  assert.equal(new Set(Object.values(is)).size, 1, `half of a commit is stored: ${JSON.stringify(is)}`);
  return is.order;
}

const openStore = async (connection, options) => {
  const store = connection.store(options);
  await store.open(first);
  return store;
};

/** What another process does. */
const roles = {
  /** One of two servers on which 64 clicks of a customer come at once, each on an order of its own. */
  async clicks(connection, half) {
    const store = await openStore(connection);
    console.log("ready");
    await once(process.stdin, "data");
    const click = async (number) => {
      for (;;) {
        const { open } = await store.load(`ORDER-${number}`, AWA, 1_000);
        if (open >= 20) return false;
        if (await store.commit(orderOf(`ORDER-${number}`, { open }))) return true;
        await new Promise(setImmediate);
      }
    };
    const clicks = await Promise.all(Array.from({ length: 32 }, (_, number) => click(2 * number + Number(half))));
    console.log(clicks.filter(Boolean).length);
    process.stdin.destroy();
  },
  /** A commit before whose statement of this number the process is killed. */
  async killed(connection, _, name, armed) {
    const store = await openStore(connection);
    armed.isArmed = true;
    console.log(await store.commit(orderOf(name, { open: 0 })));
  },
  /** Commits orders until the process is killed, and says each that is stored. */
  async busy(connection, round) {
    const store = await openStore(connection);
    for (let number = 0; ; number++) {
      const name = `ORDER-${round}-${number}`;
      if (await store.commit(orderOf(name))) fs.writeSync(1, `${name}\n`);
    }
  },
};

/** Kills this process before the statement of this number, once it is armed. */
function killer(count) {
  let left = Number(count);
  const armed = { isArmed: false };
  const wrap = (target) =>
    new Proxy(target, {
      get(target, name) {
        const value = target[name];
        if (typeof value !== "function") return value;
        return (...values) => {
          const isStatement = name === "all" || name === "prepare" || (name === "query" && target.release);
          if (armed.isArmed && isStatement && left-- === 0) process.kill(process.pid, "SIGKILL");
          const result = value.apply(target, values);
          return name === "connect" ? result.then(wrap) : result;
        };
      },
    });
  return { armed, wrap };
}

if (role) {
  const [engine, address, count, name] = argument;
  const { armed, wrap } = killer(count);
  const connection = engines[engine].connect(address, role === "killed" ? { wrap } : {});
  await roles[role](connection, count, name, armed);
  await connection.close();
  process.exit();
}

function start(...values) {
  const child = spawn(process.execPath, ["--no-warnings", process.argv[1], ...values.map(String)], { stdio: ["pipe", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (part) => (text += part));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, text: text.trim() }));
  return { child, ended, ready: once(child.stdout, "data") };
}

const everywhere = {
  async the_contract({ empty, connect }) {
    const address = await empty();
    const connections = [connect(address), connect(address)];
    const [one, other] = await Promise.all(connections.map((connection) => openStore(connection)));
    const now = await one.now();
    assert.ok(Number.isInteger(now) && Math.abs(now - Date.now() / 1_000) < 5, `the time is ${now}`);

    // What one server has stored, the other loads; another owner's count is their own.
    const sent = { ...orderOf("ORDER-1", { now, open: 0 }), event: null };
    sent.rows[0].names = ["ORDER-1"];
    assert.equal(await one.commit(sent), true);
    assert.deepEqual(await other.load("ORDER-1", AWA, now), { order: sent.body, open: 1, taken: [] });
    assert.deepEqual(await other.load("ORDER-2", "customer:paul", now), { order: null, open: 0, taken: [] });

    // Of two that were decided from one version, one is stored, and nothing of the other.
    const reply = (id) => {
      const rows = [{ ...sent.rows[0], names: ["ORDER-1", id, `gch_${id}`] }];
      return { ...sent, version: 2, body: JSON.stringify({ id }), before: 1, open: null, rows };
    };
    assert.equal(await one.commit(reply("pi_1")), true, "the first of two is refused");
    assert.equal(await other.commit(reply("pi_2")), false, "a commit from an older version is stored");
    assert.equal(await other.commit({ ...reply("pi_2"), before: null }), false, "an order that exists is created");
    assert.equal(await other.commit({ ...reply("pi_2"), name: "ORDER-9" }), false, "an order that is missing is changed");
    assert.equal((await one.load("ORDER-1", AWA, now)).order, reply("pi_1").body, "a refused commit has changed the order");
    assert.deepEqual(await one.find("pi_2"), [], "a refused commit has left a name");

    // A payment is found by each of its names.
    for (const name of ["ORDER-1", "pi_1", "gch_pi_1"]) assert.deepEqual(await other.find(name), ["ORDER-1"], name);

    // A new payment is stored only if its owner's count is still that by which it was decided.
    for (const [open, is] of [[0, false], [2, false], [1, true]]) {
      assert.equal(await one.commit({ ...orderOf("ORDER-3", { now, open }), event: null }), is, `one counts, and ${open} was decided by`);
    }
    assert.equal((await one.load("ORDER-3", AWA, now)).open, 2);
    assert.equal((await one.load("ORDER-3", AWA, now + DAY - 1)).open, 2);
    assert.equal((await one.load("ORDER-3", AWA, now + DAY)).open, 0, "a payment counts for longer than it says");

    // No reference is two orders'.
    const twin = { ...orderOf("ORDER", { now, open: 2 }), rows: sent.rows };
    assert.equal(await one.commit(twin), false, "a reference of another order is stored");
    const { order, taken } = await one.load("ORDER", AWA, now);
    assert.equal(order, null, "an order is stored whose reference is another's");
    assert.deepEqual(taken, ["ORDER-1", "ORDER-3"]);
    assert.deepEqual(await one.events(), [], "an order that was refused has an event");

    // A payment is due from its time on, and not any more when it says so.
    const references = async (now) => (await other.due(now, Number.MAX_SAFE_INTEGER)).map(({ reference }) => reference).sort();
    const due_at = now + 3;
    assert.deepEqual(await references(due_at - 1), [], "a payment is due before its time");
    assert.deepEqual(await references(due_at), ["ORDER-1", "ORDER-3"], "a payment is not due at its time");
    await one.returned("ORDER-1", now);
    const due = (await other.due(due_at, Number.MAX_SAFE_INTEGER)).find(({ reference }) => reference === "ORDER-1");
    assert.deepEqual(due, { reference: "ORDER-1", owner: AWA, created_at: now, returned_at: now, since: due_at });
    assert.equal((await other.due(due_at, Number.MAX_SAFE_INTEGER)).find(({ reference }) => reference === "ORDER-3").returned_at, null);
    await one.postpone("ORDER-1", due_at + 60);
    assert.deepEqual(await references(due_at + 59), ["ORDER-3"], "a payment that was postponed is due");
    assert.deepEqual((await other.due(0, due_at + 59)).map(({ reference }) => reference), ["ORDER-1"], "one whose time lies too far ahead is lost");
    await one.postpone("ORDER-1", due_at);

    // An event stays until it is closed, on each server; when a payment was stored and its customer asked for it stays as it was.
    const paid = { ...reply("pi_1"), version: 3, before: 2, owner: "customer:eve", event: { version: 3, body: '{"state":"paid"}' } };
    paid.rows = [{ ...paid.rows[0], created_at: now + 50, due_at: due_at + 1, counts_until: null }];
    assert.equal(await other.commit(paid), true);
    assert.deepEqual((await other.due(due_at + 1, Number.MAX_SAFE_INTEGER)).find(({ reference }) => reference === "ORDER-1"), { ...due, owner: "customer:eve", since: due_at + 1 });
    assert.equal((await one.load("ORDER-1", "customer:eve", now)).open, 0);
    assert.equal(await other.commit({ ...paid, version: 4, before: 3, rows: [{ ...paid.rows[0], due_at: null }], event: null }), true);
    assert.deepEqual(await references(now + DAY), ["ORDER-3"]);
    assert.deepEqual(await one.events(), [{ name: "ORDER-1", version: 3, body: '{"state":"paid"}' }]);
    await one.close("ORDER-1", 2);
    assert.equal((await one.events()).length, 1, "another version is closed");
    await one.close("ORDER-1", 3);
    await other.close("ORDER-1", 3);
    assert.deepEqual(await other.events(), [], "a closed event is open");

    // What all servers share is replaced by one of two.
    const before = await one.shared();
    const [mine, yours] = [15, 16].map((seconds) => JSON.stringify({ ...JSON.parse(before), round_until: now + seconds }));
    assert.equal(await one.replaceShared(before, mine), true, "what is shared cannot be replaced");
    assert.equal(await other.replaceShared(before, yours), false, "two servers have the round");
    assert.equal(await other.shared(), mine);
    await other.open(() => yours);
    assert.equal(await one.shared(), mine, "a second start has replaced what is shared");

    // A login's tokens are given out once, and none is kept after its end.
    assert.deepEqual([await one.keepSession("login", "AA==", now, now + 60), await other.keepSession("login", "BB==", now, now + 60)], [true, true]);
    assert.equal(await one.keepSession("another", "CC==", now, now + 60), true);
    assert.deepEqual((await other.endSessions("login", now + 60)).sort(), ["AA==", "BB=="]);
    assert.equal(await one.keepSession("login", "DD==", now, now + 60), false, "a token is kept of a login that has ended");
    assert.deepEqual(await one.endSessions("login", now + 60), []);
    assert.equal(await one.keepSession("login", "DD==", now + 61, now + 120), true, "an end is remembered for ever");
    assert.deepEqual(await other.endSessions("another", now + 200), [], "a token is kept for longer than it lives");
    for (const connection of connections) await connection.close();
  },

  async names_that_are_alike_and_large_versions_stay_apart({ empty, connect }) {
    const connection = connect(await empty());
    const store = await openStore(connection);
    const names = ["A", "a", "A-", "A-1", "A-é", "A-z", "A.1", "A_1", "AB-1", "B", "Ａ", "é", "A'; --"];
    for (const name of names) assert.equal(await store.commit({ ...orderOf(name), event: null }), true, name);
    assert.deepEqual((await store.load("A", AWA, 1_000)).taken, ["A-1", "A-z", "A-é"], "by their bytes");
    assert.deepEqual((await store.load("a", AWA, 1_000)).taken, []);
    for (const name of names) assert.deepEqual(await store.find(`pi_${name}`), [name]);
    const [version, later] = [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER];
    assert.equal(await store.commit(orderOf("LARGE", { version, event: { version, body: "1" } })), true);
    assert.equal(await store.commit(orderOf("LARGE", { version: later, before: later, event: { version: later, body: "2" } })), false);
    assert.equal(await store.commit(orderOf("LARGE", { version: later, before: version, event: { version: later, body: "2" } })), true);
    const events = [{ name: "LARGE", version, body: "1" }, { name: "LARGE", version: later, body: "2" }];
    assert.deepEqual(await store.events(), events, "the oldest is first");
    await store.close("LARGE", version);
    assert.deepEqual(await store.events(), events.slice(1));
    for (const [name, version] of [["Y", 5], ["X", 6], ["Z", 4]]) await store.commit(orderOf(name, { version, event: { version, body: "" } }));
    assert.deepEqual((await store.events()).map(({ name }) => name), ["Z", "Y", "X", "LARGE"], "the oldest is first");
    await connection.close();
  },

  async of_64_clicks_at_once_on_two_servers_20_are_stored({ empty, connect, engine }) {
    const address = await empty();
    if (engine === "pg") {
      // Whatever isolation the shop has for its own transactions.
      const name = new URL(address).pathname.slice(1);
      const server = connect(address);
      await server.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
      await server.close();
    }
    const servers = [0, 1].map((half) => start("clicks", engine, address, half));
    await Promise.all(servers.map(({ ready }) => ready));
    for (const { child } of servers) child.stdin.write("now\n");
    const results = await Promise.all(servers.map(({ ended }) => ended));
    const stored = results.map(({ code, text }) => (assert.equal(code, 0), Number(text.split("\n").pop())));
    assert.equal(stored[0] + stored[1], 20, stored.join(" and "));
    const connection = connect(address);
    const store = await openStore(connection);
    assert.equal((await store.load("ORDER-0", AWA, 1_000)).open, 20);
    assert.equal((await store.events()).length, 20);
    await connection.close();
  },

  async servers_that_start_at_once_create_the_tables_once({ empty, connect }) {
    const address = await empty();
    const connections = Array.from({ length: 8 }, () => connect(address));
    const stores = await Promise.all(connections.map((connection) => openStore(connection)));
    for (const store of stores) assert.equal(await store.shared(), await stores[0].shared());
    for (const connection of connections) await connection.close();
  },

  async a_commit_that_fails_at_any_table_stores_nothing({ empty, connect, engine }) {
    const connection = connect(await empty(), engine === "pg" ? { max: 1 } : {});
    const store = await openStore(connection);
    for (const [number, table] of ["orders", "payments", "names", "events"].entries()) {
      const commit = orderOf(`ORDER-${number}`, { open: number });
      await connection.query(`ALTER TABLE guichet_${table} RENAME TO away`);
      await assert.rejects(store.commit(commit), (e) => {
        assert.match(e.message, /^The ledger's database failed or did not answer, so a change may have been stored: /);
        return e.cause instanceof Error;
      });
      await connection.query(`ALTER TABLE away RENAME TO guichet_${table}`);
      assert.equal(await isStored(store, commit.name), false, table);
      // The one connection was given back, and no transaction is open.
      assert.equal(await store.commit(commit), true, table);
      assert.equal(await isStored(store, commit.name), true);
      for (let i = 0; i < 3; i++) assert.equal(await store.commit(commit), false, "a refused commit keeps its transaction open");
    }
    await connection.close();
  },

  async a_process_that_is_killed_between_two_statements_has_stored_nothing({ empty, connect, engine }) {
    const address = await empty();
    const creator = connect(address);
    await openStore(creator);
    await creator.close();
    let count = 0;
    for (; ; count++) {
      const { signal, text } = await start("killed", engine, address, count, "ORDER-1").ended;
      const connection = connect(address);
      const store = await openStore(connection);
      assert.equal(await isStored(store, "ORDER-1"), signal === null, `killed before statement ${count}`);
      await connection.close();
      if (signal === null) {
        assert.equal(text, "true");
        break;
      }
      assert.equal(signal, "SIGKILL");
    }
    // BEGIN, (lock,) count, order, payment, three names, event, COMMIT.
    assert.equal(count, engine === "pg" ? 10 : 9);
  },

  async a_process_that_is_killed_at_any_moment_has_stored_what_it_acknowledged({ empty, connect, engine }) {
    const address = await empty();
    for (let round = 0; round < 12; round++) {
      const server = start("busy", engine, address, round);
      await server.ready;
      await new Promise((resolve) => setTimeout(resolve, 7 * round));
      server.child.kill("SIGKILL");
      const { text } = await server.ended;
      const connection = connect(address);
      const store = await openStore(connection);
      const acknowledged = text.split("\n").filter(Boolean);
      assert.ok(acknowledged.length > 0);
      for (const name of acknowledged) assert.equal(await isStored(store, name), true, name);
      await isStored(store, `ORDER-${round}-${acknowledged.length}`);
      await connection.close();
    }
  },

  async a_thousand_payments_of_one_customer_are_due({ empty, connect }) {
    const address = await empty();
    const connections = [connect(address), connect(address)];
    const [one, other] = await Promise.all(connections.map((connection) => openStore(connection)));
    const names = Array.from({ length: 1_000 }, (_, number) => `ORDER-${String(number).padStart(4, "0")}`);
    const commits = names.map((name, number) => [one, other][number % 2].commit(orderOf(name)));
    assert.ok((await Promise.all(commits)).every((is) => is));
    assert.equal((await one.load("ORDER", AWA, 1_000)).open, 1_000);
    assert.deepEqual((await one.load("ORDER", AWA, 1_000)).taken, names);
    assert.deepEqual((await other.due(1_003, Number.MAX_SAFE_INTEGER)).map(({ reference }) => reference).sort(), names);
    assert.deepEqual(await other.due(1_002, Number.MAX_SAFE_INTEGER), []);
    const events = await one.events();
    assert.deepEqual(events.map(({ name }) => name), names);
    for (const connection of connections) await connection.close();
  },

  async a_wrong_prefix_and_a_wrong_database_are_refused({ empty, connect }) {
    const connection = connect(await empty());
    for (const prefix of ["a b", 'x"', "Guichet_", "1_", "é", "a-", "a;", "a\n", "x".repeat(31), 7, null]) {
      assert.throws(() => connection.store({ prefix }), { name: "TypeError", message: /`prefix` must be of the letters a to z/ }, String(prefix));
    }
    for (const prefix of ["x".repeat(30), "_1", ""]) await openStore(connection, { prefix });
    for (const database of [undefined, null, {}, "shop.sqlite"]) {
      assert.throws(() => sqliteOrders(database), /sqliteOrders takes a `DatabaseSync`/);
      assert.throws(() => postgresOrders(database), /postgresOrders takes a `Pool`/);
    }
    await connection.close();
  },

  async a_newer_ledger_is_refused_by_name_before_a_table_is_created({ empty, connect, engine }) {
    const connection = connect(await empty());
    const store = await openStore(connection);
    await connection.query("UPDATE guichet_ledger SET format = 9");
    await connection.query("DROP TABLE guichet_names");
    await assert.rejects(store.open(first), /^Error: The table guichet_ledger has the format 9, which this version .* Use a newer one\.$/);
    assert.deepEqual(await tables(connection, engine), TABLES.filter((table) => table !== "names").map((table) => `guichet_${table}`));
    await connection.query("UPDATE guichet_ledger SET format = 1");
    await store.open(first);
    assert.equal(await store.commit(orderOf("ORDER-1")), true, "a table that is missing is created");
    await connection.close();
  },

  async tables_of_the_shop_are_left_alone({ empty, connect, engine }) {
    const connection = connect(await empty());
    await connection.query("CREATE TABLE payments (id TEXT)");
    await connection.query("INSERT INTO payments VALUES ('of the shop')");
    const [one, other] = [await openStore(connection), await openStore(connection, { prefix: "pay_" })];
    assert.equal(await one.commit(orderOf("ORDER-1")), true);
    assert.equal((await other.load("ORDER-1", AWA, 1_000)).order, null, "two ledgers are one");
    const named = ["guichet_", "pay_"].flatMap((prefix) => TABLES.map((table) => prefix + table));
    assert.deepEqual(await tables(connection, engine), [...named, "payments"]);
    assert.deepEqual((await connection.query("SELECT * FROM payments")).map(({ id }) => id), ["of the shop"]);
    await connection.close();
  },
};

async function tables(connection, engine) {
  const sql = engine === "pg" ? "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'" : "SELECT name FROM sqlite_schema WHERE type = 'table'";
  return (await connection.query(sql)).map(({ name }) => name).sort();
}

const inSqlite = {
  async a_change_within_a_transaction_of_the_shop_is_refused({ empty, connect }) {
    const connection = connect(await empty());
    const store = await openStore(connection);
    await connection.query("BEGIN");
    await connection.query("CREATE TABLE of_the_shop (id TEXT)");
    await assert.rejects(store.commit(orderOf("ORDER-1")), /within a transaction/);
    await connection.query("COMMIT");
    assert.deepEqual(await connection.query("SELECT * FROM of_the_shop"), [], "the shop's transaction was rolled back");
    assert.equal(await store.commit(orderOf("ORDER-1")), true);
    await connection.close();
  },

  async a_longer_timeout_of_the_shop_stays({ empty, connect }) {
    const connection = connect(await empty());
    const timeout = async () => (await connection.query("PRAGMA busy_timeout"))[0].timeout;
    await openStore(connection);
    assert.equal(await timeout(), 5_000);
    await connection.query("PRAGMA busy_timeout = 20000");
    await openStore(connection);
    assert.equal(await timeout(), 20_000);
    await connection.close();
  },

  async a_server_waits_for_another_ones_transaction({ empty, connect, engine }) {
    const address = await empty();
    const connection = connect(address);
    await openStore(connection);
    const server = start("clicks", engine, address, 0);
    await server.ready;
    await connection.query("BEGIN IMMEDIATE");
    server.child.stdin.write("now\n");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await connection.query("COMMIT");
    assert.match((await server.ended).text, /\b20$/);
    await connection.close();
  },
};

const only = {
  libsql: inSqlite,
  "node:sqlite": inSqlite,
  pg: {
    async a_role_that_may_not_create_uses_what_another_has_created({ empty, connect }) {
      const address = await empty();
      const shop = `${new URL(address).pathname.slice(1)}_shop`;
      const owner = connect(address);
      await owner.query(`REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE ${shop} LOGIN PASSWORD '${shop}'`);
      const connection = connect(Object.assign(new URL(address), { username: shop, password: shop }).href);
      await assert.rejects(connection.store().open(first), ({ message }) => {
        for (const table of TABLES) assert.ok(message.includes(`guichet_${table}`), message);
        return /permission denied.*Create them by a role that may\.$/.test(message);
      });
      await openStore(owner);
      await assert.rejects(connection.store().open(first), /permission denied for table guichet_ledger/, "it is there, and may not be read");
      await owner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${shop}`);
      const store = await openStore(connection);
      assert.equal(await store.commit(orderOf("ORDER-1", { open: 0 })), true);
      await owner.query("DROP TABLE guichet_events, guichet_names");
      await assert.rejects(store.open(first), /tables guichet_names, guichet_events are missing/);
      await Promise.all([owner.close(), connection.close()]);
    },

    async a_commit_is_on_the_disk_whatever_the_shop_has_set({ empty, connect }) {
      const address = await empty();
      const connection = connect(address, { options: "-c synchronous_commit=off" });
      const settings = [];
      const observed = async () => {
        const client = await connection.pool.connect();
        const query = client.query.bind(client);
        client.query = async (sql, ...rest) => {
          if (sql === "COMMIT") settings.push((await query("SHOW synchronous_commit")).rows[0].synchronous_commit);
          return query(sql, ...rest);
        };
        return client;
      };
      const store = postgresOrders({ query: connection.pool.query.bind(connection.pool), connect: observed });
      await store.open(first);
      settings.length = 0;
      assert.equal(await store.commit(orderOf("ORDER-1")), true);
      assert.deepEqual([...new Set(settings)], ["on"]);
      assert.deepEqual(await connection.query("SHOW synchronous_commit"), [{ synchronous_commit: "off" }]);
      await connection.close();
    },

    async a_commit_whose_connection_is_lost_fails_and_the_next_one_is_stored({ empty, connect }) {
      const address = await empty();
      const [connection, other] = [connect(address, { max: 1 }), connect(address)];
      const store = await openStore(connection);
      for (const [number, table] of ["orders", "payments", "names", "events"].entries()) {
        const commit = orderOf(`ORDER-${number}`, { open: number });
        const lock = await other.pool.connect();
        await lock.query(`BEGIN; LOCK TABLE guichet_${table} IN SHARE MODE`);
        const lost = assert.rejects(store.commit(commit), /The ledger's database failed/);
        const waiting = "SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'relation'";
        let pid;
        while (!pid) [{ pid } = {}] = await other.query(waiting);
        await other.query(`SELECT pg_terminate_backend(${pid})`);
        await lost;
        await lock.query("ROLLBACK");
        lock.release();
        assert.equal(await isStored(store, commit.name), false);
        assert.equal(await store.commit(commit), true);
      }
      // Between two statements, too: nothing waits for a reply then.
      let isCut = false;
      const connectAndCut = async () => {
        const client = await connection.pool.connect();
        const query = client.query.bind(client);
        client.query = async (sql, ...rest) => {
          if (!isCut && sql.includes("guichet_payments AS old")) {
            isCut = true;
            const { rows } = await query("SELECT pg_backend_pid() AS pid");
            await other.query(`SELECT pg_terminate_backend(${rows[0].pid})`);
            await new Promise((resolve) => setTimeout(resolve, 200));
          }
          return query(sql, ...rest);
        };
        return client;
      };
      const broken = postgresOrders({ query: connection.pool.query.bind(connection.pool), connect: connectAndCut });
      await assert.rejects(broken.commit(orderOf("ORDER-9", { open: 4 })), /The ledger's database failed/);
      assert.equal(await isStored(store, "ORDER-9"), false);
      assert.equal(await broken.commit(orderOf("ORDER-9", { open: 4 })), true);
      await Promise.all([connection.close(), other.close()]);
    },
  },
};

engines.memory = { empty: async () => memoryOrders(), connect: (store) => ({ store: () => store, close() {} }) };
const { the_contract, names_that_are_alike_and_large_versions_stay_apart, a_thousand_payments_of_one_customer_are_due } = everywhere;
const inMemory = { the_contract, names_that_are_alike_and_large_versions_stay_apart, a_thousand_payments_of_one_customer_are_due };

let failed = 0;
for (const [engine, { ...its }] of Object.entries(engines)) {
  const tests = Object.entries(engine === "memory" ? inMemory : { ...everywhere, ...only[engine] });
  let passed = 0;
  for (const [name, test] of tests) {
    try {
      await test({ ...its, engine });
      passed++;
    } catch (e) {
      console.error(`${engine}: ${name} failed:`, e);
    }
  }
  console.log(`${engine}: ${passed} passed, ${tests.length - passed} failed`);
  failed += tests.length - passed;
}
process.exitCode = failed ? 1 : 0;
