-- The latest second at which the service has answered anyone: its clock never goes back behind it.

CREATE TABLE service_clock (latest BIGINT NOT NULL);

INSERT INTO service_clock (latest) VALUES (0);
