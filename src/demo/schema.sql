-- The lines of an order hold the names, and the prices of its current payment.
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    lines TEXT NOT NULL,
    return_url TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'unpaid',
    attempt BIGINT NOT NULL DEFAULT 0,
    payment_ref TEXT
);
-- Equal baskets of a customer are one order until it is paid, however often it is placed. After a decline its prices may become
-- those of another order.
CREATE UNIQUE INDEX IF NOT EXISTS one_open_order ON orders (customer, lines, return_url) WHERE status <> 'paid' AND attempt = 0;

-- Times are Unix seconds.
CREATE TABLE IF NOT EXISTS payments (
    payment_ref TEXT PRIMARY KEY,
    merchant_reference TEXT NOT NULL,
    owner TEXT NOT NULL,
    sold TEXT NOT NULL, -- a `Sold` as JSON
    created_at REAL NOT NULL DEFAULT (unixepoch('now', 'subsec')),
    returned_at REAL, -- when its customer last asked for the status
    final_since REAL,
    read_at REAL DEFAULT (unixepoch('now', 'subsec')) -- when to read it next; NULL: never again
);
CREATE INDEX IF NOT EXISTS payments_of_owner ON payments (owner);
CREATE INDEX IF NOT EXISTS payments_to_read ON payments (read_at) WHERE read_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS logins (
    token_hash TEXT PRIMARY KEY,
    customer TEXT NOT NULL
);

-- Money that was taken twice, or after the payment was final: a refund is due.
CREATE TABLE IF NOT EXISTS duplicate_payments (
    intent TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    order_id TEXT,
    amount TEXT NOT NULL,
    currency TEXT NOT NULL,
    approved_at TEXT,
    PRIMARY KEY (intent, attempt)
);
