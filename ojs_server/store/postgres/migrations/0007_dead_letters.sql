-- Dead letters by queue and by error, jobs by state, and how many events there are.

-- Of a discarded job: the type of its last error, and whether it counts towards its queue's limit.
ALTER TABLE jobs ADD COLUMN error_type text COLLATE "C";
ALTER TABLE jobs ADD COLUMN kept boolean;

-- \u0000 is taken out of an error before it is read, since json refuses it in any of its texts.
-- Pairs of backslashes are set aside meanwhile: behind one, u0000 is text. The policy is found by
-- pattern, for the same reason.
UPDATE jobs SET
    error_type = replace(
        replace(replace(convert_from(error, 'UTF8'), '\\', chr(1)), '\u0000', ''), chr(1), '\\'
    )::json ->> 'type',
    kept = position('"on_exhaustion":"dead_letter"' IN convert_from(spec, 'UTF8')) > 0
WHERE state = 'discarded';

CREATE INDEX jobs_dead_queue ON jobs (queue, finished_at, id) WHERE state = 'discarded';
CREATE INDEX jobs_dead_error ON jobs (error_type, finished_at, id) WHERE state = 'discarded';
-- Jobs that count towards the dead-letter limit of a queue, newest first.
CREATE INDEX jobs_dead_kept ON jobs (queue, finished_at, id) WHERE state = 'discarded' AND kept;

-- Lists of jobs by state, for the states that a job which simply runs is never in: it pays nothing.
CREATE INDEX jobs_parked ON jobs (state, id)
WHERE state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded');
CREATE INDEX jobs_parked_queue ON jobs (queue, state, id)
WHERE state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded');

-- The number of events up to a position, from which housekeeping continues to count.
CREATE TABLE event_tally (
    one int8 NOT NULL PRIMARY KEY CHECK (one = 1),
    upto int8 NOT NULL,
    total int8 NOT NULL
);

INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0);
