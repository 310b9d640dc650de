-- name: load_workers
-- Lock workers by id.
-- row: id text
-- returns: Worker
SELECT {Worker} FROM workers WHERE id = ANY ({list}) ORDER BY id FOR UPDATE

-- name: load_all_workers
-- Lock everyone who is not gone.
-- returns: Worker
SELECT {Worker} FROM workers WHERE gone_at IS NULL ORDER BY id FOR UPDATE

-- name: load_silent_workers
-- Those who have not been heard of since a moment, without those that another node is busy with.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE gone_at IS NULL AND alive_at IS NOT NULL AND alive_at <= %(before)s::int8
ORDER BY alive_at LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: load_dropped_workers
-- Those who lack a session since a moment and have not been heard of after it, but for those that
-- another node is busy with.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE gone_at IS NULL AND dropped_at <= %(before)s::int8 AND dropped_at >= alive_at
ORDER BY dropped_at LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: delete_workers
-- Those who went long ago, and fetch-only ones that were not seen for as long.
DELETE FROM workers WHERE id = ANY (ARRAY(
    SELECT id FROM workers
    WHERE deleted_at <= %(before)s::int8 OR (deleted_at IS NULL AND (
        gone_at <= %(before)s::int8
        OR (gone_at IS NULL AND alive_at IS NULL AND seen_at <= %(before)s::int8)
    ))
    LIMIT %(limit)s::int8 FOR UPDATE SKIP LOCKED
))

-- name: load_changed_workers
-- Those of whom less was told than has become of them, without those that another node is busy with.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE deleted_at IS NULL AND (
    (presence = 'online' AND COALESCE(alive_at, seen_at) <= %(unreachable)s::int8)
    OR (presence <> 'offline' AND COALESCE(alive_at, seen_at) <= %(offline)s::int8)
    OR COALESCE(alive_at, seen_at) <= %(deleted)s::int8
)
ORDER BY id LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: load_offline_workers
-- Those who have been silent or gone since a moment, without those that another node is busy with.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE deleted_at IS NULL
    AND (COALESCE(alive_at, seen_at) <= %(silent)s::int8 OR gone_at <= %(gone)s::int8)
ORDER BY id LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: some_workers
-- These workers.
-- row: id text
-- returns: Worker
SELECT {Worker} FROM workers WHERE id = ANY ({list}) ORDER BY created_at DESC, id

-- name: held_by
-- Which jobs each of these workers holds.
-- row: worker_id text
SELECT worker_id, job_id FROM leases WHERE worker_id = ANY ({list}) ORDER BY job_id
