-- The list of customers, eSIM orders, and the order that an intent pays.

CREATE INDEX customers_of_merchant ON customers (merchant, created_at, id);

CREATE TABLE esim_orders (
    id TEXT PRIMARY KEY,
    merchant TEXT NOT NULL,
    package TEXT NOT NULL,
    quantity BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    paid_by TEXT,
    fulfilled_at BIGINT
);

CREATE INDEX esim_orders_of_merchant ON esim_orders (merchant, created_at, id);

ALTER TABLE intents ADD COLUMN esim_order TEXT;

CREATE INDEX intents_of_esim_order ON intents (merchant, esim_order) WHERE esim_order IS NOT NULL;
