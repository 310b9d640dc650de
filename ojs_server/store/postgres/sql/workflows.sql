-- name: lock_workflows
-- Only lock: these, and those that these jobs are of.
SELECT 1 FROM workflows WHERE id = ANY (
    :ids
    || ARRAY(SELECT workflow_id FROM jobs WHERE id = ANY (:jobs))
) ORDER BY id FOR UPDATE
