-- Jobs that wait for their moment, by queue: a FETCH looks here whether one is due.
CREATE INDEX jobs_promotion ON jobs (queue, due_at)
    WHERE state IN ('scheduled', 'retryable');

-- True if a worker was declared dead and did not leave by itself: then a FETCH brings it back.
ALTER TABLE workers ADD COLUMN died bool NOT NULL DEFAULT false;
