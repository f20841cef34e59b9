-- Secrets are stored as fingerprints or not at all.
--
-- Texts are compared by their bytes (`COLLATE "C"`), whatever the collation of the database is. JSON is TEXT, because JSONB would
-- reorder its keys and refuse an escaped U+0000. Lists follow `seq`, a number that the database assigns to each row and never changes.

-- `VERSION` in open.rs. It changes with the schema.
CREATE TABLE guichet_schema (version BIGINT NOT NULL);
INSERT INTO guichet_schema (version) VALUES (3);

CREATE TABLE merchants (
    id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    key_fingerprint TEXT COLLATE "C" NOT NULL UNIQUE,
    clock_offset BIGINT NOT NULL,
    operators TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    -- The number of the last reset among the requests: those from before it are no longer listed.
    reset_at_number BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE sessions (
    fingerprint TEXT COLLATE "C" PRIMARY KEY,
    merchant TEXT COLLATE "C" NOT NULL,
    email TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE INDEX sessions_of_merchant ON sessions (merchant);

CREATE TABLE customers (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    merchant TEXT COLLATE "C" NOT NULL,
    contact TEXT COLLATE "C" NOT NULL,
    firstname TEXT COLLATE "C" NOT NULL,
    lastname TEXT COLLATE "C" NOT NULL,
    email TEXT COLLATE "C" NOT NULL,
    phone TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, contact)
);

CREATE INDEX customers_of_merchant ON customers (merchant, seq);

CREATE TABLE intents (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    merchant TEXT COLLATE "C" NOT NULL,
    merchant_reference TEXT COLLATE "C" NOT NULL,
    payment_ref TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    esim_order TEXT COLLATE "C",
    UNIQUE (merchant, merchant_reference)
);

CREATE INDEX intents_of_merchant ON intents (merchant, seq);
CREATE INDEX intents_of_esim_order ON intents (merchant, esim_order) WHERE esim_order IS NOT NULL;

CREATE TABLE plans (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    merchant TEXT COLLATE "C" NOT NULL,
    code TEXT COLLATE "C" NOT NULL,
    offer TEXT COLLATE "C" NOT NULL,
    active BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, code)
);

CREATE INDEX plans_of_merchant ON plans (merchant, seq);

CREATE TABLE subscriptions (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    merchant TEXT COLLATE "C" NOT NULL,
    contact TEXT COLLATE "C" NOT NULL,
    terms TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);

CREATE INDEX subscriptions_of_merchant ON subscriptions (merchant, seq);
CREATE INDEX subscriptions_due ON subscriptions (merchant, due_at, id);

CREATE TABLE subscription_events (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    merchant TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    UNIQUE (subscription, number)
);

CREATE INDEX subscription_events_of_merchant ON subscription_events (merchant, at, seq);

CREATE TABLE esim_orders (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    merchant TEXT COLLATE "C" NOT NULL,
    package TEXT COLLATE "C" NOT NULL,
    quantity BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    paid_by TEXT COLLATE "C",
    fulfilled_at BIGINT
);

CREATE INDEX esim_orders_of_merchant ON esim_orders (merchant, seq);

-- The object that was created under an Idempotency-Key. Key and body are stored as fingerprints only.
CREATE TABLE idempotency_keys (
    merchant TEXT COLLATE "C" NOT NULL,
    operation TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    made TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (merchant, operation, fingerprint)
);

CREATE INDEX idempotency_keys_until ON idempotency_keys (merchant, expires_at);

-- The faults that are still to be injected. `fault` is JSON.
CREATE TABLE faults (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant TEXT COLLATE "C" NOT NULL,
    operation TEXT COLLATE "C" NOT NULL,
    fault TEXT COLLATE "C" NOT NULL,
    remaining BIGINT NOT NULL
);

CREATE INDEX faults_of_merchant ON faults (merchant, operation, seq);

-- The order in which requests reach the instances.
CREATE SEQUENCE request_numbers;

-- The newest requests that the control API shows. `record` is JSON, without credentials and bodies. Without a log, since a crash of the
-- server may empty the list.
CREATE UNLOGGED TABLE requests (
    number BIGINT PRIMARY KEY,
    merchant TEXT COLLATE "C" NOT NULL,
    record TEXT COLLATE "C" NOT NULL,
    status BIGINT
);

CREATE INDEX requests_of_merchant ON requests (merchant, number);

-- The latest second on which a response depended: the service's clock never goes back before it.
CREATE TABLE service_clock (latest BIGINT NOT NULL);
INSERT INTO service_clock (latest) VALUES (0);

-- The fingerprints of the two keys that every instance must have.
CREATE TABLE instance_keys (
    instance TEXT COLLATE "C" NOT NULL,
    first TEXT COLLATE "C" NOT NULL
);
