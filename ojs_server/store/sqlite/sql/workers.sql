-- fragment: worker
-- A Worker, in the order of its fields.
workers.id, workers.state, workers.draining, workers.directive, workers.incarnation,
workers.alive_at, workers.beat_at, workers.seen_at, workers.created_at, workers.gone_at,
CAST(workers.profile AS BLOB), workers.presence, workers.deleted_at, workers.principal,
workers.session, workers.dropped_at, workers.died

-- name: load_workers
-- Workers by id.
-- row: ?
SELECT {worker} FROM workers WHERE id IN ({rows})

-- name: load_all_workers
-- Everyone who is not gone.
SELECT {worker} FROM workers WHERE gone_at IS NULL ORDER BY id

-- name: load_silent_workers
-- Those who have not been heard of since a moment.
SELECT {worker} FROM workers
WHERE gone_at IS NULL AND alive_at IS NOT NULL AND alive_at <= :before
ORDER BY alive_at LIMIT :limit

-- name: load_dropped_workers
-- Those who lack a session since a moment and have not been heard of after it.
SELECT {worker} FROM workers
WHERE gone_at IS NULL AND dropped_at <= :before AND dropped_at >= alive_at
ORDER BY dropped_at LIMIT :limit

-- name: save_workers
-- New or changed workers.
-- row: (?,?,?,?,?,?,?,?,?,?,CAST(? AS TEXT),?,?,?,?,?,?)
INSERT INTO workers (
    id, state, draining, directive, incarnation, alive_at, beat_at, seen_at, created_at, gone_at,
    profile, presence, deleted_at, principal, session, dropped_at, died
)
{rows}
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, draining = excluded.draining, directive = excluded.directive,
    incarnation = excluded.incarnation, alive_at = excluded.alive_at,
    beat_at = excluded.beat_at, seen_at = excluded.seen_at, gone_at = excluded.gone_at,
    profile = excluded.profile, presence = excluded.presence, deleted_at = excluded.deleted_at,
    principal = excluded.principal, session = excluded.session, dropped_at = excluded.dropped_at,
    died = excluded.died

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
SELECT {worker} FROM workers
WHERE deleted_at IS NULL AND (
    (presence = 'online' AND COALESCE(alive_at, seen_at) <= :unreachable)
    OR (presence <> 'offline' AND COALESCE(alive_at, seen_at) <= :offline)
    OR COALESCE(alive_at, seen_at) <= :deleted
)
ORDER BY id LIMIT :limit

-- name: load_offline_workers
-- Those who have been silent or gone since a moment.
SELECT {worker} FROM workers
WHERE deleted_at IS NULL AND (COALESCE(alive_at, seen_at) <= :silent OR gone_at <= :gone)
ORDER BY id LIMIT :limit

-- name: list_workers
-- All workers, newest first.
SELECT {worker} FROM workers ORDER BY created_at DESC, id

-- name: some_workers
-- These workers.
-- row: ?
SELECT {worker} FROM workers WHERE id IN ({rows}) ORDER BY created_at DESC, id

-- name: held_by
-- Which jobs each of these workers holds.
-- row: ?
SELECT worker_id, job_id FROM leases WHERE worker_id IN ({rows}) ORDER BY job_id
