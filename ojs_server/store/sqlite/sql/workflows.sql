-- fragment: workflow
-- A Workflow, in the order of its fields.
workflows.id, workflows.name, workflows.type, workflows.state, CAST(workflows.plan AS BLOB),
workflows.progress, workflows.created_at, workflows.finished_at, workflows.due_at,
workflows.request_hash, workflows.tenant

-- name: insert_workflows
-- New workflows; an id that exists is left alone and not answered.
-- row: (?,?,?,?,CAST(? AS TEXT),?,?,?,?,?,?)
INSERT INTO workflows (
    id, name, type, state, plan, progress, created_at, finished_at, due_at, request_hash, tenant
)
{rows} ON CONFLICT (id) DO NOTHING RETURNING id

-- name: known_workflows
-- Which of these ids exist, and the hash of the request that made each.
-- row: ?
SELECT id, request_hash FROM workflows WHERE id IN ({rows})

-- name: load_workflows
-- Workflows by id.
-- row: ?
SELECT {workflow} FROM workflows WHERE id IN ({rows})

-- name: update_workflows
-- What a step has made of them.
-- row: (?,?,?,?,?)
UPDATE workflows SET
    state = step.column2, progress = step.column3, finished_at = step.column4,
    due_at = step.column5
FROM ({rows}) AS step
WHERE workflows.id = step.column1

-- name: insert_workflow_jobs
-- The jobs of a new workflow.
-- row: (?,?,CAST(? AS TEXT),?,CAST(? AS TEXT),CAST(? AS TEXT),?)
INSERT INTO workflow_jobs (workflow_id, node, request, job_id, result, error, ended_at)
{rows}

-- name: update_workflow_jobs
-- Enqueued, dropped or ended: in each case the request has served.
-- row: (?,?,?,?,?,?)
UPDATE workflow_jobs SET
    request = NULL,
    job_id = COALESCE(step.column3, workflow_jobs.job_id),
    result = COALESCE(CAST(step.column4 AS TEXT), workflow_jobs.result),
    error = COALESCE(CAST(step.column5 AS TEXT), workflow_jobs.error),
    ended_at = COALESCE(step.column6, workflow_jobs.ended_at)
FROM ({rows}) AS step
WHERE workflow_jobs.workflow_id = step.column1 AND workflow_jobs.node = step.column2

-- name: load_workflow_jobs
-- What is to be enqueued, and how much there is to hand on.
-- row: (?,?)
SELECT
    workflow_id, node, CAST(request AS BLOB), job_id, length(CAST(result AS BLOB)),
    length(CAST(error AS BLOB))
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})

-- name: load_workflow_results
-- What is handed on.
-- row: (?,?)
SELECT workflow_id, node, CAST(result AS BLOB), CAST(error AS BLOB)
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})

-- name: load_open_jobs
-- Jobs that were enqueued and have not ended.
-- row: ?
SELECT workflow_id, node, job_id FROM workflow_jobs
WHERE workflow_id IN ({rows}) AND job_id IS NOT NULL AND ended_at IS NULL

-- name: load_aged_workflows
-- Those that need not be kept any longer.
SELECT id FROM workflows WHERE due_at <= :now ORDER BY due_at LIMIT :limit

-- name: delete_workflow_jobs
-- What workflows know of their jobs.
-- row: ?
DELETE FROM workflow_jobs WHERE workflow_id IN ({rows})

-- name: delete_workflows
-- Forget workflows.
-- row: ?
DELETE FROM workflows WHERE id IN ({rows})

-- name: look_at_workflows
-- Workflows by id, as they are committed.
-- row: ?
SELECT {workflow} FROM workflows WHERE id IN ({rows})

-- name: list_workflow_jobs
-- Its jobs that were enqueued, with the state of each that is still there.
SELECT
    member.node, member.job_id, member.ended_at, CAST(member.error AS BLOB), jobs.state,
    jobs.started_at, length(CAST(jobs.result AS BLOB))
FROM workflow_jobs AS member LEFT JOIN jobs ON jobs.id = member.job_id
WHERE member.workflow_id = :id AND member.job_id IS NOT NULL
ORDER BY member.node

-- name: job_results
-- Results of jobs by id.
-- row: ?
SELECT id, CAST(result AS BLOB) FROM jobs WHERE id IN ({rows}) AND result IS NOT NULL

-- name: member_progress
-- What the jobs that are under way have reported in their present attempts.
SELECT member.node, progress.value, CAST(progress.data AS BLOB)
FROM workflow_jobs AS member
JOIN jobs ON jobs.id = member.job_id
JOIN progress ON progress.job_id = jobs.id AND progress.attempt = jobs.attempt
WHERE member.workflow_id = :id AND member.ended_at IS NULL
ORDER BY member.node

-- fragment: wanted_workflows
-- What a filter asks for, besides what leads into the index.
(:state IS NULL OR state = :state) AND (:type IS NULL OR type = :type)
    AND (:workflow_name IS NULL OR name = :workflow_name)

-- fragment: workflow_page
-- Newest first, from a place in that order.
{wanted_workflows} AND (:after_start IS NULL OR (created_at, id) < (:after_start, :after_id))
ORDER BY created_at DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: list_workflows
-- A page of workflows.
SELECT {workflow} FROM workflows WHERE {workflow_page}

-- name: list_workflows_of_tenant
-- The same of one tenant.
SELECT {workflow} FROM workflows WHERE tenant = :tenant AND {workflow_page}

-- name: count_workflows
-- How many of them there are.
SELECT count(*) FROM workflows WHERE {wanted_workflows}

-- name: count_workflows_of_tenant
-- The same of one tenant.
SELECT count(*) FROM workflows WHERE tenant = :tenant AND {wanted_workflows}
