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
SELECT queue, sum(discarded) FROM queue_counts WHERE position('/' IN queue) = 0
GROUP BY queue HAVING sum(discarded) > %(most)s::int8 ORDER BY queue

-- name: surplus_from
-- The newest of a queue that is one too many.
SELECT finished_at, id FROM jobs
WHERE state = 'discarded' AND kept AND queue = %(queue)s::text
ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET %(most)s::int8

-- name: load_surplus
-- The oldest of a queue, up to that one, without what another node is busy with.
-- returns: Job
SELECT {Job} FROM jobs
WHERE state = 'discarded' AND kept AND queue = %(queue)s::text AND (finished_at, id) <= (%(end)s::int8, %(last)s::text)
ORDER BY finished_at, id LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- fragment: wanted
-- What a filter asks for, besides what leads into the index.
(%(queue)s::text IS NULL OR queue = %(queue)s::text) AND (%(type)s::text IS NULL OR type = %(type)s::text)
    AND (%(tenant)s::text IS NULL OR tenant = %(tenant)s::text)
    AND (%(prefix)s::text IS NULL OR substr(type, 1, length(%(prefix)s::text)) = %(prefix)s::text)
    AND (%(states)s::text IS NULL OR position(',' || state || ',' IN %(states)s::text) > 0)
    AND (%(priority)s::int8 IS NULL OR priority = %(priority)s::int8)
    AND (%(since)s::int8 IS NULL OR created_at >= %(since)s::int8) AND (%(until)s::int8 IS NULL OR created_at < %(until)s::int8)
    AND (%(ended_since)s::int8 IS NULL OR finished_at >= %(ended_since)s::int8)
    AND (%(ended_until)s::int8 IS NULL OR finished_at < %(ended_until)s::int8)
    AND (%(error_type)s::text IS NULL OR (state = 'discarded' AND error_type = %(error_type)s::text))

-- fragment: dead_page
-- A page from a place on.
(finished_at, id) < (%(end)s::int8, %(last)s::text) AND {wanted}
ORDER BY finished_at DESC, id DESC LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- name: dead_letters_of_queue
-- The same of one queue.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE state = 'discarded' AND queue = %(queue)s::text AND {dead_page}

-- name: dead_letters_of_error
-- The same of one type of error.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs
WHERE state = 'discarded' AND error_type = %(error_type)s::text AND {dead_page}

-- name: dead_letters_of_tenant
-- The same of one tenant.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs
WHERE state = 'discarded' AND tenant = %(tenant)s::text AND {dead_page}

-- name: count_dead_letters_of_queue
-- The same of one queue.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND queue = %(queue)s::text AND {wanted}

-- name: count_dead_letters_of_error
-- The same of one type of error.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND error_type = %(error_type)s::text AND {wanted}

-- name: count_dead_letters_of_tenant
-- The same of one tenant.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND tenant = %(tenant)s::text AND {wanted}

-- name: dead_letter_groups
-- The largest groups of the newest ones, by job type and error.
WITH newest AS (
    SELECT type, error_type, finished_at, id FROM jobs WHERE state = 'discarded'
    ORDER BY finished_at DESC, id DESC LIMIT %(look)s::int8
)
SELECT type, error_type, count(*), max(finished_at), max(id) FROM newest
GROUP BY type, error_type ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT %(limit)s::int8

-- name: dead_letters_by_error
-- How many each type of error has, the most frequent ones: workers invent them.
SELECT error_type, count(*) FROM jobs
WHERE state = 'discarded' GROUP BY error_type ORDER BY 2 DESC, 1 LIMIT %(limit)s::int8
