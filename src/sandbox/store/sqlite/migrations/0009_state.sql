-- Renames the column with the state of payment intents and subscriptions.

ALTER TABLE intents RENAME COLUMN life TO state;

ALTER TABLE subscriptions RENAME COLUMN life TO state;
