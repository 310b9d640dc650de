-- What happened in each minute and hour, and whether the server is in maintenance.

-- How often something happened in a queue, or in all (an empty name), in the span of `step`
-- milliseconds from `at` on; of completed jobs by how long they ran.
CREATE TABLE statistics (
    step INTEGER NOT NULL,
    queue TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (step, queue, at, kind, bucket)
) STRICT;

CREATE INDEX statistics_age ON statistics (step, at);

-- There is a row while maintenance is on.
CREATE TABLE maintenance (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    reason TEXT,
    since INTEGER NOT NULL,
    until INTEGER
) STRICT;
