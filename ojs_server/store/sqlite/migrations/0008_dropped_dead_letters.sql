-- Jobs that were dropped before they started were stored as if no policy wanted to keep them.
-- What a worker has failed has a `completed_at`.

UPDATE jobs SET kept = 1
WHERE state = 'discarded' AND NOT kept AND completed_at IS NULL
    AND error_type IN ('rate_limited', 'queue_full')
    AND json_extract(spec, '$.retry.on_exhaustion') = 'dead_letter';
