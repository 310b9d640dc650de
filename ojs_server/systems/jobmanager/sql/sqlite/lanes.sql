-- name: oldest_lanes
-- Of what a worker runs, where a job waits: whose head was there first comes first.
SELECT queue, type, head FROM (
    SELECT job_kinds.queue, job_kinds.type, (
        SELECT jobs.seq FROM jobs WHERE {of_kind} AND {in_time}
    ) AS head
    FROM worker_kinds JOIN job_kinds USING (room, name)
    WHERE worker_kinds.worker_id = :worker_id AND job_kinds.queue IS NOT NULL
)
WHERE head IS NOT NULL ORDER BY head
