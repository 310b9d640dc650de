-- name: load_workers
-- Workers by id.
-- row: id text
-- returns: Worker
SELECT {Worker} FROM workers WHERE id IN ({list})

-- name: load_all_workers
-- Everyone who is not gone.
-- returns: Worker
SELECT {Worker} FROM workers WHERE gone_at IS NULL ORDER BY id

-- name: load_silent_workers
-- Those who have not been heard of since a moment.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE gone_at IS NULL AND alive_at IS NOT NULL AND alive_at <= :before
ORDER BY alive_at LIMIT :limit

-- name: load_dropped_workers
-- Those who lack a session since a moment and have not been heard of after it.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE gone_at IS NULL AND dropped_at <= :before AND dropped_at >= alive_at
ORDER BY dropped_at LIMIT :limit

-- name: delete_workers
-- Those who went long ago, and fetch-only ones that were not seen for as long.
DELETE FROM workers WHERE id IN (
    SELECT id FROM workers
    WHERE deleted_at <= :before OR (deleted_at IS NULL AND (
        gone_at <= :before OR (gone_at IS NULL AND alive_at IS NULL AND seen_at <= :before)
    ))
    LIMIT :limit
)

-- name: load_changed_workers
-- Those of whom less was told than has become of them.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE deleted_at IS NULL AND (
    (presence = 'online' AND COALESCE(alive_at, seen_at) <= :unreachable)
    OR (presence <> 'offline' AND COALESCE(alive_at, seen_at) <= :offline)
    OR COALESCE(alive_at, seen_at) <= :deleted
)
ORDER BY id LIMIT :limit

-- name: load_offline_workers
-- Those who have been silent or gone since a moment.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE deleted_at IS NULL AND (COALESCE(alive_at, seen_at) <= :silent OR gone_at <= :gone)
ORDER BY id LIMIT :limit

-- name: some_workers
-- These workers.
-- row: id text
-- returns: Worker
SELECT {Worker} FROM workers WHERE id IN ({list}) ORDER BY created_at DESC, id

-- name: held_by
-- Which jobs each of these workers holds.
-- row: worker_id text
SELECT worker_id, job_id FROM leases WHERE worker_id IN ({list}) ORDER BY job_id
