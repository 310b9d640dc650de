-- fragment: limit
-- A Limit, in the order of its fields.
limits.name, CAST(limits.policy AS BLOB), limits.active, CAST(limits.starts AS BLOB),
limits.next_us, limits.held_until, CAST(limits.override AS BLOB), limits.override_until,
limits.waits_since, limits.opens_at, limits.used_at

-- name: insert_limits
-- New limits; one that exists is left alone.
-- row: (?,CAST(? AS TEXT),?,CAST(? AS TEXT),?,?,CAST(? AS TEXT),?,?,?,?)
INSERT INTO limits (
    name, policy, active, starts, next_us, held_until, override, override_until, waits_since,
    opens_at, used_at
)
{rows} ON CONFLICT DO NOTHING

-- name: load_limits
-- Limits by name.
-- row: ?
SELECT {limit} FROM limits WHERE name IN ({rows}) ORDER BY name

-- name: load_opening
-- Limits that time has opened, longest ago first.
SELECT {limit} FROM limits WHERE opens_at <= :now ORDER BY opens_at LIMIT :limit

-- name: save_limits
-- Limits as they are now.
-- row: (?,CAST(? AS TEXT),?,CAST(? AS TEXT),?,?,CAST(? AS TEXT),?,?,?,?)
UPDATE limits SET
    policy = changed.column2, active = changed.column3, starts = changed.column4,
    next_us = changed.column5, held_until = changed.column6, override = changed.column7,
    override_until = changed.column8, waits_since = changed.column9,
    opens_at = changed.column10, used_at = changed.column11
FROM ({rows}) AS changed WHERE limits.name = changed.column1

-- name: open_gates
-- Let the next jobs of a key into the claim's index: so many of each queue and type.
WITH RECURSIVE heads (head) AS (
    SELECT (
        SELECT id FROM jobs WHERE rate_key = :name AND state = 'available'
        ORDER BY queue, type LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT later.id FROM jobs AS later
        WHERE later.rate_key = :name AND later.state = 'available'
            AND (later.queue, later.type) > (here.queue, here.type)
        ORDER BY later.queue, later.type LIMIT 1
    )
    FROM heads JOIN jobs AS here ON here.id = heads.head
)
UPDATE jobs SET gated = 0
WHERE gated = 1 AND id IN (
    SELECT first.id
    FROM heads JOIN jobs AS here ON here.id = heads.head
    JOIN jobs AS first ON first.id IN (
        SELECT same.id FROM jobs AS same
        WHERE same.rate_key = :name AND same.state = 'available'
            AND same.queue = here.queue AND same.type = here.type
        ORDER BY same.priority DESC, same.seq LIMIT :limit
    )
)
RETURNING rate_key, id, queue, 1

-- name: gated_keys
-- Which of these keys jobs wait for.
-- row: (?)
SELECT wanted.column1 FROM ({rows}) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs
    WHERE rate_key = wanted.column1 AND state = 'available' AND gated = 1
)

-- name: keep_taken
-- Jobs that were taken on trial and stay taken.
-- row: (?,?)
UPDATE jobs SET started_at = kept.column2, due_at = NULL
FROM ({rows}) AS kept WHERE jobs.id = kept.column1

-- name: send_back
-- Jobs that were taken on trial and wait again, before a gate or not.
-- row: (?,?)
UPDATE jobs SET state = 'available', attempt = attempt - 1, gated = sent.column2
FROM ({rows}) AS sent WHERE jobs.id = sent.column1

-- name: prune_limits
-- Keys without an operator's word that no job names any more.
DELETE FROM limits WHERE name IN (
    SELECT name FROM (
        SELECT name, override, override_until FROM limits WHERE used_at < :before
        ORDER BY used_at LIMIT :limit
    ) AS old
    WHERE (override IS NULL OR override_until <= :now)
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE rate_key = old.name)
)

-- name: put_off_limits
-- The oldest that stay are looked at again in their turn, or they would hide those behind them.
UPDATE limits SET used_at = :now WHERE name IN (
    SELECT name FROM limits WHERE used_at < :before ORDER BY used_at LIMIT :limit
)

-- name: list_limits
-- The limits of keys, by name.
SELECT {limit}, (
    SELECT count(*) FROM jobs WHERE rate_key = limits.name AND state = 'available'
)
FROM limits WHERE name >= :low AND name < :high ORDER BY name LIMIT :limit OFFSET :offset

-- name: count_limits
-- How many there are.
SELECT count(*) FROM limits WHERE name >= :low AND name < :high

-- name: one_limit
-- One of them.
SELECT {limit}, (
    SELECT count(*) FROM jobs WHERE rate_key = limits.name AND state = 'available'
)
FROM limits WHERE name = :name
