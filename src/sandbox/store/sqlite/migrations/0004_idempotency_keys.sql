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
