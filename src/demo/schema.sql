-- The lines of an order hold the names and prices at the time it was placed.
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    lines TEXT NOT NULL,
    return_url TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'unpaid',
    attempt BIGINT NOT NULL DEFAULT 0,
    payment_ref TEXT
);
-- Equal baskets of a customer are one order until it is paid, however often it is placed.
CREATE UNIQUE INDEX IF NOT EXISTS one_open_order ON orders (customer, lines, return_url) WHERE status <> 'paid';

CREATE TABLE IF NOT EXISTS payments (
    payment_ref TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    sold TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS logins (
    token_hash TEXT PRIMARY KEY,
    customer TEXT NOT NULL
);

-- Payments with a final status, of which an operator may still approve an attempt. Times are Unix milliseconds.
CREATE TABLE IF NOT EXISTS watched_payments (
    payment_ref TEXT PRIMARY KEY,
    final_since BIGINT NOT NULL,
    read_at BIGINT NOT NULL,
    is_over BOOLEAN NOT NULL DEFAULT FALSE
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
