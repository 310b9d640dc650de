-- name: jobs_newest
-- List jobs of any state, newest first.
SELECT {listed} FROM jobs WHERE {id_page}

-- name: jobs_by_key
-- List jobs that hold a unique key, newest first.
SELECT {listed} FROM jobs WHERE {unique_held} AND {id_page}

-- name: jobs_held
-- List jobs that workers hold, newest first.
SELECT {listed} FROM jobs WHERE id IN (SELECT job_id FROM leases) AND {id_page}

-- name: jobs_held_by
-- List the jobs that a worker holds, newest first.
SELECT {listed} FROM jobs
WHERE id IN (SELECT job_id FROM leases WHERE worker_id = :worker) AND {id_page}

-- fragment: id_page
-- The order of a page by id. The floor is where a search for rare matches stops.
id < :after AND id >= :floor AND {wanted} AND {searched}
ORDER BY id DESC LIMIT :limit OFFSET :offset

-- fragment: listed
-- The columns of a listed job.
id, CASE WHEN :with_meta THEN {json:meta} END,
CASE WHEN :tagged IS NOT NULL THEN {json:spec} END

-- name: jobs_by_state
-- List jobs of one state, newest first.
SELECT {listed} FROM jobs WHERE {parked} AND state = :state AND {id_page}

-- name: jobs_by_queue
-- List jobs of one queue and state, newest first.
SELECT {listed} FROM jobs INDEXED BY jobs_parked_queue
WHERE {parked} AND queue = :queue AND state = :state AND {id_page}

-- name: jobs_by_tenant
-- List jobs of one tenant, newest first.
SELECT {listed} FROM jobs WHERE tenant = :tenant AND {id_page}

-- name: jobs_ended_by
-- List jobs that ended with a worker, newest first.
SELECT id FROM jobs WHERE ended_by = :worker AND strpos(:states, ',' || state || ',') > 0
    AND id >= :floor
ORDER BY id DESC LIMIT :limit

-- name: floor_newest
-- Find the id at which a search through `look` jobs stops.
SELECT id FROM jobs WHERE id < :after ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_state
-- Find the id at which a search through `look` jobs of one state stops.
SELECT id FROM jobs WHERE {parked} AND state = :state AND id < :after
ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_queue
-- Find the id at which a search through `look` jobs of one queue and state stops.
SELECT id FROM jobs WHERE {parked} AND queue = :queue AND state = :state AND id < :after
ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_tenant
-- Find the id at which a search through `look` jobs of one tenant stops.
SELECT id FROM jobs WHERE tenant = :tenant AND id < :after
ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: floor_by_key
-- Find the id at which a search through `look` jobs with a unique key stops.
SELECT id FROM jobs WHERE {unique_held} AND id < :after ORDER BY id DESC LIMIT 1 OFFSET :look

-- name: scheduled_first
-- List scheduled jobs, the earliest first.
SELECT scheduled_at, {listed} FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) > (:after_at, :after)
    AND (scheduled_at, id) <= (:floor_at, :floor) AND {wanted} AND {searched}
ORDER BY scheduled_at, id LIMIT :limit OFFSET :offset

-- name: floor_scheduled_first
-- Find the place at which a search through `look` scheduled jobs stops, earliest first.
SELECT scheduled_at, id FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) > (:after_at, :after)
ORDER BY scheduled_at, id LIMIT 1 OFFSET :look

-- name: scheduled_last
-- List scheduled jobs, the latest first.
SELECT scheduled_at, {listed} FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) < (:after_at, :after)
    AND (scheduled_at, id) >= (:floor_at, :floor) AND {wanted} AND {searched}
ORDER BY scheduled_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: floor_scheduled_last
-- Find the place at which a search through `look` scheduled jobs stops, latest first.
SELECT scheduled_at, id FROM jobs INDEXED BY jobs_scheduled
WHERE state = 'scheduled' AND (scheduled_at, id) < (:after_at, :after)
ORDER BY scheduled_at DESC, id DESC LIMIT 1 OFFSET :look
