-- name: update_workflows
-- Store the new states of workflows.
-- changes: workflows
-- row: Workflow(id, state, progress, finished_at, due_at)
UPDATE workflows SET
    state = step.state, progress = step.progress, finished_at = step.finished_at,
    due_at = step.due_at
FROM ({rows}) AS step
WHERE workflows.id = step.id

-- name: insert_workflow_jobs
-- Store the jobs of a new workflow.
-- changes: workflow_jobs
-- row: WorkflowJob
INSERT INTO workflow_jobs ({columns})
{rows}

-- name: update_workflow_jobs
-- Store jobs that were enqueued, dropped or ended. The request is removed once there is a job.
-- changes: workflow_jobs
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
-- Store that failed jobs are tried again.
-- changes: workflow_jobs
-- row: workflow_id text, node int8
UPDATE workflow_jobs SET error = NULL, ended_at = NULL
WHERE (workflow_id, node) IN ({rows})

-- name: list_workflows
-- List workflows, newest first.
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE {workflow_page}

-- name: count_workflows
-- Count workflows.
SELECT count(*) FROM workflows WHERE {wanted_workflows}

-- name: insert_workflows
-- Store new workflows. An id that exists is left alone and not returned.
-- changes: workflows
-- row: Workflow
INSERT INTO workflows ({columns})
{rows}
ON CONFLICT (id) DO NOTHING RETURNING id

-- name: known_workflows
-- Return those of these ids that exist, with the hash of the request that made each.
-- row: id text
SELECT id, request_hash FROM workflows WHERE id IN ({list})

-- name: load_workflows
-- Lock workflows by id.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: load_open_jobs
-- Load jobs that were enqueued and have not ended.
-- row: workflow_id text
SELECT workflow_id, node, job_id FROM workflow_jobs
WHERE workflow_id IN ({list}) AND job_id IS NOT NULL AND ended_at IS NULL

-- name: load_aged_workflows
-- Lock workflows whose retention has ended, except those that another node has locked.
SELECT id FROM workflows WHERE due_at <= :now ORDER BY due_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: delete_workflow_jobs
-- Delete the records of the jobs of workflows.
-- changes: workflow_jobs
-- row: workflow_id text
DELETE FROM workflow_jobs WHERE workflow_id IN ({list})

-- name: delete_workflows
-- Delete workflows.
-- changes: workflows
-- row: id text
DELETE FROM workflows WHERE id IN ({list})

-- name: look_at_workflows
-- Load workflows by id, without locking them.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id IN ({list})

-- name: list_workflow_jobs
-- List the enqueued jobs of a workflow, with the state of each that still exists.
-- returns: MemberJob
SELECT
    member.node, member.job_id, member.ended_at, {json:member.error}, jobs.state, jobs.started_at,
    octet_length({json:jobs.result}) AS result_size
FROM workflow_jobs AS member LEFT JOIN jobs ON jobs.id = member.job_id
WHERE member.workflow_id = :id AND member.job_id IS NOT NULL
ORDER BY member.node

-- name: job_results
-- Load the results of jobs.
-- row: id text
SELECT id, {json:result} FROM jobs WHERE id IN ({list}) AND result IS NOT NULL

-- name: member_progress
-- Load the progress of the running jobs of a workflow, of their present attempts.
-- returns: MemberProgress
SELECT member.node, progress.value, {json:progress.data}
FROM workflow_jobs AS member
JOIN jobs ON jobs.id = member.job_id
JOIN progress ON progress.job_id = jobs.id AND progress.attempt = jobs.attempt
WHERE member.workflow_id = :id AND member.ended_at IS NULL
ORDER BY member.node

-- fragment: wanted_workflows
-- The conditions of a filter, except the one that selects the index.
(:state IS NULL OR state = :state)
    AND (:type IS NULL OR type = :type)
    AND (:workflow_name IS NULL OR name = :workflow_name)

-- fragment: workflow_page
-- The order of a page, newest first, from a position on.
{wanted_workflows} AND (
    :after_start IS NULL
    OR (created_at, id) < (:after_start, :after_id)
)
ORDER BY created_at DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: list_workflows_of_tenant
-- List the workflows of one tenant, newest first.
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE tenant = :tenant AND {workflow_page}

-- name: count_workflows_of_tenant
-- Count the workflows of one tenant.
SELECT count(*) FROM workflows WHERE tenant = :tenant AND {wanted_workflows}

-- name: load_workflow_jobs
-- Load the requests of steps, and the sizes of their results and errors.
-- row: workflow_id text, node int8
-- returns: WaitingNode
SELECT
    {json:request} AS request, job_id, octet_length({json:result}) AS result_size,
    octet_length({json:error}) AS error_size, workflow_id, node
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})

-- name: load_workflow_results
-- Load the results and errors of steps.
-- row: workflow_id text, node int8
SELECT workflow_id, node, {json:result}, {json:error}
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})
