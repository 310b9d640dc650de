-- The sessions that workers hold: how many each has opened, and since when it lacks the last one.
-- No index, as on `alive_at`.

ALTER TABLE workers ADD COLUMN session int8 NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN dropped_at int8;
