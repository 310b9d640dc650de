-- name: insert_jobs
-- New jobs; an id that exists is left alone and not answered.
-- changes: jobs
-- row: StoredJob(*, job.gated)
INSERT INTO jobs ({columns})
{rows} ON CONFLICT (id) DO NOTHING RETURNING id

-- name: load_jobs
-- Lock jobs.
-- differs: leases are read by another statement; this one would show them as they were before it
--     waited for a lock.
-- row: id text
-- returns: Job
SELECT {Job} FROM jobs WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: lock_unique
-- Lock unique keys. A second transaction waits here for the end of the first one, although that one
-- deletes its rows again at once: until it ends, others cannot tell whether they exist.
-- changes: unique_locks
-- row: unique_key bytea
INSERT INTO unique_locks ({columns})
{rows}

-- name: unlock_unique
-- So that nothing is left of a lock but its wait.
-- changes: unique_locks
-- row: unique_key bytea
DELETE FROM unique_locks WHERE unique_key IN ({list})

-- name: find_unique
-- For each fingerprint and state the newest job, found by one look into the index.
-- differs: SQLite has no lateral joins.
-- row: unique_key bytea, state text
-- returns: Keyed
SELECT {Keyed}
FROM ({rows}) AS wanted
CROSS JOIN LATERAL (
    SELECT * FROM jobs
    WHERE unique_key = wanted.unique_key AND state = wanted.state
    ORDER BY created_at DESC, id DESC LIMIT 1
) AS jobs

-- name: load_due
-- The jobs that are due, from the floor of due moments on, without those that another node has locked.
-- differs: it begins at the floor.
-- returns: Job
SELECT {Job} FROM jobs WHERE due_at >= :since AND due_at <= :now ORDER BY due_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- fragment: claimable
-- In the words of the claim's indexes, or they would not be used.
state = 'available' AND NOT gated AND queue = span.queue AND {not_later}

-- fragment: not_later
-- Jobs that a transaction with a higher number has just made available are left to the next claim:
-- the log would tell the start first. Retries that go behind all others are far above any number.
(seq < :upto OR seq >= 4611686018427387904)

-- fragment: above_floor
-- A span of one priority: the floor that the node remembers, or what came back below it since.
span.floor IS NOT NULL AND priority = span.bottom AND seq >= LEAST(
    span.floor,
    (SELECT min(seq) FROM lowered WHERE queue = span.queue AND priority = span.bottom)
)

-- fragment: between_floors
-- A span of priorities of which the node remembers nothing.
span.floor IS NULL AND priority <= span.top AND priority >= span.bottom

-- fragment: spans
-- The queues in the order wanted, each in spans of priorities, highest first.
unnest(
    :queues, :tops, :bottoms, :floors
) WITH ORDINALITY AS span (queue, top, bottom, floor, place)

-- fragment: lowered
-- Positions below floors that became available since this node has looked.
SELECT queue, priority, seq FROM returns WHERE pos >= :since

-- fragment: not_over
-- Neither is the job expired nor its queue paused.
(expires_at IS NULL OR expires_at > :now)
    AND NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = span.queue)

-- name: claim
-- Hand out: the queues in the order wanted, each read in the order of its index and no further
-- than the limit, so that no job is locked that is not taken. Positions below a floor are left out:
-- nothing waits there, but an old snapshot may keep index entries there that each claim would read
-- again. `{most}` stands for a number that is not less than the limit: a plan that is kept is for any
-- limit, and would expect a tenth of all.
-- differs: it locks jobs as it reads them, and begins at floors.
-- changes: jobs
-- returns: Claimed
WITH lowered AS MATERIALIZED (
    {lowered}
), picked AS MATERIALIZED (
    SELECT job.id
    FROM {spans}
    CROSS JOIN LATERAL (
        SELECT id FROM (
            SELECT id FROM (
                SELECT id FROM jobs WHERE {claimable} AND {between_floors} AND {not_over}
                ORDER BY priority DESC, seq
                LIMIT {most} FOR UPDATE SKIP LOCKED
            ) AS unknown
            UNION ALL
            SELECT id FROM (
                SELECT id FROM jobs WHERE {claimable} AND {above_floor} AND {not_over}
                ORDER BY seq
                LIMIT {most} FOR UPDATE SKIP LOCKED
            ) AS known
        ) AS first
        LIMIT :limit
    ) AS job
    ORDER BY span.place
    LIMIT :limit
)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
FROM picked WHERE jobs.id = picked.id
RETURNING {Claimed}

-- name: claim_types
-- Claim jobs of some types: a queue's types are merged in the queue's order. Each job found is
-- looked at once more by its id, with the state in a form that fits no other index. The order is
-- that of the jobs before they are locked, so that none is locked only to be sorted out. Planned
-- anew for each call: a generic plan reads a queue to its end for a rare type.
-- differs: as for `claim`.
-- changes: jobs
-- lane: (
--     SELECT id, priority, seq FROM jobs
--     WHERE {claimable} AND {between_floors} AND type = (:types)[{n}]
--     ORDER BY priority DESC, seq
-- )
-- other_lane: (
--     SELECT id, seq FROM jobs
--     WHERE {claimable} AND {above_floor} AND type = (:types)[{n}]
--     ORDER BY seq
-- )
-- returns: Claimed
WITH lowered AS MATERIALIZED (
    {lowered}
), picked AS MATERIALIZED (
    SELECT job.id
    FROM {spans}
    CROSS JOIN LATERAL (
        SELECT found.id FROM (
            SELECT id FROM (
                SELECT id FROM ({lanes}) AS lane ORDER BY priority DESC, seq
            ) AS unknown
            UNION ALL
            SELECT id FROM (SELECT id FROM ({other_lanes}) AS lane ORDER BY seq) AS known
        ) AS next
        CROSS JOIN LATERAL (
            SELECT id FROM jobs
            WHERE id = next.id AND state || '' = 'available' AND NOT gated
                AND (expires_at IS NULL OR expires_at > :now)
            FOR UPDATE SKIP LOCKED
        ) AS found
        WHERE NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = span.queue)
        LIMIT :limit
    ) AS job
    ORDER BY span.place
    LIMIT :limit
)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
FROM picked WHERE jobs.id = picked.id
RETURNING {Claimed}

-- name: next_due
-- Return when housekeeping has something to do, by kind, from the floors of due moments on.
-- differs: it begins at floors.
-- returns: DueTimes
SELECT
    (SELECT min(due_at) FROM jobs WHERE due_at >= :jobs::int8) AS job,
    least(
        (SELECT min(expires_at) FROM leases WHERE expires_at >= :leases),
        (SELECT min(deadline_at) FROM leases WHERE deadline_at >= :leases)
    ) AS lease,
    (SELECT min(alive_at) FROM workers WHERE gone_at IS NULL) AS worker,
    least(
        (SELECT min(next_run_at) FROM cron WHERE next_run_at IS NOT NULL),
        (SELECT 0::int8 WHERE EXISTS (SELECT FROM cron WHERE held > 0 AND {free}))
    ) AS cron,
    (SELECT min(opens_at) FROM limits WHERE opens_at IS NOT NULL) AS limit,
    (SELECT min(dropped_at) FROM workers WHERE gone_at IS NULL AND dropped_at >= alive_at) AS dropped

-- name: lock_jobs
-- Only lock, for a batch that will come back to them.
-- row: id text
SELECT 1 FROM jobs WHERE id IN ({list}) ORDER BY id FOR UPDATE
