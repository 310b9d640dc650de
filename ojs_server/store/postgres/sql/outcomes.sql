-- name: note_outcome
-- The last statement of a transaction that changes something. It fails where somebody was told
-- that the transaction was not carried out, and where the transaction is so old that this may have
-- been forgotten.
-- changes: outcomes
INSERT INTO outcomes (token, carried_out)
VALUES (
    CAST(:token AS uuid),
    CASE WHEN clock_timestamp() < to_timestamp(:until / 1000.0) THEN true END
)

-- name: ask_outcome
-- Ask whether a transaction was carried out; if it was not, it cannot be any more. The index waits
-- for one that is about to end. A row is written in any case, so that the answer to the COMMIT
-- comes when both transactions are wherever commits have to be. No row is returned if it is too
-- late to ask.
-- changes: outcomes
INSERT INTO outcomes AS known (token, carried_out)
SELECT CAST(:token AS uuid), false
WHERE clock_timestamp() < to_timestamp(:until / 1000.0)
ON CONFLICT (token) DO UPDATE SET carried_out = known.carried_out
RETURNING carried_out

-- name: asking
-- Configure a transaction that asks for the outcome of another one.
SELECT
    set_config('synchronous_commit', 'on', true),
    set_config('lock_timeout', :limit_ms, true),
    set_config('statement_timeout', :limit_ms, true),
    set_config('idle_in_transaction_session_timeout', '60s', true)

-- name: forget_outcomes
-- Remove tokens that nobody asks for any more, a few of the oldest.
-- changes: outcomes
DELETE FROM outcomes WHERE token = ANY (ARRAY(
    SELECT token FROM outcomes WHERE token < :before::text::uuid
    ORDER BY token LIMIT :limit FOR UPDATE SKIP LOCKED
))
