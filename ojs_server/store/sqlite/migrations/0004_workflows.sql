-- Workflows, the jobs that each is made of, and the way from a job to its workflow.
-- Jobs that belong to none have nothing in these columns and pay nothing for them.

ALTER TABLE jobs ADD COLUMN workflow_id TEXT;
ALTER TABLE jobs ADD COLUMN workflow_node INTEGER;
ALTER TABLE jobs ADD COLUMN parent_results TEXT;

CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    plan TEXT NOT NULL,
    progress TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    due_at INTEGER,
    request_hash BLOB
) STRICT;

-- The list, newest first.
CREATE INDEX workflows_list ON workflows (created_at, id);
CREATE INDEX workflows_state ON workflows (state, created_at, id);
-- Retention.
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- A node that is a job: its request while it waits, then its job, then what came of it.
CREATE TABLE workflow_jobs (
    workflow_id TEXT NOT NULL,
    node INTEGER NOT NULL,
    request TEXT,
    job_id TEXT,
    result TEXT,
    error TEXT,
    ended_at INTEGER,
    PRIMARY KEY (workflow_id, node)
) STRICT;
