-- differs: SQLite has no lateral joins.

-- name: oldest_lanes
-- Of what a worker runs, where a job waits: whose head was there first comes first. A head that
-- another node is taking is passed over by the claim.
SELECT job_kinds.queue, job_kinds.type, head.seq
FROM worker_kinds JOIN job_kinds USING (room, name)
CROSS JOIN LATERAL (SELECT jobs.seq FROM jobs WHERE {of_kind} AND {in_time}) AS head
WHERE worker_kinds.worker_id = :worker_id
ORDER BY head.seq
