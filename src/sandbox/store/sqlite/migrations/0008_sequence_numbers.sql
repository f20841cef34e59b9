-- Lists follow `seq`, a number that the database assigns to each row and never changes: SQLite may renumber `rowid` at VACUUM
-- if no column is an alias of it. Rows keep their order.

CREATE TABLE customers_in_order (
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

INSERT INTO customers_in_order (id, merchant, contact, firstname, lastname, email, phone, created_at)
    SELECT id, merchant, contact, firstname, lastname, email, phone, created_at FROM customers ORDER BY created_at, rowid;

DROP TABLE customers;

ALTER TABLE customers_in_order RENAME TO customers;

CREATE INDEX customers_of_merchant ON customers (merchant, seq);

CREATE TABLE intents_in_order (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    merchant_reference TEXT NOT NULL,
    payment_ref TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    life TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    esim_order TEXT,
    UNIQUE (merchant, merchant_reference)
);

INSERT INTO intents_in_order (id, merchant, merchant_reference, payment_ref, digest, body, life, created_at, expires_at, version, esim_order)
    SELECT id, merchant, merchant_reference, payment_ref, digest, body, life, created_at, expires_at, version, esim_order FROM intents ORDER BY created_at, rowid;

DROP TABLE intents;

ALTER TABLE intents_in_order RENAME TO intents;

CREATE INDEX intents_of_merchant ON intents (merchant, seq);

CREATE INDEX intents_of_esim_order ON intents (merchant, esim_order) WHERE esim_order IS NOT NULL;

CREATE TABLE plans_in_order (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    code TEXT NOT NULL,
    offer TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, code)
);

INSERT INTO plans_in_order (id, merchant, code, offer, active, created_at)
    SELECT id, merchant, code, offer, active, created_at FROM plans ORDER BY created_at, rowid;

DROP TABLE plans;

ALTER TABLE plans_in_order RENAME TO plans;

CREATE INDEX plans_of_merchant ON plans (merchant, seq);

CREATE TABLE subscriptions_in_order (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    merchant TEXT NOT NULL,
    contact TEXT NOT NULL,
    terms TEXT NOT NULL,
    life TEXT NOT NULL,
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);

INSERT INTO subscriptions_in_order (id, merchant, contact, terms, life, due_at, created_at, version)
    SELECT id, merchant, contact, terms, life, due_at, created_at, version FROM subscriptions ORDER BY created_at, rowid;

DROP TABLE subscriptions;

ALTER TABLE subscriptions_in_order RENAME TO subscriptions;

CREATE INDEX subscriptions_of_merchant ON subscriptions (merchant, seq);

CREATE INDEX subscriptions_due ON subscriptions (merchant, due_at, id);

CREATE TABLE subscription_events_in_order (
    seq INTEGER PRIMARY KEY,
    subscription TEXT NOT NULL,
    number BIGINT NOT NULL,
    merchant TEXT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    UNIQUE (subscription, number)
);

INSERT INTO subscription_events_in_order (subscription, number, merchant, kind, at)
    SELECT subscription, number, merchant, kind, at FROM subscription_events ORDER BY at, rowid;

DROP TABLE subscription_events;

ALTER TABLE subscription_events_in_order RENAME TO subscription_events;

CREATE INDEX subscription_events_of_merchant ON subscription_events (merchant, at, seq);

CREATE TABLE esim_orders_in_order (
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

INSERT INTO esim_orders_in_order (id, merchant, package, quantity, amount, currency, created_at, paid_by, fulfilled_at)
    SELECT id, merchant, package, quantity, amount, currency, created_at, paid_by, fulfilled_at FROM esim_orders ORDER BY created_at, rowid;

DROP TABLE esim_orders;

ALTER TABLE esim_orders_in_order RENAME TO esim_orders;

CREATE INDEX esim_orders_of_merchant ON esim_orders (merchant, seq);
