-- name: delete_workers
-- Remove workers that left before a moment, and fetch-only ones that were last seen before it.
-- changes: workers
DELETE FROM workers WHERE id IN (
    SELECT id FROM workers
    WHERE deleted_at <= :before OR (deleted_at IS NULL AND (
        gone_at <= :before OR (gone_at IS NULL AND alive_at IS NULL AND seen_at <= :before)
    ))
    LIMIT :limit
)
