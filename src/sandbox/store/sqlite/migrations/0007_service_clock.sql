-- The latest second on which a response depended: the service's clock never goes back before it.

CREATE TABLE service_clock (latest BIGINT NOT NULL);

INSERT INTO service_clock (latest) VALUES (0);
