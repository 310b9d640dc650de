-- Workflows, the jobs that each is made of, and the way from a job to its workflow.
-- Jobs that belong to none have nothing in these columns and pay nothing for them.

ALTER TABLE jobs ADD COLUMN workflow_id text COLLATE "C";
ALTER TABLE jobs ADD COLUMN workflow_node int8;
ALTER TABLE jobs ADD COLUMN parent_results bytea;

CREATE TABLE workflows (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    name text COLLATE "C",
    type text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    plan bytea NOT NULL,
    progress text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    finished_at int8,
    due_at int8,
    request_hash bytea
) WITH (
    -- Each step rewrites the progress, and mostly no indexed column.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05
);

-- The list, newest first.
CREATE INDEX workflows_list ON workflows (created_at, id);
CREATE INDEX workflows_state ON workflows (state, created_at, id);
-- Retention.
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- A node that is a job: its request while it waits, then its job, then what came of it.
CREATE TABLE workflow_jobs (
    workflow_id text COLLATE "C" NOT NULL,
    node int8 NOT NULL,
    request bytea,
    job_id text COLLATE "C",
    result bytea,
    error bytea,
    ended_at int8,
    PRIMARY KEY (workflow_id, node)
) WITH (fillfactor = 70);
