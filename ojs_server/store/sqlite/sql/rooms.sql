-- fragment: run_by_worker
-- The kinds of rooms that a worker runs.
FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id = :worker_id AND job_kinds.queue IS NOT NULL

-- name: oldest_lanes
-- Of what a worker runs, where a job waits: whose head was there first comes first.
SELECT queue, type, head FROM (
    SELECT job_kinds.queue, job_kinds.type, (
        SELECT jobs.seq FROM jobs WHERE {of_kind} AND {in_time}
    ) AS head
    {run_by_worker}
)
WHERE head IS NOT NULL ORDER BY head

-- name: oldest_lanes_of_tenant
-- List the queues and types that a worker runs, by the oldest available job of a tenant in each.
SELECT queue, type, head FROM (
    SELECT job_kinds.queue, job_kinds.type, (
        SELECT jobs.seq FROM jobs WHERE {of_kind} AND jobs.tenant = :tenant AND {in_time}
    ) AS head
    {run_by_worker}
)
WHERE head IS NOT NULL ORDER BY head
