-- What nodes say of themselves; of a node that has stopped, and of one of an earlier version, there
-- is no start.
ALTER TABLE nodes ADD COLUMN started_at int8;
ALTER TABLE nodes ADD COLUMN host text COLLATE "C";
ALTER TABLE nodes ADD COLUMN process int8;
ALTER TABLE nodes ADD COLUMN version text COLLATE "C";
ALTER TABLE nodes ADD COLUMN waiting_fetches int8;
ALTER TABLE nodes ADD COLUMN event_streams int8;
