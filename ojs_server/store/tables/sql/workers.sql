-- name: save_workers
-- Store new or changed workers.
-- changes: workers
-- row: Worker
INSERT INTO workers ({columns})
{rows}
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, draining = excluded.draining, directive = excluded.directive,
    incarnation = excluded.incarnation, alive_at = excluded.alive_at,
    beat_at = excluded.beat_at, seen_at = excluded.seen_at, gone_at = excluded.gone_at,
    profile = excluded.profile, presence = excluded.presence, deleted_at = excluded.deleted_at,
    principal = excluded.principal, session = excluded.session, dropped_at = excluded.dropped_at,
    died = excluded.died

-- name: list_workers
-- List all workers, newest first.
-- returns: Worker
SELECT {Worker} FROM workers ORDER BY created_at DESC, id

-- name: load_workers
-- Lock workers by id.
-- row: id text
-- returns: Worker
SELECT {Worker} FROM workers WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: load_all_workers
-- Lock all workers that have not left.
-- returns: Worker
SELECT {Worker} FROM workers WHERE gone_at IS NULL ORDER BY id FOR UPDATE

-- name: load_silent_workers
-- Lock workers that have sent nothing since a moment, except those that another node has locked.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE gone_at IS NULL AND alive_at IS NOT NULL AND alive_at <= :before
ORDER BY alive_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: load_dropped_workers
-- Lock workers that lost their session before a moment and have sent nothing since, except those
-- that another node has locked.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE gone_at IS NULL AND dropped_at <= :before AND dropped_at >= alive_at
ORDER BY dropped_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: load_changed_workers
-- Lock workers whose presence has changed without an event about it, except those that another node
-- has locked.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE deleted_at IS NULL AND (
    (presence = 'online' AND COALESCE(alive_at, seen_at) <= :unreachable)
    OR (presence <> 'offline' AND COALESCE(alive_at, seen_at) <= :offline)
    OR COALESCE(alive_at, seen_at) <= :deleted
)
ORDER BY id LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: load_offline_workers
-- Lock workers that have been silent or gone since a moment, except those that another node has
-- locked.
-- returns: Worker
SELECT {Worker} FROM workers
WHERE deleted_at IS NULL
    AND (COALESCE(alive_at, seen_at) <= :silent OR gone_at <= :gone)
ORDER BY id LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: some_workers
-- Load workers by id, newest first.
-- row: id text
-- returns: Worker
SELECT {Worker} FROM workers WHERE id IN ({list}) ORDER BY created_at DESC, id

-- name: held_by
-- List the jobs that workers hold.
-- row: worker_id text
SELECT worker_id, job_id FROM leases WHERE worker_id IN ({list}) ORDER BY job_id

-- name: delete_workers
-- Remove workers that left before a moment, and fetch-only ones that were last seen before it.
-- changes: workers
DELETE FROM workers WHERE id = ANY (ARRAY(
    SELECT id FROM workers
    WHERE deleted_at <= :before OR (deleted_at IS NULL AND (
        gone_at <= :before
        OR (gone_at IS NULL AND alive_at IS NULL AND seen_at <= :before)
    ))
    LIMIT :limit FOR UPDATE SKIP LOCKED
))
