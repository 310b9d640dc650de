-- name: insert_limits
-- Store new limits; one that exists is left alone.
-- changes: limits
-- row: Limit
INSERT INTO limits ({columns})
{rows} ON CONFLICT DO NOTHING

-- name: keep_taken
-- Confirm claims of jobs with a rate key.
-- changes: jobs
-- row: id text, started_at int8
UPDATE jobs SET started_at = kept.started_at, due_at = NULL
FROM ({rows}) AS kept WHERE jobs.id = kept.id

-- name: send_back
-- Undo claims of jobs with a rate key; `gated` jobs wait for their limit.
-- changes: jobs
-- row: id text, gated bool
UPDATE jobs SET state = 'available', attempt = attempt - 1, gated = sent.gated
FROM ({rows}) AS sent WHERE jobs.id = sent.id

-- name: load_limits
-- Lock limits by name, the order in which all transactions lock them.
-- row: name text
-- returns: Limit
SELECT {Limit} FROM limits WHERE name IN ({list}) ORDER BY name FOR UPDATE

-- name: load_opening
-- Lock limits that time has opened, except those that another node has locked.
-- returns: Limit
SELECT {Limit} FROM limits WHERE opens_at <= :now ORDER BY opens_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: save_limits
-- Store changed limits.
-- changes: limits
-- row: Limit
UPDATE limits SET
    policy = changed.policy, active = changed.active, starts = changed.starts,
    next_us = changed.next_us, held_until = changed.held_until, override = changed.override,
    override_until = changed.override_until, waits_since = changed.waits_since,
    opens_at = changed.opens_at, used_at = changed.used_at
FROM ({rows}) AS changed
WHERE limits.name = changed.name

-- name: prune_limits
-- Delete the oldest unused limits that no operator has overridden and no job names any more.
-- changes: limits
DELETE FROM limits WHERE name = ANY (ARRAY(
    SELECT name FROM (
        SELECT name, override, override_until FROM limits WHERE used_at < :before
        ORDER BY used_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE (override IS NULL OR override_until <= :now)
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE rate_key = old.name)
))

-- name: put_off_limits
-- Store the oldest unused limits as used, or they would be looked at again before those behind them.
-- changes: limits
UPDATE limits SET used_at = :now WHERE name = ANY (ARRAY(
    SELECT name FROM limits WHERE used_at < :before
    ORDER BY used_at LIMIT :limit FOR UPDATE SKIP LOCKED
))

-- name: gated_keys
-- Return those of these keys whose limits hold jobs back.
-- row: name text
SELECT wanted.name FROM ({rows}) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs WHERE rate_key = wanted.name AND state = 'available' AND gated = true
)

-- name: list_limits
-- List limits by key, with the number of waiting jobs.
-- returns: LimitLoad
SELECT {Limit}, (
    SELECT count(*) FROM jobs WHERE rate_key = limits.name AND state = 'available'
) AS waiting
FROM limits WHERE name >= :low AND name < :high ORDER BY name LIMIT :limit OFFSET :offset

-- name: count_limits
-- Count limits.
SELECT count(*) FROM limits WHERE name >= :low AND name < :high

-- name: one_limit
-- Load a limit, with the number of waiting jobs.
-- returns: LimitLoad
SELECT {Limit}, (
    SELECT count(*) FROM jobs WHERE rate_key = limits.name AND state = 'available'
) AS waiting
FROM limits WHERE name = :name
