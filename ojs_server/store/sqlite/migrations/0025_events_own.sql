-- Remove from the data of events what their columns hold: half of what an enqueue wrote to the log.

UPDATE events SET data = json_remove(data, '$.job_id', '$.job_type', '$.queue')
WHERE queue IS NOT NULL AND job_type IS NOT NULL AND type NOT LIKE 'cron.%';
