-- With which worker a job ended. No index: what a worker did is a list by id, looked through.

ALTER TABLE jobs ADD COLUMN ended_by text COLLATE "C";
