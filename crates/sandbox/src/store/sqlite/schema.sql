-- Secrets are stored as fingerprints or not at all. Lists follow `seq`, a number that the database assigns to each row and never changes:
-- SQLite may renumber `rowid` at VACUUM if no column is an alias of it.

-- `VERSION` in open.rs. It changes with the schema.
CREATE TABLE guichet_schema (version BIGINT NOT NULL);
INSERT INTO guichet_schema (version) VALUES (11);

-- The name under which the file was last used: SQLite's write-ahead log is beside that name.
CREATE TABLE database_file (path TEXT NOT NULL);

-- The latest second on which a response depended: the service's clock never goes back before it.
CREATE TABLE service_clock (latest BIGINT NOT NULL);
INSERT INTO service_clock (latest) VALUES (0);

CREATE TABLE merchants (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    key_fingerprint TEXT NOT NULL UNIQUE,
    clock_offset BIGINT NOT NULL,
    operators TEXT NOT NULL,
    place BIGINT NOT NULL
);

CREATE TABLE sessions (
    fingerprint TEXT PRIMARY KEY,
    merchant TEXT NOT NULL,
    email TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE TABLE customers (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    contact TEXT NOT NULL,
    firstname TEXT NOT NULL,
    lastname TEXT NOT NULL,
    email TEXT NOT NULL,
    phone TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, contact)
);

CREATE INDEX customers_of_merchant ON customers (merchant, seq);

CREATE TABLE intents (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    merchant_reference TEXT NOT NULL,
    payment_ref TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    esim_order TEXT,
    UNIQUE (merchant, merchant_reference)
);

CREATE INDEX intents_of_merchant ON intents (merchant, seq);
CREATE INDEX intents_of_esim_order ON intents (merchant, esim_order) WHERE esim_order IS NOT NULL;

CREATE TABLE plans (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    code TEXT NOT NULL,
    offer TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, code)
);

CREATE INDEX plans_of_merchant ON plans (merchant, seq);

CREATE TABLE subscriptions (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    contact TEXT NOT NULL,
    terms TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);

CREATE INDEX subscriptions_of_merchant ON subscriptions (merchant, seq);
CREATE INDEX subscriptions_due ON subscriptions (merchant, due_at, id);

CREATE TABLE subscription_events (
    seq INTEGER PRIMARY KEY,
    subscription TEXT NOT NULL,
    number BIGINT NOT NULL,
    merchant TEXT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    UNIQUE (subscription, number)
);

CREATE INDEX subscription_events_of_merchant ON subscription_events (merchant, at, seq);

CREATE TABLE esim_orders (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    package TEXT NOT NULL,
    quantity BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    paid_by TEXT,
    fulfilled_at BIGINT
);

CREATE INDEX esim_orders_of_merchant ON esim_orders (merchant, seq);

-- The object that was created under an Idempotency-Key. Key and body are stored as fingerprints only.
CREATE TABLE idempotency_keys (
    merchant TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    digest TEXT NOT NULL,
    made TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (merchant, operation, fingerprint)
);

CREATE INDEX idempotency_keys_until ON idempotency_keys (merchant, expires_at);
