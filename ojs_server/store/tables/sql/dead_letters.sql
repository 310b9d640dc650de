-- name: mark_dead
-- What discarded jobs are found and counted by.
-- row: Mark
UPDATE jobs SET error_type = mark.error_type, kept = mark.kept
FROM ({rows}) AS mark WHERE jobs.id = mark.job_id

-- name: dead_letters
-- Discarded jobs, newest first.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE state = 'discarded' AND {dead_page}

-- name: count_dead_letters
-- How many of them there are.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND {wanted}

-- name: dead_letter_ages
-- When the first and the last of them were discarded.
SELECT
    (SELECT min(finished_at) FROM jobs WHERE state = 'discarded'),
    (SELECT max(finished_at) FROM jobs WHERE state = 'discarded')

-- name: dead_letters_by_queue
-- How many each queue has.
SELECT queue, count(*) FROM jobs WHERE state = 'discarded' GROUP BY queue ORDER BY queue

-- name: override_jobs
-- What a retry changes about jobs.
-- row: StoredJob(
--     job.id, job.queue, job.max_attempts, job.spec, args, meta, unique_key, job.demand
-- )
UPDATE jobs SET
    queue = job.queue, max_attempts = job.max_attempts, spec = job.spec, args = job.args,
    meta = job.meta, unique_key = job.unique_key, demand = job.demand
FROM ({rows}) AS job
WHERE jobs.id = job.id

-- name: full_queues
-- Queues that may keep too many: the counters count those as well that no limit does.
SELECT queue, sum(discarded) FROM queue_counts WHERE strpos(queue, '/') = 0
GROUP BY queue HAVING sum(discarded) > :most ORDER BY queue

-- name: surplus_from
-- The newest of a queue that is one too many.
SELECT finished_at, id FROM jobs
WHERE state = 'discarded' AND kept AND queue = :queue
ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET :most

-- name: load_surplus
-- The oldest of a queue, up to that one, without what another node is busy with.
-- returns: Job
SELECT {Job} FROM jobs
WHERE state = 'discarded' AND kept AND queue = :queue AND (finished_at, id) <= (:end, :last)
ORDER BY finished_at, id LIMIT :limit
FOR UPDATE SKIP LOCKED

-- fragment: wanted
-- What a filter asks for, besides what leads into the index.
(:queue IS NULL OR queue = :queue) AND (:type IS NULL OR type = :type)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:prefix IS NULL OR substr(type, 1, length(:prefix)) = :prefix)
    AND (:states IS NULL OR strpos(:states, ',' || state || ',') > 0)
    AND (:priority IS NULL OR priority = :priority)
    AND (:since IS NULL OR created_at >= :since) AND (:until IS NULL OR created_at < :until)
    AND (:ended_since IS NULL OR finished_at >= :ended_since)
    AND (:ended_until IS NULL OR finished_at < :ended_until)
    AND (:error_type IS NULL OR (state = 'discarded' AND error_type = :error_type))

-- fragment: dead_page
-- A page from a place on.
(finished_at, id) < (:end, :last) AND {wanted}
ORDER BY finished_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: dead_letters_of_queue
-- The same of one queue.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE state = 'discarded' AND queue = :queue AND {dead_page}

-- name: dead_letters_of_error
-- The same of one type of error.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs
WHERE state = 'discarded' AND error_type = :error_type AND {dead_page}

-- name: dead_letters_of_tenant
-- The same of one tenant.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs
WHERE state = 'discarded' AND tenant = :tenant AND {dead_page}

-- name: count_dead_letters_of_queue
-- The same of one queue.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND queue = :queue AND {wanted}

-- name: count_dead_letters_of_error
-- The same of one type of error.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND error_type = :error_type AND {wanted}

-- name: count_dead_letters_of_tenant
-- The same of one tenant.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND tenant = :tenant AND {wanted}

-- name: dead_letter_groups
-- The largest groups of the newest ones, by job type and error.
WITH newest AS (
    SELECT type, error_type, finished_at, id FROM jobs WHERE state = 'discarded'
    ORDER BY finished_at DESC, id DESC LIMIT :look
)
SELECT type, error_type, count(*), max(finished_at), max(id) FROM newest
GROUP BY type, error_type ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT :limit

-- name: dead_letters_by_error
-- How many each type of error has, the most frequent ones: workers invent them.
SELECT error_type, count(*) FROM jobs
WHERE state = 'discarded' GROUP BY error_type ORDER BY 2 DESC, 1 LIMIT :limit
