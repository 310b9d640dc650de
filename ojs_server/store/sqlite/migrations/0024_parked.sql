-- Make indexes again with conditions that are compared one by one. For a list of states SQLite
-- makes a table in each statement that may move a row in or out, at the cost of every ACK and FETCH.

DROP INDEX jobs_parked;
DROP INDEX jobs_parked_queue;
DROP INDEX jobs_unique_held;
CREATE INDEX jobs_parked ON jobs (state, id)
    WHERE state <> 'available' AND state <> 'active' AND state <> 'completed';
CREATE INDEX jobs_parked_queue ON jobs (queue, state, id)
    WHERE state <> 'available' AND state <> 'active' AND state <> 'completed';
CREATE INDEX jobs_unique_held ON jobs (id)
    WHERE unique_key IS NOT NULL
    AND state <> 'completed' AND state <> 'cancelled' AND state <> 'discarded';
