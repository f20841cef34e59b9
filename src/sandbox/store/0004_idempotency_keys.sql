-- What was made under which Idempotency-Key. Neither the key nor the body is here: a fingerprint of each.

CREATE TABLE idempotency_keys (
    merchant TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    digest TEXT NOT NULL,
    made TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (merchant, operation, fingerprint)
);
