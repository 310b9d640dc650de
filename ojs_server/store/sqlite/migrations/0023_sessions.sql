-- The sessions that workers hold: how many each has opened, and since when it lacks the last one.

ALTER TABLE workers ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN dropped_at INTEGER;
CREATE INDEX workers_dropped ON workers (dropped_at)
    WHERE gone_at IS NULL AND dropped_at IS NOT NULL;
