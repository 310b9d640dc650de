-- name: add_statistics
-- Add counts to the statistics of time spans.
-- changes: statistics
-- row: step int8, queue text, at int8, kind text, bucket int8, count int8
INSERT INTO statistics AS known ({columns})
{rows}
ON CONFLICT (step, queue, at, kind, bucket) DO UPDATE SET count = known.count + excluded.count
