-- The owner that an entry's job names, and the key that registered the entry: its name, or else the
-- hash of which the server knows it. Entries of earlier versions are of no key.
ALTER TABLE cron ADD COLUMN owner text COLLATE "C";
ALTER TABLE cron ADD COLUMN holder text COLLATE "C";

CREATE INDEX cron_owner ON cron (owner, holder) WHERE owner IS NOT NULL;
