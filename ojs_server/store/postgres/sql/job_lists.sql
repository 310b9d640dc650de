-- fragment: id_page
-- A part of a list by id. The floor ends the look through what is not wanted.
id < %(after)s::text AND id >= %(floor)s::text AND {wanted} AND {searched}
ORDER BY id DESC LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- fragment: listed
-- What a part says of a job.
id, CASE WHEN %(with_meta)s::boolean THEN meta END,
CASE WHEN %(tagged)s::text IS NOT NULL THEN spec END

-- fragment: searched
-- What a search asks for. Of the tag only that its text is among the options.
(%(id_prefix)s::text IS NULL OR substr(id, 1, length(%(id_prefix)s::text)) = %(id_prefix)s::text)
    AND (%(tagged)s::text IS NULL OR position(convert_to(%(tagged)s::text, 'UTF8') IN spec) > 0)
    AND (
        %(text)s::text IS NULL
        OR (octet_length(args) <= %(most)s::int8 AND position(convert_to(%(text)s::text, 'UTF8') IN args) > 0)
        OR (octet_length(meta) <= %(most)s::int8 AND position(convert_to(%(text)s::text, 'UTF8') IN meta) > 0)
    )

-- fragment: parked
-- The states that the index of lists has.
state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded')

-- fragment: unique_held
-- What the index of unique keys has.
unique_key IS NOT NULL AND state IN ('scheduled', 'available', 'pending', 'active', 'retryable')

-- name: jobs_by_state
-- The same of one state.
SELECT {listed} FROM jobs WHERE {parked} AND state = %(state)s::text AND {id_page}

-- name: jobs_by_queue
-- The same of one queue and state.
SELECT {listed} FROM jobs WHERE {parked} AND queue = %(queue)s::text AND state = %(state)s::text AND {id_page}

-- name: jobs_by_tenant
-- The same of one tenant.
SELECT {listed} FROM jobs WHERE tenant = %(tenant)s::text AND {id_page}

-- name: jobs_ended_by
-- Jobs that ended with a worker, newest first.
SELECT id FROM jobs WHERE ended_by = %(worker)s::text AND strpos(%(states)s::text, ',' || state || ',') > 0
    AND id >= %(floor)s::text
ORDER BY id DESC LIMIT %(limit)s::int8

-- name: floor_newest
-- Where a look of so many jobs ends.
SELECT id FROM jobs WHERE id < %(after)s::text ORDER BY id DESC LIMIT 1 OFFSET %(look)s::int8

-- name: floor_by_state
-- The same of one state.
SELECT id FROM jobs WHERE {parked} AND state = %(state)s::text AND id < %(after)s::text
ORDER BY id DESC LIMIT 1 OFFSET %(look)s::int8

-- name: floor_by_queue
-- The same of one queue and state.
SELECT id FROM jobs WHERE {parked} AND queue = %(queue)s::text AND state = %(state)s::text AND id < %(after)s::text
ORDER BY id DESC LIMIT 1 OFFSET %(look)s::int8

-- name: floor_by_tenant
-- The same of one tenant.
SELECT id FROM jobs WHERE tenant = %(tenant)s::text AND id < %(after)s::text
ORDER BY id DESC LIMIT 1 OFFSET %(look)s::int8

-- name: floor_by_key
-- The same of those that hold a unique key.
SELECT id FROM jobs WHERE {unique_held} AND id < %(after)s::text ORDER BY id DESC LIMIT 1 OFFSET %(look)s::int8

-- name: scheduled_first
-- Scheduled jobs, the one whose time comes first at the top.
SELECT scheduled_at, {listed} FROM jobs
WHERE state = 'scheduled' AND (scheduled_at, id) > (%(after_at)s::int8, %(after)s::text)
    AND (scheduled_at, id) <= (%(floor_at)s::int8, %(floor)s::text) AND {wanted} AND {searched}
ORDER BY scheduled_at, id LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- name: floor_scheduled_first
-- The place at which a look of so many of them ends.
SELECT scheduled_at, id FROM jobs
WHERE state = 'scheduled' AND (scheduled_at, id) > (%(after_at)s::int8, %(after)s::text)
ORDER BY scheduled_at, id LIMIT 1 OFFSET %(look)s::int8

-- name: scheduled_last
-- Scheduled jobs, the one whose time comes last at the top.
SELECT scheduled_at, {listed} FROM jobs
WHERE state = 'scheduled' AND (scheduled_at, id) < (%(after_at)s::int8, %(after)s::text)
    AND (scheduled_at, id) >= (%(floor_at)s::int8, %(floor)s::text) AND {wanted} AND {searched}
ORDER BY scheduled_at DESC, id DESC LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- name: floor_scheduled_last
-- The place at which a look of so many of them ends.
SELECT scheduled_at, id FROM jobs
WHERE state = 'scheduled' AND (scheduled_at, id) < (%(after_at)s::int8, %(after)s::text)
ORDER BY scheduled_at DESC, id DESC LIMIT 1 OFFSET %(look)s::int8
