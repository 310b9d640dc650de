-- Statistics of each minute and hour, and the maintenance mode.

-- Number of events in a queue, or in all (an empty name), in the `step` milliseconds from `at` on;
-- completed jobs are counted by their run times.
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
