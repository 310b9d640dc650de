-- Jobs that became available again, or moved, at an older position than their transaction has. Nodes
-- remember below which position a queue has no available jobs, and read here what was put below it.
-- Rows are only added and, an hour later, removed; nobody waits for a row of another.
CREATE TABLE returns (
    pos int8 NOT NULL,
    queue text COLLATE "C" NOT NULL,
    priority int8 NOT NULL,
    seq int8 NOT NULL,
    at int8 NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000
);

CREATE INDEX returns_pos ON returns (pos);

-- The position below which no event is left, where removing the oldest ones begins.
ALTER TABLE event_tally ADD COLUMN first int8 NOT NULL DEFAULT 0;
