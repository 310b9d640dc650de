-- name: save_providers
-- Store providers; one that exists keeps its time of creation.
-- changes: providers
-- row: Provider
INSERT INTO providers ({columns})
{rows}
ON CONFLICT (id) DO UPDATE SET
    schema = excluded.schema, content_type = excluded.content_type,
    worker_id = excluded.worker_id, principal = excluded.principal

-- name: save_provider_results
-- Store requests to providers and their answers, in place of the ones before.
-- changes: provider_results
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
-- Delete providers.
-- changes: providers
-- row: id text
DELETE FROM providers WHERE id IN ({list})

-- name: delete_provider_results
-- Delete the requests to providers.
-- changes: provider_results
-- row: id text
DELETE FROM provider_results WHERE provider_id IN ({list})

-- name: load_provider_result
-- Load a request to a provider.
-- returns: ProviderResult
SELECT {ProviderResult} FROM provider_results
WHERE provider_id = :provider_id AND request_hash = :request_hash

-- name: forget_requests
-- Delete the requests to a provider that have no answer.
-- changes: provider_results
DELETE FROM provider_results WHERE provider_id = :provider_id AND content IS NULL

-- name: prune_provider_results
-- Remove requests to providers that have expired.
-- changes: provider_results
DELETE FROM provider_results WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM provider_results
    WHERE until <= :now ORDER BY until LIMIT :limit
    FOR UPDATE SKIP LOCKED
))

-- name: providers_in
-- List the providers of a room, newest first.
-- returns: Provider
SELECT {Provider} FROM providers WHERE room = :room
ORDER BY created_at DESC, id DESC

-- name: some_providers
-- Load providers by id.
-- row: id text
-- returns: Provider
SELECT {Provider} FROM providers WHERE id IN ({list})

-- name: provider_answer
-- Load the answer of a provider, unless it has expired.
SELECT content FROM provider_results
WHERE provider_id = :provider_id AND request_hash = :request_hash
    AND content IS NOT NULL AND until > :now
