-- Within one second, lists follow SQLite's rowid, with which every index ends. And an index of expired idempotency keys.

DROP INDEX plans_of_merchant;
CREATE INDEX plans_of_merchant ON plans (merchant, created_at);

DROP INDEX subscriptions_of_merchant;
CREATE INDEX subscriptions_of_merchant ON subscriptions (merchant, created_at);

DROP INDEX intents_of_merchant;
CREATE INDEX intents_of_merchant ON intents (merchant, created_at);

DROP INDEX customers_of_merchant;
CREATE INDEX customers_of_merchant ON customers (merchant, created_at);

DROP INDEX esim_orders_of_merchant;
CREATE INDEX esim_orders_of_merchant ON esim_orders (merchant, created_at);

CREATE INDEX idempotency_keys_until ON idempotency_keys (merchant, expires_at);
