-- The state of a payment intent and of a subscription is called so.

ALTER TABLE intents RENAME COLUMN life TO state;

ALTER TABLE subscriptions RENAME COLUMN life TO state;
