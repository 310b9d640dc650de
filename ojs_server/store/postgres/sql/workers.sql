-- name: insert_workers
-- Store workers that were not there when this transaction looked for them. It fails where another
-- one has stored them meanwhile.
-- changes: workers
-- row: Worker
INSERT INTO workers ({columns})
{rows}
