-- name: insert_limits
-- New limits; one that exists is left alone.
-- row: Limit
INSERT INTO limits ({columns})
{rows} ON CONFLICT DO NOTHING

-- name: keep_taken
-- Jobs that were taken on trial and stay taken.
-- row: id text, started_at int8
UPDATE jobs SET started_at = kept.started_at, due_at = NULL
FROM ({rows}) AS kept WHERE jobs.id = kept.id

-- name: send_back
-- Jobs that were taken on trial and wait again, before a gate or not.
-- row: id text, gated bool
UPDATE jobs SET state = 'available', attempt = attempt - 1, gated = sent.gated
FROM ({rows}) AS sent WHERE jobs.id = sent.id
