-- The position below which no event is left. The other store also notes jobs that became available
-- at older positions than their transaction; an old snapshot keeps no index entries alive here.
ALTER TABLE event_tally ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
