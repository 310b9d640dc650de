-- name: update_workflows
-- What a step has made of them.
-- row: Workflow(id, state, progress, finished_at, due_at)
UPDATE workflows SET
    state = step.state, progress = step.progress, finished_at = step.finished_at,
    due_at = step.due_at
FROM ({rows}) AS step
WHERE workflows.id = step.id

-- name: insert_workflow_jobs
-- The jobs of a new workflow.
-- row: WorkflowJob
INSERT INTO workflow_jobs ({columns})
{rows}

-- name: update_workflow_jobs
-- Enqueued, dropped or ended. The request has served once there is a job.
-- row: WorkflowJob(workflow_id, node, job_id, result, error, ended_at)
UPDATE workflow_jobs SET
    request = CASE WHEN COALESCE(step.job_id, workflow_jobs.job_id) IS NULL THEN request END,
    job_id = COALESCE(step.job_id, workflow_jobs.job_id),
    result = COALESCE(step.result, workflow_jobs.result),
    error = COALESCE(step.error, workflow_jobs.error),
    ended_at = COALESCE(step.ended_at, workflow_jobs.ended_at)
FROM ({rows}) AS step
WHERE workflow_jobs.workflow_id = step.workflow_id AND workflow_jobs.node = step.node

-- name: reopen_workflow_jobs
-- Jobs that failed and are tried anew.
-- row: workflow_id text, node int8
UPDATE workflow_jobs SET error = NULL, ended_at = NULL
WHERE (workflow_id, node) IN ({rows})

-- name: list_workflows
-- A page of workflows.
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE {workflow_page}

-- name: count_workflows
-- How many of them there are.
SELECT count(*) FROM workflows WHERE {wanted_workflows}
