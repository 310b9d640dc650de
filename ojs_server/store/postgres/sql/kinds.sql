-- name: kind_counts
-- Count the kinds that each worker runs.
-- differs: a plain join reads all kinds here.
-- row: worker_id text
SELECT worker_kinds.worker_id, count(*) FROM worker_kinds
CROSS JOIN LATERAL (
    SELECT 1 FROM job_kinds
    WHERE job_kinds.room = worker_kinds.room AND job_kinds.name = worker_kinds.name
        AND job_kinds.deleted_at IS NULL
    LIMIT 1
) AS kind
WHERE worker_kinds.worker_id IN ({list})
GROUP BY worker_kinds.worker_id
