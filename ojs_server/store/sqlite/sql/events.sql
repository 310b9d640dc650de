-- name: touch
-- Write a row as it is.
-- changes: event_tally
UPDATE event_tally SET one = one

-- name: insert_events
-- Store the events of this transaction, in order.
-- differs: one transaction is written at a time, so none can have a higher number.
-- changes: events
-- row: pos int8, at int8, type text, subject text, queue text, job_type text, data json
INSERT OR ROLLBACK INTO events ({columns})
{rows}
