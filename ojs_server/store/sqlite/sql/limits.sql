-- name: release_gated
-- Let the next jobs of a key into the claim's index, some of each queue and type.
-- changes: jobs
-- returns: Released
WITH RECURSIVE heads (head) AS (
    SELECT (
        SELECT id FROM jobs WHERE rate_key = :name AND state = 'available'
        ORDER BY queue, type LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT later.id FROM jobs AS later
        WHERE later.rate_key = :name AND later.state = 'available'
            AND (later.queue, later.type) > (here.queue, here.type)
        ORDER BY later.queue, later.type LIMIT 1
    )
    FROM heads JOIN jobs AS here ON here.id = heads.head
)
UPDATE jobs SET gated = 0
WHERE gated = 1 AND id IN (
    SELECT first.id
    FROM heads JOIN jobs AS here ON here.id = heads.head
    JOIN jobs AS first ON first.id IN (
        SELECT same.id FROM jobs AS same
        WHERE same.rate_key = :name AND same.state = 'available'
            AND same.queue = here.queue AND same.type = here.type
        ORDER BY same.priority DESC, same.seq LIMIT :limit
    )
)
RETURNING rate_key AS name, id AS job_id, queue, 1 AS done
