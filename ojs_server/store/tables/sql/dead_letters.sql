-- name: mark_dead
-- Store the columns by which discarded jobs are found and counted.
-- changes: jobs
-- row: Mark
UPDATE jobs SET error_type = mark.error_type, kept = mark.kept
FROM ({rows}) AS mark WHERE jobs.id = mark.job_id

-- name: dead_letters
-- List discarded jobs, newest first.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE state = 'discarded' AND {dead_page}

-- name: count_dead_letters
-- Count discarded jobs.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND {wanted}

-- name: dead_letter_ages
-- Return when the first and the last job were discarded.
SELECT
    (SELECT min(finished_at) FROM jobs WHERE state = 'discarded'),
    (SELECT max(finished_at) FROM jobs WHERE state = 'discarded')

-- name: dead_letters_by_queue
-- Count the discarded jobs of each queue.
SELECT queue, count(*) FROM jobs WHERE state = 'discarded' GROUP BY queue ORDER BY queue

-- name: override_jobs
-- Store the members of jobs that a retry overrides.
-- changes: jobs
-- row: StoredJob(
--     job.id, job.queue, job.max_attempts, job.spec, args, meta, unique_key, job.demand
-- )
UPDATE jobs SET
    queue = job.queue, max_attempts = job.max_attempts, spec = job.spec, args = job.args,
    meta = job.meta, unique_key = job.unique_key, demand = job.demand
FROM ({rows}) AS job
WHERE jobs.id = job.id

-- name: full_queues
-- List queues that may keep more discarded jobs than allowed. Their counters include jobs to which
-- no limit applies.
SELECT queue, sum(discarded) FROM queue_counts WHERE strpos(queue, '/') = 0
GROUP BY queue HAVING sum(discarded) > :most ORDER BY queue

-- name: surplus_from
-- Find the newest discarded job of a queue that is over its limit.
SELECT finished_at, id FROM jobs
WHERE state = 'discarded' AND kept AND queue = :queue
ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET :most

-- name: load_surplus
-- Lock the oldest discarded jobs of a queue, up to that one, except those that another node has
-- locked.
-- returns: Job
SELECT {Job} FROM jobs
WHERE state = 'discarded' AND kept AND queue = :queue AND (finished_at, id) <= (:end, :last)
ORDER BY finished_at, id LIMIT :limit
FOR UPDATE SKIP LOCKED

-- fragment: wanted
-- The conditions of a filter, except the one that selects the index.
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
-- The order of a page, from a position on.
(finished_at, id) < (:end, :last) AND {wanted}
ORDER BY finished_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: dead_letters_of_queue
-- List the discarded jobs of one queue, newest first.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE state = 'discarded' AND queue = :queue AND {dead_page}

-- name: dead_letters_of_error
-- List the discarded jobs with one type of error, newest first.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs
WHERE state = 'discarded' AND error_type = :error_type AND {dead_page}

-- name: dead_letters_of_tenant
-- List the discarded jobs of one tenant, newest first.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs
WHERE state = 'discarded' AND tenant = :tenant AND {dead_page}

-- name: count_dead_letters_of_queue
-- Count the discarded jobs of one queue.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND queue = :queue AND {wanted}

-- name: count_dead_letters_of_error
-- Count the discarded jobs with one type of error.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND error_type = :error_type AND {wanted}

-- name: count_dead_letters_of_tenant
-- Count the discarded jobs of one tenant.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND tenant = :tenant AND {wanted}

-- name: dead_letter_groups
-- Count the newest discarded jobs by job type and error, largest groups first.
WITH newest AS (
    SELECT type, error_type, finished_at, id FROM jobs WHERE state = 'discarded'
    ORDER BY finished_at DESC, id DESC LIMIT :look
)
SELECT type, error_type, count(*), max(finished_at), max(id) FROM newest
GROUP BY type, error_type ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT :limit

-- name: dead_letters_by_error
-- Count the discarded jobs of each type of error. Limited, because workers choose the types of
-- errors.
SELECT error_type, count(*) FROM jobs
WHERE state = 'discarded' GROUP BY error_type ORDER BY 2 DESC, 1 LIMIT :limit
