-- The unique keys that jobs hold which have not ended, newest first.
-- A job without one is not in the index and pays nothing for it.

CREATE INDEX jobs_unique_held ON jobs (id)
    WHERE unique_key IS NOT NULL
    AND state IN ('scheduled', 'available', 'pending', 'active', 'retryable');
