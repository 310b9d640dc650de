-- name: kind_counts
-- Count the kinds that each worker runs.
-- row: worker_id text
SELECT worker_kinds.worker_id, count(*) FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id IN ({list}) AND job_kinds.deleted_at IS NULL
GROUP BY worker_kinds.worker_id
