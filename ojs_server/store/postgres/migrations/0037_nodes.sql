-- The announcements of nodes. A node that has stopped, or of an earlier version, has no start.
ALTER TABLE nodes ADD COLUMN started_at int8;
ALTER TABLE nodes ADD COLUMN host text COLLATE "C";
ALTER TABLE nodes ADD COLUMN process int8;
ALTER TABLE nodes ADD COLUMN version text COLLATE "C";
ALTER TABLE nodes ADD COLUMN waiting_fetches int8;
ALTER TABLE nodes ADD COLUMN event_streams int8;
