-- name: take_staged
-- Remove staged jobs that no other node takes meanwhile.
-- changes: staged_jobs
-- row: id text
DELETE FROM staged_jobs WHERE id IN (
    SELECT id FROM staged_jobs WHERE id IN ({list}) FOR UPDATE SKIP LOCKED
)
RETURNING id

-- name: insert_staged_outcomes
-- Store what became of staged jobs that were not stored as they are.
-- changes: staged_outcomes
-- row: StagedOutcome
INSERT INTO staged_outcomes ({columns})
{rows}
ON CONFLICT (id) DO UPDATE SET
    at = excluded.at, job_id = excluded.job_id, code = excluded.code,
    message = excluded.message, details = excluded.details

-- name: staged_outcome
-- Return what became of a staged job that was not stored as it is.
-- returns: StagedOutcome
SELECT {StagedOutcome} FROM staged_outcomes WHERE id = :job_id

-- name: prune_staged_outcomes
-- Remove old outcomes.
-- changes: staged_outcomes
DELETE FROM staged_outcomes WHERE id = ANY (ARRAY(
    SELECT id FROM staged_outcomes
    WHERE at < :before ORDER BY at LIMIT :limit
    FOR UPDATE SKIP LOCKED
))
