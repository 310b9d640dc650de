-- differs: there is one writer, and so no transaction that ends later than a following one.

-- name: staged
-- Return staged jobs in their order.
-- returns: Staged
SELECT {Staged} FROM staged_jobs ORDER BY place LIMIT :limit

-- name: insert_staged
-- Stage jobs.
-- changes: staged_jobs
-- row: Staged
INSERT INTO staged_jobs ({columns})
{rows}
ON CONFLICT (id) DO NOTHING
