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

-- name: insert_workflows
-- New workflows; an id that exists is left alone and not answered.
-- row: Workflow
INSERT INTO workflows ({columns})
{rows}
ON CONFLICT (id) DO NOTHING RETURNING id

-- name: known_workflows
-- Which of these ids exist, and the hash of the request that made each.
-- row: id text
SELECT id, request_hash FROM workflows WHERE id IN ({list})

-- name: load_workflows
-- Lock workflows by id.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: load_open_jobs
-- Jobs that were enqueued and have not ended.
-- row: workflow_id text
SELECT workflow_id, node, job_id FROM workflow_jobs
WHERE workflow_id IN ({list}) AND job_id IS NOT NULL AND ended_at IS NULL

-- name: load_aged_workflows
-- Those that need not be kept any longer, without what another node is removing.
SELECT id FROM workflows WHERE due_at <= :now ORDER BY due_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: delete_workflow_jobs
-- What workflows know of their jobs.
-- row: workflow_id text
DELETE FROM workflow_jobs WHERE workflow_id IN ({list})

-- name: delete_workflows
-- Forget workflows.
-- row: id text
DELETE FROM workflows WHERE id IN ({list})

-- name: look_at_workflows
-- Workflows by id, as they are committed.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id IN ({list})

-- name: list_workflow_jobs
-- Its jobs that were enqueued, with the state of each that is still there.
-- returns: MemberJob
SELECT
    member.node, member.job_id, member.ended_at, {json:member.error}, jobs.state, jobs.started_at,
    octet_length({json:jobs.result}) AS result_size
FROM workflow_jobs AS member LEFT JOIN jobs ON jobs.id = member.job_id
WHERE member.workflow_id = :id AND member.job_id IS NOT NULL
ORDER BY member.node

-- name: job_results
-- Results of jobs by id.
-- row: id text
SELECT id, {json:result} FROM jobs WHERE id IN ({list}) AND result IS NOT NULL

-- name: member_progress
-- What the jobs that are under way have reported in their present attempts.
-- returns: MemberProgress
SELECT member.node, progress.value, {json:progress.data}
FROM workflow_jobs AS member
JOIN jobs ON jobs.id = member.job_id
JOIN progress ON progress.job_id = jobs.id AND progress.attempt = jobs.attempt
WHERE member.workflow_id = :id AND member.ended_at IS NULL
ORDER BY member.node

-- fragment: wanted_workflows
-- What a filter asks for, besides what leads into the index.
(:state IS NULL OR state = :state)
    AND (:type IS NULL OR type = :type)
    AND (:workflow_name IS NULL OR name = :workflow_name)

-- fragment: workflow_page
-- Newest first, from a place in that order.
{wanted_workflows} AND (
    :after_start IS NULL
    OR (created_at, id) < (:after_start, :after_id)
)
ORDER BY created_at DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: list_workflows_of_tenant
-- The same of one tenant.
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE tenant = :tenant AND {workflow_page}

-- name: count_workflows_of_tenant
-- The same of one tenant.
SELECT count(*) FROM workflows WHERE tenant = :tenant AND {wanted_workflows}
