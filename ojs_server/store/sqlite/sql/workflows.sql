-- name: insert_workflows
-- New workflows; an id that exists is left alone and not answered.
-- row: Workflow
INSERT INTO workflows ({columns})
{rows} ON CONFLICT (id) DO NOTHING RETURNING id

-- name: known_workflows
-- Which of these ids exist, and the hash of the request that made each.
-- row: id text
SELECT id, request_hash FROM workflows WHERE id IN ({list})

-- name: load_workflows
-- Workflows by id.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id IN ({list})

-- name: load_workflow_jobs
-- What is to be enqueued, and how much there is to hand on.
-- row: workflow_id text, node int8
-- returns: WaitingNode
SELECT
    CAST(request AS BLOB) AS request, job_id, length(CAST(result AS BLOB)) AS result_size,
    length(CAST(error AS BLOB)) AS error_size, workflow_id, node
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})

-- name: load_workflow_results
-- What is handed on.
-- row: workflow_id text, node int8
SELECT workflow_id, node, CAST(result AS BLOB), CAST(error AS BLOB)
FROM workflow_jobs WHERE (workflow_id, node) IN ({rows})

-- name: load_open_jobs
-- Jobs that were enqueued and have not ended.
-- row: workflow_id text
SELECT workflow_id, node, job_id FROM workflow_jobs
WHERE workflow_id IN ({list}) AND job_id IS NOT NULL AND ended_at IS NULL

-- name: load_aged_workflows
-- Those that need not be kept any longer.
SELECT id FROM workflows WHERE due_at <= :now ORDER BY due_at LIMIT :limit

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
    member.node, member.job_id, member.ended_at, CAST(member.error AS BLOB) AS error, jobs.state,
    jobs.started_at, length(CAST(jobs.result AS BLOB)) AS result_size
FROM workflow_jobs AS member LEFT JOIN jobs ON jobs.id = member.job_id
WHERE member.workflow_id = :id AND member.job_id IS NOT NULL
ORDER BY member.node

-- name: job_results
-- Results of jobs by id.
-- row: id text
SELECT id, CAST(result AS BLOB) FROM jobs WHERE id IN ({list}) AND result IS NOT NULL

-- name: member_progress
-- What the jobs that are under way have reported in their present attempts.
-- returns: MemberProgress
SELECT member.node, progress.value, CAST(progress.data AS BLOB) AS data
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

-- name: list_workflows_of_tenant
-- The same of one tenant.
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE tenant = :tenant AND {workflow_page}

-- name: count_workflows_of_tenant
-- The same of one tenant.
SELECT count(*) FROM workflows WHERE tenant = :tenant AND {wanted_workflows}
