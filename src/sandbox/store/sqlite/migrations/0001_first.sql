-- The first version of the schema. Secrets are stored as fingerprints or not at all.

CREATE TABLE guichet_schema (version BIGINT NOT NULL);

CREATE TABLE merchants (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    key_fingerprint TEXT NOT NULL UNIQUE,
    clock_offset BIGINT NOT NULL,
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
    id TEXT PRIMARY KEY,
    merchant TEXT NOT NULL,
    contact TEXT NOT NULL,
    firstname TEXT NOT NULL,
    lastname TEXT NOT NULL,
    email TEXT NOT NULL,
    phone TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, contact)
);

CREATE TABLE intents (
    id TEXT PRIMARY KEY,
    merchant TEXT NOT NULL,
    merchant_reference TEXT NOT NULL,
    payment_ref TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    life TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    UNIQUE (merchant, merchant_reference)
);

CREATE INDEX intents_of_merchant ON intents (merchant, created_at, id);
