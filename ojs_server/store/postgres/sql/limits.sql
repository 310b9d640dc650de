-- name: load_limits
-- Lock limits by name: all that take several do so in this order.
-- row: name text
-- returns: Limit
SELECT {Limit} FROM limits WHERE name = ANY ({list}) ORDER BY name FOR UPDATE

-- name: load_opening
-- Lock limits that time has opened, without those that another node is busy with.
-- returns: Limit
SELECT {Limit} FROM limits WHERE opens_at <= %(now)s::int8 ORDER BY opens_at LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: save_limits
-- Limits as they are now.
-- row: Limit
UPDATE limits SET
    policy = changed.policy, active = changed.active, starts = changed.starts,
    next_us = changed.next_us, held_until = changed.held_until, override = changed.override,
    override_until = changed.override_until, waits_since = changed.waits_since,
    opens_at = changed.opens_at, used_at = changed.used_at
FROM ({rows}) AS changed
WHERE limits.name = changed.name

-- name: release_gated
-- Let the next jobs of keys into the claim's index: so many of each queue and type. It waits for
-- nobody who has one of them locked, since he may wait for the key; the answer names what is left.
-- row: name text, count int8
-- returns: Released
WITH RECURSIVE wanted AS (
    {rows}
), lanes AS (
    SELECT wanted.name, wanted.count, head.queue, head.type
    FROM wanted CROSS JOIN LATERAL (
        SELECT queue, type FROM jobs WHERE rate_key = wanted.name AND state = 'available'
        ORDER BY queue, type LIMIT 1
    ) AS head
    UNION ALL
    SELECT lanes.name, lanes.count, later.queue, later.type
    FROM lanes CROSS JOIN LATERAL (
        SELECT queue, type FROM jobs
        WHERE rate_key = lanes.name AND state = 'available'
            AND (queue, type) > (lanes.queue, lanes.type)
        ORDER BY queue, type LIMIT 1
    ) AS later
), shut AS MATERIALIZED (
    SELECT first.id, lanes.name, lanes.queue
    FROM lanes CROSS JOIN LATERAL (
        SELECT id, gated FROM jobs
        WHERE rate_key = lanes.name AND state = 'available'
            AND queue = lanes.queue AND type = lanes.type
        ORDER BY priority DESC, seq LIMIT lanes.count
    ) AS first
    WHERE first.gated
), held AS MATERIALIZED (
    -- By id alone: with more to go by, the planner would walk through all that are gated.
    SELECT id FROM jobs WHERE id = ANY (ARRAY(SELECT id FROM shut))
    ORDER BY id FOR UPDATE SKIP LOCKED
), opened AS (
    UPDATE jobs SET gated = false FROM held
    WHERE jobs.id = held.id AND jobs.state = 'available'
    RETURNING jobs.id, jobs.queue, jobs.priority, jobs.seq
), noted AS (
    INSERT INTO returns (pos, queue, priority, seq, at)
    SELECT %(pos)s::int8, queue, priority, min(seq), %(now)s::int8 FROM opened
    GROUP BY queue, priority
)
SELECT shut.name, shut.id AS job_id, shut.queue, opened.id IS NOT NULL AS done
FROM shut LEFT JOIN opened ON opened.id = shut.id

-- name: gated_keys
-- Which of these keys jobs wait for.
-- row: name text
SELECT wanted.name FROM ({rows}) AS wanted
WHERE EXISTS (
    SELECT FROM jobs WHERE rate_key = wanted.name AND state = 'available' AND gated
)

-- name: prune_limits
-- Keys without an operator's word that no job names any more.
DELETE FROM limits WHERE name = ANY (ARRAY(
    SELECT name FROM (
        SELECT name, override, override_until FROM limits WHERE used_at < %(before)s::int8
        ORDER BY used_at LIMIT %(limit)s::int8 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE (override IS NULL OR override_until <= %(now)s::int8)
        AND NOT EXISTS (SELECT FROM jobs WHERE rate_key = old.name)
))

-- name: put_off_limits
-- The oldest that stay are looked at again in their turn, or they would hide those behind them.
UPDATE limits SET used_at = %(now)s::int8 WHERE name = ANY (ARRAY(
    SELECT name FROM limits WHERE used_at < %(before)s::int8
    ORDER BY used_at LIMIT %(limit)s::int8 FOR UPDATE SKIP LOCKED
))

-- name: list_limits
-- The limits of keys, by name.
-- returns: LimitLoad
SELECT {Limit}, (
    SELECT count(*) FROM jobs WHERE rate_key = limits.name AND state = 'available'
) AS waiting
FROM limits WHERE name >= %(low)s::text AND name < %(high)s::text ORDER BY name LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- name: count_limits
-- How many there are.
SELECT count(*) FROM limits WHERE name >= %(low)s::text AND name < %(high)s::text

-- name: one_limit
-- One of them.
-- returns: LimitLoad
SELECT {Limit}, (
    SELECT count(*) FROM jobs WHERE rate_key = limits.name AND state = 'available'
) AS waiting
FROM limits WHERE name = %(name)s::text
