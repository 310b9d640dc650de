-- Remove from the data of events what their columns hold: half of what an enqueue wrote to the log.
-- These members came first, and hold neither quotes nor what JSON escapes.

UPDATE events SET data = convert_to(
    regexp_replace(
        convert_from(data, 'UTF8'),
        '^\{"job_id":"[^"]*","job_type":"[^"]*","queue":"[^"]*",?',
        '{'
    ),
    'UTF8'
)
WHERE queue IS NOT NULL AND job_type IS NOT NULL AND type NOT LIKE 'cron.%';
