-- name: load_workflow_jobs
-- Load the requests of steps, and the sizes of their results and errors.
-- row: workflow_id text, node int8
-- returns: WaitingNode
SELECT
    CAST(request AS BLOB) AS request, job_id, length(CAST(result AS BLOB)) AS result_size,
    length(CAST(error AS BLOB)) AS error_size, workflow_id, node
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})

-- name: load_workflow_results
-- Load the results and errors of steps.
-- row: workflow_id text, node int8
SELECT workflow_id, node, CAST(result AS BLOB), CAST(error AS BLOB)
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})
