-- name: save_kinds
-- New kinds; one that exists keeps what the new one does not say.
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO UPDATE SET
    queue = COALESCE(excluded.queue, job_kinds.queue),
    schema = COALESCE(excluded.schema, job_kinds.schema),
    result_schema = COALESCE(excluded.result_schema, job_kinds.result_schema),
    updated_at = excluded.updated_at, deleted_at = excluded.deleted_at

-- name: link_kinds
-- Which worker runs which kind.
-- row: worker_id text, room text, name text
INSERT INTO worker_kinds ({columns})
{rows}
ON CONFLICT DO NOTHING

-- name: add_kinds
-- New kinds; those that exist stay as they are.
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO NOTHING
