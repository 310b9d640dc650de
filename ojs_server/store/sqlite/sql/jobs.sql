-- name: load_jobs
-- Jobs with the leases on them.
-- row: id text
-- returns: Leased
SELECT {Leased} FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id WHERE jobs.id IN ({list})

-- name: find_unique
-- For each fingerprint and state the newest job, found by one look into the index.
-- row: unique_key bytea, state text
-- returns: Keyed
SELECT {Keyed} FROM jobs WHERE id IN (
    SELECT (
        SELECT same.id FROM jobs AS same
        WHERE same.unique_key = wanted.unique_key AND same.state = wanted.state
        ORDER BY same.created_at DESC, same.id DESC LIMIT 1
    )
    FROM ({rows}) AS wanted
)

-- name: load_due
-- Load jobs that are due, the earliest first.
-- returns: Job
SELECT {Job} FROM jobs WHERE due_at <= :now ORDER BY due_at LIMIT :limit

-- name: claim
-- Hand out: each lane is one queue (or queue and type), in the order wanted.
-- changes: jobs
-- lane: SELECT * FROM (
--     SELECT {lane} AS lane, id, priority, seq FROM jobs
--     WHERE state = 'available' AND gated = 0 AND queue = :queue{lane}
--         AND (expires_at IS NULL OR expires_at > :now)
--         AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue{lane} AND paused)
--     ORDER BY priority DESC, seq LIMIT :limit
-- )
-- returns: Claimed
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE id IN (SELECT id FROM ({lanes}) ORDER BY lane, priority DESC, seq LIMIT :limit)
RETURNING {Claimed}

-- name: claim_types
-- Claim jobs of some types: a lane is one queue and one type.
-- changes: jobs
-- lane: SELECT * FROM (
--     SELECT {lane} AS lane, id, priority, seq FROM jobs
--     WHERE state = 'available' AND gated = 0 AND queue = :queue{lane} AND type = :type{n}
--         AND (expires_at IS NULL OR expires_at > :now)
--         AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue{lane} AND paused)
--     ORDER BY priority DESC, seq LIMIT :limit
-- )
-- returns: Claimed
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE id IN (SELECT id FROM ({lanes}) ORDER BY lane, priority DESC, seq LIMIT :limit)
RETURNING {Claimed}

-- name: next_due
-- Return when housekeeping has something to do, by kind.
-- returns: DueTimes
SELECT
    (SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL) AS job,
    (SELECT min(moment) FROM (
        SELECT min(expires_at) AS moment FROM leases
        UNION ALL
        SELECT min(deadline_at) FROM leases WHERE deadline_at IS NOT NULL
    )) AS lease,
    (SELECT min(alive_at) FROM workers WHERE gone_at IS NULL AND alive_at IS NOT NULL) AS worker,
    (SELECT min(moment) FROM (
        SELECT min(next_run_at) AS moment FROM cron WHERE next_run_at IS NOT NULL
        UNION ALL
        SELECT 0 WHERE EXISTS (SELECT 1 FROM cron WHERE held > 0 AND {free})
    )) AS cron,
    (SELECT min(opens_at) FROM limits WHERE opens_at IS NOT NULL) AS "limit",
    (SELECT min(dropped_at) FROM workers WHERE gone_at IS NULL AND dropped_at >= alive_at) AS dropped
