-- name: jobs_newest
-- Jobs of any state, newest first.
SELECT {listed} FROM jobs WHERE {id_page}

-- name: jobs_by_key
-- Jobs that hold a unique key.
SELECT {listed} FROM jobs WHERE {unique_held} AND {id_page}

-- name: jobs_held
-- Jobs that workers hold.
SELECT {listed} FROM jobs WHERE id IN (SELECT job_id FROM leases) AND {id_page}
