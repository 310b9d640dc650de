-- name: insert_workflows
-- New workflows; an id that exists is left alone and not answered.
-- row: Workflow
INSERT INTO workflows ({columns})
{rows}
ON CONFLICT (id) DO NOTHING RETURNING id

-- name: known_workflows
-- Which of these ids exist, and the hash of the request that made each.
-- row: id text
SELECT id, request_hash FROM workflows WHERE id = ANY ({list})

-- name: load_workflows
-- Lock workflows by id.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id = ANY ({list}) ORDER BY id FOR UPDATE

-- name: lock_workflows
-- Only lock: these, and those that these jobs are of.
SELECT 1 FROM workflows WHERE id = ANY (
    %(ids)s::text[]
    || ARRAY(SELECT workflow_id FROM jobs WHERE id = ANY (%(jobs)s::text[]))
) ORDER BY id FOR UPDATE

-- name: load_workflow_jobs
-- What is to be enqueued, and how much there is to hand on.
-- row: workflow_id text, node int8
-- returns: WaitingNode
SELECT
    request, job_id, octet_length(result)::int8 AS result_size,
    octet_length(error)::int8 AS error_size, workflow_id, node
FROM workflow_jobs JOIN ({rows}) AS wanted USING (workflow_id, node)

-- name: load_workflow_results
-- What is handed on.
-- row: workflow_id text, node int8
SELECT workflow_id, node, result, error
FROM workflow_jobs JOIN ({rows}) AS wanted USING (workflow_id, node)

-- name: load_open_jobs
-- Jobs that were enqueued and have not ended.
-- row: workflow_id text
SELECT workflow_id, node, job_id FROM workflow_jobs
WHERE workflow_id = ANY ({list}) AND job_id IS NOT NULL AND ended_at IS NULL

-- name: load_aged_workflows
-- Those that need not be kept any longer, without what another node is removing.
SELECT id FROM workflows WHERE due_at <= %(now)s::int8 ORDER BY due_at LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: delete_workflow_jobs
-- What workflows know of their jobs.
-- row: workflow_id text
DELETE FROM workflow_jobs WHERE workflow_id = ANY ({list})

-- name: delete_workflows
-- Forget workflows.
-- row: id text
DELETE FROM workflows WHERE id = ANY ({list})

-- name: look_at_workflows
-- Workflows by id, as they are committed.
-- row: id text
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE id = ANY ({list})

-- name: list_workflow_jobs
-- Its jobs that were enqueued, with the state of each that is still there.
-- returns: MemberJob
SELECT
    member.node, member.job_id, member.ended_at, member.error, jobs.state, jobs.started_at,
    octet_length(jobs.result)::int8 AS result_size
FROM workflow_jobs AS member LEFT JOIN jobs ON jobs.id = member.job_id
WHERE member.workflow_id = %(id)s::text AND member.job_id IS NOT NULL
ORDER BY member.node

-- name: job_results
-- Results of jobs by id.
-- row: id text
SELECT id, result FROM jobs WHERE id = ANY ({list}) AND result IS NOT NULL

-- name: member_progress
-- What the jobs that are under way have reported in their present attempts.
-- returns: MemberProgress
SELECT member.node, progress.value, progress.data
FROM workflow_jobs AS member
JOIN jobs ON jobs.id = member.job_id
JOIN progress ON progress.job_id = jobs.id AND progress.attempt = jobs.attempt
WHERE member.workflow_id = %(id)s::text AND member.ended_at IS NULL
ORDER BY member.node

-- fragment: wanted_workflows
-- What a filter asks for, besides what leads into the index.
(%(state)s::text IS NULL OR state = %(state)s::text)
    AND (%(type)s::text IS NULL OR type = %(type)s::text)
    AND (%(workflow_name)s::text IS NULL OR name = %(workflow_name)s::text)

-- fragment: workflow_page
-- Newest first, from a place in that order.
{wanted_workflows} AND (
    %(after_start)s::int8 IS NULL
    OR (created_at, id) < (%(after_start)s::int8, %(after_id)s::text)
)
ORDER BY created_at DESC, id DESC
LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- name: list_workflows_of_tenant
-- The same of one tenant.
-- returns: Workflow
SELECT {Workflow} FROM workflows WHERE tenant = %(tenant)s::text AND {workflow_page}

-- name: count_workflows_of_tenant
-- The same of one tenant.
SELECT count(*) FROM workflows WHERE tenant = %(tenant)s::text AND {wanted_workflows}
