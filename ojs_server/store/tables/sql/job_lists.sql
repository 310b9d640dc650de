-- name: jobs_newest
-- Jobs of any state, newest first.
SELECT {listed} FROM jobs WHERE {id_page}

-- name: jobs_by_key
-- Jobs that hold a unique key.
SELECT {listed} FROM jobs WHERE {unique_held} AND {id_page}

-- name: jobs_held
-- Jobs that workers hold.
SELECT {listed} FROM jobs WHERE id IN (SELECT job_id FROM leases) AND {id_page}

-- fragment: id_page
-- A part of a list by id. The floor ends the look through what is not wanted.
id < :after AND id >= :floor AND {wanted} AND {searched}
ORDER BY id DESC LIMIT :limit OFFSET :offset

-- fragment: listed
-- What a part says of a job.
id, CASE WHEN :with_meta THEN {json:meta} END,
CASE WHEN :tagged IS NOT NULL THEN {json:spec} END

-- name: jobs_by_state
-- The same of one state.
SELECT {listed} FROM jobs WHERE {parked} AND state = :state AND {id_page}

-- name: jobs_by_queue
-- The same of one queue and state.
SELECT {listed} FROM jobs INDEXED BY jobs_parked_queue
WHERE {parked} AND queue = :queue AND state = :state AND {id_page}

-- name: jobs_by_tenant
-- The same of one tenant.
SELECT {listed} FROM jobs WHERE tenant = :tenant AND {id_page}

-- name: jobs_ended_by
-- Jobs that ended with a worker, newest first.
SELECT id FROM jobs WHERE ended_by = :worker AND strpos(:states, ',' || state || ',') > 0
    AND id >= :floor
ORDER BY id DESC LIMIT :limit

-- name: floor_newest
-- Where a look of so many jobs ends.
SELECT id FROM jobs WHERE id < :after ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_state
-- The same of one state.
SELECT id FROM jobs WHERE {parked} AND state = :state AND id < :after
ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_queue
-- The same of one queue and state.
SELECT id FROM jobs WHERE {parked} AND queue = :queue AND state = :state AND id < :after
ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_tenant
-- The same of one tenant.
SELECT id FROM jobs WHERE tenant = :tenant AND id < :after
ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_key
-- The same of those that hold a unique key.
SELECT id FROM jobs WHERE {unique_held} AND id < :after ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: scheduled_first
-- Scheduled jobs, the one whose time comes first at the top.
SELECT scheduled_at, {listed} FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) > (:after_at, :after)
    AND (scheduled_at, id) <= (:floor_at, :floor) AND {wanted} AND {searched}
ORDER BY scheduled_at, id LIMIT :limit OFFSET :offset

-- name: floor_scheduled_first
-- The place at which a look of so many of them ends.
SELECT scheduled_at, id FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) > (:after_at, :after)
ORDER BY scheduled_at, id LIMIT 1 OFFSET :look

-- name: scheduled_last
-- Scheduled jobs, the one whose time comes last at the top.
SELECT scheduled_at, {listed} FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) < (:after_at, :after)
    AND (scheduled_at, id) >= (:floor_at, :floor) AND {wanted} AND {searched}
ORDER BY scheduled_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: floor_scheduled_last
-- The place at which a look of so many of them ends.
SELECT scheduled_at, id FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) < (:after_at, :after)
ORDER BY scheduled_at DESC, id DESC LIMIT 1 OFFSET :look
