-- Scheduled jobs in the order in which their time comes, for the lists of operators.
CREATE INDEX jobs_scheduled ON jobs (scheduled_at, id) WHERE state = 'scheduled';
