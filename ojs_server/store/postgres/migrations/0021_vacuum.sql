-- Autovacuum settings of the tables whose rows come and go with jobs; those of jobs, leases and
-- counts are in 0001. By default it waits for a fifth of a table, which may be millions of rows.

-- Three rows a job come at one end and go at the other: each step of retention begins there, and
-- reads past all that is dead and was not tidied up.
ALTER TABLE events SET (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.05
);

-- Each attempt changes indexed columns, and whoever looks for the next one reads past the dead rows;
-- most of the table is history, so that a share of it says nothing.
ALTER TABLE deliveries SET (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000
);

-- Keys go after a day, oldest first, as fast as they come.
ALTER TABLE receipts SET (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000
);
