-- name: save_providers
-- New providers; one that exists keeps its moment.
-- row: Provider
INSERT INTO providers ({columns})
{rows}
ON CONFLICT (id) DO UPDATE SET
    schema = excluded.schema, content_type = excluded.content_type,
    worker_id = excluded.worker_id, principal = excluded.principal

-- name: save_provider_results
-- What was asked and answered, instead of what there was.
-- row: ProviderResult
INSERT INTO provider_results ({columns})
{rows}
ON CONFLICT (provider_id, request_hash) DO UPDATE SET
    until = excluded.until, content = excluded.content
