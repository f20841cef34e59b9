// Keeps the orders of guichet-server in SQLite or PostgreSQL. Import it, or copy it beside your server and put your own tables in.
import { randomBytes, randomUUID } from "node:crypto";
import { checkPurchase, ShopError } from "guichet-server";

const TABLES = [
  `purchases (merchant_reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, body TEXT NOT NULL)`,
  `owners (order_id TEXT PRIMARY KEY, owner TEXT NOT NULL)`,
  `payments (merchant_reference TEXT PRIMARY KEY, owner TEXT NOT NULL, created_at BIGINT NOT NULL, payment_ref TEXT UNIQUE, sold TEXT,
    returned_at BIGINT, read_at BIGINT NOT NULL DEFAULT 0, status TEXT, final_since BIGINT, is_over INTEGER NOT NULL DEFAULT 0)`,
  `paid (order_id TEXT PRIMARY KEY, merchant_reference TEXT NOT NULL)`,
  `refunds_due (intent TEXT, attempt TEXT, merchant_reference TEXT NOT NULL, amount TEXT, currency TEXT, PRIMARY KEY (intent, attempt))`,
  `rounds (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until BIGINT NOT NULL)`,
  // An empty token says that the login has ended.
  `session_tokens (login TEXT, token TEXT, until BIGINT NOT NULL, PRIMARY KEY (login, token))`,
];
const [MAX_OPEN, DAY, SESSION] = [20, 24 * 60 * 60, 31 * 60];

export function sqliteOrders(db, options) {
  // A value for each `?`, because not every version of `node:sqlite` binds `?1`.
  const query = (sql, values = []) => {
    const bound = [];
    const text = sql.replace(/\$(\d+)/g, (_, place) => (bound.push(values[place - 1]), "?"));
    return db.all(text, bound);
  };
  for (const table of TABLES) query(`CREATE TABLE IF NOT EXISTS ${table}`);
  return ordersBy(query, (_, work) => work(query), options);
}

export async function postgresOrders(pool, options) {
  const queryOf = (client) => async (sql, values) => (await client.query(sql, values)).rows;
  // In a transaction that no other one with this name is beside.
  const alone = async (name, work) => {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("SELECT pg_advisory_xact_lock(hashtext($1))", [name]);
      const result = await work(queryOf(client));
      await client.query("COMMIT");
      client.release();
      return result;
    } catch (e) {
      client.release(e); // closes the connection, which rolls back
      throw e;
    }
  };
  await alone("tables", (query) => query(TABLES.map((table) => `CREATE TABLE IF NOT EXISTS ${table}`).join(";")));
  return ordersBy(queryOf(pool), alone, options);
}

function ordersBy(query, alone, { onPaid = () => {}, onRefund = () => {}, now = () => Math.floor(Date.now() / 1000) } = {}) {
  const holder = randomUUID();
  const get = async (sql, values) => (await query(sql, values))[0];
  const refundDue = async (sold, { intent, attempt, amount, currency }) => {
    const sql = "INSERT INTO refunds_due VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING intent";
    const values = [intent, String(attempt), sold.merchant_reference, String(amount ?? ""), currency];
    if (await get(sql, values)) await onRefund(sold, { intent, attempt, amount, currency });
  };

  return {
    async purchase(order, make) {
      const paid = await get("SELECT body FROM paid JOIN purchases USING (merchant_reference) WHERE paid.order_id = $1", [order]);
      if (paid) return JSON.parse(paid.body);
      // A payment that the service did not get for a day has ended, and its price with it.
      const sql = `SELECT body, coalesce(status IN ('failed', 'canceled') OR (sold IS NULL AND created_at < $2), FALSE) AS has_ended
        FROM purchases LEFT JOIN payments USING (merchant_reference) WHERE order_id = $1`;
      for (let taken = 0; ; taken += 1) {
        const own = await query(sql, [order, now() - DAY]);
        const open = own.find((purchase) => !purchase.has_ended);
        if (open) return JSON.parse(open.body);
        const number = own.length + taken;
        const reference = number ? `${order}.${number}` : order;
        // With a nonce of its own, an open order stays the same when the secret key is replaced.
        const purchase = { return_nonce: randomBytes(11).toString("hex"), ...(await make()), merchant_reference: reference };
        await checkPurchase(purchase);
        const body = JSON.stringify(purchase);
        // Nothing is inserted if this is the name of another order. The next turn finds what was, or takes the next number.
        await query("INSERT INTO purchases VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [reference, order, body]);
      }
    },
    // It counts and reserves, because other requests come at the same time. What was not created is not open for long.
    openPayments: (owner, next) => alone(owner, async (query) => {
      // An order belongs to the first who pays for it: another owner's is answered like an unknown one.
      const claim = `INSERT INTO owners SELECT order_id, CAST($1 AS TEXT) FROM purchases WHERE merchant_reference = $2 ON CONFLICT DO NOTHING`;
      await query(claim, [owner, next]);
      const owners = `SELECT owner FROM owners JOIN purchases USING (order_id) WHERE merchant_reference = $1
        UNION SELECT owner FROM payments WHERE merchant_reference = $1`;
      const isForeign = (await query(owners, [next])).some((row) => row.owner !== owner);
      if (isForeign) throw new ShopError(404, "order_missing", "There is no such order.");
      const open = `owner = $2 AND final_since IS NULL AND (sold IS NOT NULL OR created_at > CAST($3 AS BIGINT) - 60)`;
      const sql = `INSERT INTO payments (merchant_reference, owner, created_at) SELECT $1, $2, CAST($3 AS BIGINT)
        WHERE ${MAX_OPEN} > (SELECT count(*) FROM payments WHERE ${open}) ON CONFLICT DO NOTHING`;
      await query(sql, [next, owner, now()]);
      const reserved = await query("SELECT owner FROM payments WHERE merchant_reference = $1", [next]);
      return reserved.length ? 0 : MAX_OPEN;
    }),
    async remember(sold) {
      const sql = `INSERT INTO payments (merchant_reference, owner, created_at, payment_ref, sold) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (merchant_reference) DO UPDATE SET payment_ref = excluded.payment_ref, sold = excluded.sold WHERE payments.sold IS NULL`;
      await query(sql, [sold.merchant_reference, sold.owner, now(), sold.payment_ref, JSON.stringify(sold)]);
      // No page is sent to a payment that would never be read.
      const kept = JSON.parse((await get("SELECT sold FROM payments WHERE merchant_reference = $1", [sold.merchant_reference])).sold);
      if (kept.intent !== sold.intent) throw new ShopError(409, "payment_mismatch", "The payment is not the one of this order. Please ask the shop.");
    },
    async find(payment_ref, { owner }) {
      const sql = "UPDATE payments SET returned_at = $1 WHERE payment_ref = $2 AND owner = $3 RETURNING sold";
      const found = await get(sql, [now(), payment_ref, owner]);
      return found && JSON.parse(found.sold);
    },
    async settled(sold, { id, status, amount, amount_payable, currency }, askAgain) {
      const reference = sold.merchant_reference;
      if (status === "succeeded") {
        const order = (await get("SELECT order_id FROM purchases WHERE merchant_reference = $1", [reference]))?.order_id ?? reference;
        const sql = "INSERT INTO paid VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING order_id";
        if (await get(sql, [order, reference])) await onPaid(sold, order);
        const { merchant_reference } = await get("SELECT merchant_reference FROM paid WHERE order_id = $1", [order]);
        if (merchant_reference !== reference) {
          await refundDue(sold, { intent: id, attempt: "successful", amount: amount_payable ?? amount, currency });
        }
      }
      const sql = `UPDATE payments SET status = $1, final_since = coalesce(final_since, $2),
        is_over = CASE WHEN $3 = 'never' OR $2 - coalesce(final_since, $2) > ${DAY} THEN 1 ELSE 0 END WHERE merchant_reference = $4`;
      await query(sql, [status, now(), askAgain, reference]);
    },
    overpaid: refundDue,
    keepSession: (login, token) => alone(login, async (query) => {
      await query("DELETE FROM session_tokens WHERE until < $1", [now()]);
      const sql = `INSERT INTO session_tokens SELECT $1, $2, CAST($3 AS BIGINT)
        WHERE NOT EXISTS (SELECT * FROM session_tokens WHERE login = $1 AND token = '') RETURNING login`;
      return (await query(sql, [login, token, now() + SESSION])).length === 1;
    }),
    endSessions: (login) => alone(login, async (query) => {
      // First that it has ended: no token is kept after that.
      await query("INSERT INTO session_tokens VALUES ($1, '', $2) ON CONFLICT (login, token) DO UPDATE SET until = $2", [login, now() + SESSION]);
      const kept = await query("DELETE FROM session_tokens WHERE login = $1 AND token <> '' RETURNING token", [login]);
      return kept.map(({ token }) => token);
    }),
    // An open payment is due every 3 seconds, an old one every 30, a final one every minute.
    async open(limit) {
      const sql = `SELECT merchant_reference, sold, created_at, returned_at, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY returned_at IS NULL, created_at DESC)
        AS place FROM payments WHERE sold IS NOT NULL AND is_over = 0 AND read_at <= $1 ORDER BY place, returned_at IS NULL, created_at DESC LIMIT $2`;
      const due = await query(sql, [now(), limit]);
      const age = "(CAST($1 AS BIGINT) - created_at)";
      const pause = `CASE WHEN final_since IS NOT NULL THEN 60 WHEN ${age} > 1620 THEN 30 ELSE 3 + ${age} / 60 END`;
      const update = `UPDATE payments SET read_at = CAST($1 AS BIGINT) + ${pause} WHERE merchant_reference IN (${due.map((_, i) => `$${i + 2}`)})`;
      if (due.length) await query(update, [now(), ...due.map((payment) => payment.merchant_reference)]);
      return due.map(({ sold }) => JSON.parse(sold));
    },
    async claim(ms) {
      const sql = `INSERT INTO rounds VALUES ('settle', $1, $2) ON CONFLICT (name) DO UPDATE SET holder = $1, until = $2
        WHERE rounds.holder = $1 OR rounds.until <= $3 RETURNING name`;
      return (await query(sql, [holder, Date.now() + ms, Date.now()])).length === 1;
    },
  };
}
