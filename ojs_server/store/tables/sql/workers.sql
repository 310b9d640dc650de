-- name: save_workers
-- New or changed workers.
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
-- All workers, newest first.
-- returns: Worker
SELECT {Worker} FROM workers ORDER BY created_at DESC, id
