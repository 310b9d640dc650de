-- name: mark_dead
-- What discarded jobs are found and counted by.
-- row: Mark
UPDATE jobs SET error_type = mark.error_type, kept = mark.kept
FROM ({rows}) AS mark WHERE jobs.id = mark.job_id

-- name: dead_letters
-- Discarded jobs, newest first.
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE state = 'discarded' AND {dead_page}

-- name: count_dead_letters
-- How many of them there are.
SELECT count(*) FROM jobs WHERE state = 'discarded' AND {wanted}

-- name: dead_letter_ages
-- When the first and the last of them were discarded.
SELECT
    (SELECT min(finished_at) FROM jobs WHERE state = 'discarded'),
    (SELECT max(finished_at) FROM jobs WHERE state = 'discarded')

-- name: dead_letters_by_queue
-- How many each queue has.
SELECT queue, count(*) FROM jobs WHERE state = 'discarded' GROUP BY queue ORDER BY queue
