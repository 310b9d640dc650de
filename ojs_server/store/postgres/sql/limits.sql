-- name: release_gated
-- Let the next jobs of keys into the claim's index, some of each queue and type. It waits for
-- no transaction that has one of them locked, since that may wait for the key; the answer names what
-- is left.
-- differs: it takes many keys in one round trip, and notes what it makes available.
-- changes: jobs, returns
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
    SELECT :pos, queue, priority, min(seq), :now FROM opened
    GROUP BY queue, priority
)
SELECT shut.name, shut.id AS job_id, shut.queue, opened.id IS NOT NULL AS done
FROM shut LEFT JOIN opened ON opened.id = shut.id
