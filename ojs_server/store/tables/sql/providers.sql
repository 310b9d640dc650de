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

-- name: load_providers
-- Lock providers by id.
-- row: id text
-- returns: Provider
SELECT {Provider} FROM providers WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: load_providers_of
-- Lock the providers of workers.
-- row: worker_id text
-- returns: Provider
SELECT {Provider} FROM providers WHERE worker_id IN ({list}) ORDER BY id FOR UPDATE

-- name: delete_providers
-- Forget providers.
-- row: id text
DELETE FROM providers WHERE id IN ({list})

-- name: delete_provider_results
-- Forget what providers were asked.
-- row: id text
DELETE FROM provider_results WHERE provider_id IN ({list})

-- name: load_provider_result
-- What was asked of a provider.
-- returns: ProviderResult
SELECT {ProviderResult} FROM provider_results
WHERE provider_id = :provider_id AND request_hash = :request_hash

-- name: prune_provider_results
-- What is over.
DELETE FROM provider_results WHERE (provider_id, request_hash) IN (
    SELECT provider_id, request_hash FROM provider_results
    WHERE until <= :now ORDER BY until LIMIT :limit
    FOR UPDATE SKIP LOCKED
)

-- name: providers_in
-- The providers of a room, newest first.
-- returns: Provider
SELECT {Provider} FROM providers WHERE room = :room
ORDER BY created_at DESC, id DESC

-- name: some_providers
-- Providers by id.
-- row: id text
-- returns: Provider
SELECT {Provider} FROM providers WHERE id IN ({list})

-- name: provider_answer
-- What a provider has answered.
SELECT content FROM provider_results
WHERE provider_id = :provider_id AND request_hash = :request_hash
    AND content IS NOT NULL AND until > :now
