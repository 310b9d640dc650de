-- name: mark_attached
-- Which records are attached to jobs (`Job.attached`), guarded by those that were before.
-- row: id text, expected int8, attached int8
UPDATE jobs SET beside = mark.attached
FROM ({rows}) AS mark
WHERE jobs.id = mark.id AND jobs.beside = mark.expected

-- name: insert_numbers
-- Numbers that jobs are given.
-- row: number int8, job_id text
INSERT INTO job_numbers ({columns})
{rows}
