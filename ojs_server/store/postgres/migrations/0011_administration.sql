-- Statistics of each minute and hour, and the maintenance mode.

-- Number of events in a queue, or in all (an empty name), in the `step` milliseconds from `at` on;
-- completed jobs are counted by their run times.
CREATE TABLE statistics (
    step int8 NOT NULL,
    queue text COLLATE "C" NOT NULL,
    at int8 NOT NULL,
    kind text COLLATE "C" NOT NULL,
    bucket int8 NOT NULL,
    count int8 NOT NULL,
    PRIMARY KEY (step, queue, at, kind, bucket)
) WITH (fillfactor = 70);

CREATE INDEX statistics_age ON statistics (step, at);

-- There is a row while maintenance is on.
CREATE TABLE maintenance (
    one int8 NOT NULL PRIMARY KEY CHECK (one = 1),
    reason text COLLATE "C",
    since int8 NOT NULL,
    until int8
);
