-- The tokens of transactions: by its token a node learns what became of a COMMIT whose answer was
-- lost. A token is a UUIDv7 for the moment at which its transaction began, by the database's clock.

CREATE TABLE outcomes (
    token uuid NOT NULL PRIMARY KEY,
    -- False where whoever asked was first: then the transaction cannot commit any more.
    carried_out boolean NOT NULL
) WITH (
    -- Rows come at one end and go at the other, as fast as commits do, and so does what reads them.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.5,
    autovacuum_analyze_scale_factor = 0.5
);
