-- Dead letters by queue and by error, jobs by state, and how many events there are.

-- Of a discarded job: the type of its last error, and whether it counts towards its queue's limit.
ALTER TABLE jobs ADD COLUMN error_type TEXT;
ALTER TABLE jobs ADD COLUMN kept INTEGER;

-- \u0000 is taken out of an error before it is read, since a text would be cut at it. Pairs of
-- backslashes are set aside meanwhile: behind one, u0000 is text.
UPDATE jobs SET
    error_type = json_extract(
        replace(replace(replace(error, '\\', char(1)), '\u0000', ''), char(1), '\\'), '$.type'
    ),
    kept = COALESCE(json_extract(spec, '$.retry.on_exhaustion') = 'dead_letter', 0)
WHERE state = 'discarded';

-- With the state, so that counting reads nothing but the index.
CREATE INDEX jobs_dead_queue ON jobs (queue, finished_at, id, state) WHERE state = 'discarded';
CREATE INDEX jobs_dead_error ON jobs (error_type, finished_at, id, state) WHERE state = 'discarded';
-- Jobs that count towards the dead-letter limit of a queue, newest first.
CREATE INDEX jobs_dead_kept ON jobs (queue, finished_at, id) WHERE state = 'discarded' AND kept;

-- Lists of jobs by state, for the states that a job which simply runs is never in: it pays nothing.
CREATE INDEX jobs_parked ON jobs (state, id)
WHERE state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded');
CREATE INDEX jobs_parked_queue ON jobs (queue, state, id)
WHERE state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded');

-- The number of events up to a position, from which housekeeping continues to count.
CREATE TABLE event_tally (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    upto INTEGER NOT NULL,
    total INTEGER NOT NULL
) STRICT;

INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0);
