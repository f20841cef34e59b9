// Keeps the orders of guichet-server in SQLite. Copy it beside your server, and put your own tables in.
// `db` has `run(sql, values)`, which returns `{ changes }`, and `all(sql, values)`: a `Database` of node-sqlite3-wasm, or for `node:sqlite`
// `{ run: (sql, values) => file.prepare(sql).run(...values), all: (sql, values) => file.prepare(sql).all(...values) }`.
import { randomUUID } from "node:crypto";

const TABLES = [
  `purchases (merchant_reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, body TEXT NOT NULL)`,
  `payments (merchant_reference TEXT PRIMARY KEY, payment_ref TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, sold TEXT NOT NULL,
    created_at INTEGER NOT NULL, returned_at INTEGER, read_at INTEGER NOT NULL DEFAULT 0, status TEXT, final_since INTEGER, is_over INTEGER NOT NULL DEFAULT 0)`,
  `paid (order_id TEXT PRIMARY KEY, merchant_reference TEXT NOT NULL)`,
  `refunds_due (intent TEXT, attempt TEXT, merchant_reference TEXT NOT NULL, amount TEXT, currency TEXT, PRIMARY KEY (intent, attempt))`,
  `rounds (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL)`,
];
const DAY = 24 * 60 * 60;
/** `onPaid(order)` and `onRefund(sold, refund)` are called once each: ship there, and make the refund with the payment company. */
export function sqliteOrders(db, { onPaid = () => {}, onRefund = () => {}, now = () => Math.floor(Date.now() / 1000) } = {}) {
  for (const table of TABLES) db.run(`CREATE TABLE IF NOT EXISTS ${table}`, []);
  const [holder, get] = [randomUUID(), (sql, values) => db.all(sql, values)[0]];
  const orderOf = (reference) => get("SELECT order_id FROM purchases WHERE merchant_reference = ?", [reference])?.order_id ?? reference;
  const refundDue = (sold, { intent, attempt, amount, currency }) => {
    const values = [intent, String(attempt), sold.merchant_reference, String(amount ?? ""), currency];
    if (db.run("INSERT OR IGNORE INTO refunds_due VALUES (?, ?, ?, ?, ?)", values).changes) onRefund(sold, { intent, attempt, amount, currency });
  };

  return {
    // The same each time while its payment is open. After a final decline, a cancellation or an expiry the next one has the next
    // reference (`ORDER-17.1`), and what `make` returns then.
    purchase(order, make) {
      const sql = `SELECT count(*) AS n FROM payments JOIN purchases USING (merchant_reference) WHERE order_id = ? AND status IN ('failed', 'canceled')`;
      const paid = get("SELECT merchant_reference FROM paid WHERE order_id = ?", [order])?.merchant_reference;
      const n = Number(get(sql, [order]).n);
      const reference = paid ?? (n ? `${order}.${n}` : order);
      const find = () => get("SELECT body FROM purchases WHERE merchant_reference = ?", [reference]);
      const body = () => JSON.stringify({ ...make(), merchant_reference: reference });
      if (!find()) db.run("INSERT OR IGNORE INTO purchases VALUES (?, ?, ?)", [reference, order, body()]);
      return JSON.parse(find().body);
    },
    openPayments(owner, next) {
      const sql = `SELECT count(*) AS n FROM payments WHERE owner = ? AND final_since IS NULL
        AND NOT EXISTS (SELECT * FROM payments WHERE merchant_reference = ?)`;
      return Number(get(sql, [owner, next]).n);
    },
    remember(sold) {
      const sql = "INSERT OR IGNORE INTO payments (merchant_reference, payment_ref, owner, sold, created_at) VALUES (?, ?, ?, ?, ?)";
      db.run(sql, [sold.merchant_reference, sold.payment_ref, sold.owner, JSON.stringify(sold), now()]);
    },
    find(payment_ref, { owner }) {
      db.run("UPDATE payments SET returned_at = ? WHERE payment_ref = ? AND owner = ?", [now(), payment_ref, owner]);
      const found = get("SELECT sold FROM payments WHERE payment_ref = ? AND owner = ?", [payment_ref, owner]);
      return found && JSON.parse(found.sold);
    },
    settled(sold, { id, status, amount, currency }, askAgain) {
      const [reference, order] = [sold.merchant_reference, orderOf(sold.merchant_reference)];
      if (status === "succeeded") {
        if (db.run("INSERT OR IGNORE INTO paid VALUES (?, ?)", [order, reference]).changes) onPaid(order);
        const { merchant_reference } = get("SELECT merchant_reference FROM paid WHERE order_id = ?", [order]);
        if (merchant_reference !== reference) refundDue(sold, { intent: id, attempt: "successful", amount, currency });
      }
      const sql = `UPDATE payments SET status = ?1, final_since = coalesce(final_since, ?2),
        is_over = ?3 OR ?2 - coalesce(final_since, ?2) > ${DAY} WHERE merchant_reference = ?4`;
      db.run(sql, [status, now(), Number(askAgain === "never"), reference]);
    },
    overpaid: (sold, duplicate) => refundDue(sold, duplicate),
    // An open payment is read every 3 seconds, an old one every 30, a final one every minute.
    open(limit) {
      const due = db.all(`SELECT merchant_reference, sold, created_at, final_since, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY returned_at IS NULL, created_at DESC) AS place,
        returned_at FROM payments WHERE is_over = 0 AND read_at <= ? ORDER BY place, returned_at IS NULL, created_at DESC LIMIT ?`, [now(), limit]);
      for (const { merchant_reference, created_at, final_since } of due) {
        const pause = final_since ? 60 : Math.min(30, 3 + Math.floor((now() - Number(created_at)) / 60));
        db.run("UPDATE payments SET read_at = ? WHERE merchant_reference = ?", [now() + pause, merchant_reference]);
      }
      return due.map(({ sold }) => JSON.parse(sold));
    },
    claim(ms) {
      const sql = `INSERT INTO rounds VALUES ('settle', ?1, ?2) ON CONFLICT (name) DO UPDATE SET holder = ?1, until = ?2 WHERE holder = ?1 OR until < ?3`;
      return db.run(sql, [holder, Date.now() + ms, Date.now()]).changes === 1;
    },
  };
}
