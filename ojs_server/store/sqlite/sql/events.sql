-- name: touch
-- Write a row as it is.
-- changes: event_tally
UPDATE event_tally SET one = one
