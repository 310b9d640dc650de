-- name: lock_workflows
-- Only lock: these, and those that these jobs are of.
SELECT 1 FROM workflows WHERE id = ANY (
    :ids
    || ARRAY(SELECT workflow_id FROM jobs WHERE id = ANY (:jobs))
) ORDER BY id FOR UPDATE

-- name: load_workflow_jobs
-- Load the requests of steps, and the sizes of their results and errors.
-- row: workflow_id text, node int8
-- returns: WaitingNode
SELECT
    request, job_id, octet_length(result)::int8 AS result_size,
    octet_length(error)::int8 AS error_size, workflow_id, node
FROM workflow_jobs JOIN ({rows}) AS wanted USING (workflow_id, node)

-- name: load_workflow_results
-- Load the results and errors of steps.
-- row: workflow_id text, node int8
SELECT workflow_id, node, result, error
FROM workflow_jobs JOIN ({rows}) AS wanted USING (workflow_id, node)
