-- Jobs that were dropped before they started were stored as if no policy wanted to keep them.
-- What a worker has failed has a `completed_at`. The policy is read as in 0007, and for its reason.

UPDATE jobs SET kept = true
WHERE state = 'discarded' AND NOT kept AND completed_at IS NULL
    AND error_type IN ('rate_limited', 'queue_full')
    AND position('"on_exhaustion":"dead_letter"' IN convert_from(spec, 'UTF8')) > 0;
