-- Plans, subscriptions and their events.

CREATE TABLE plans (
    id TEXT PRIMARY KEY,
    merchant TEXT NOT NULL,
    code TEXT NOT NULL,
    offer TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (merchant, code)
);

CREATE INDEX plans_of_merchant ON plans (merchant, created_at, id);

CREATE TABLE subscriptions (
    id TEXT PRIMARY KEY,
    merchant TEXT NOT NULL,
    contact TEXT NOT NULL,
    terms TEXT NOT NULL,
    life TEXT NOT NULL,
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);

CREATE INDEX subscriptions_of_merchant ON subscriptions (merchant, created_at, id);
CREATE INDEX subscriptions_due ON subscriptions (merchant, due_at, id);

CREATE TABLE subscription_events (
    subscription TEXT NOT NULL,
    number BIGINT NOT NULL,
    merchant TEXT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (subscription, number)
);

CREATE INDEX subscription_events_of_merchant ON subscription_events (merchant, at);
