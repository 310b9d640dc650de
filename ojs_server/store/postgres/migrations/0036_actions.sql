-- The action log.
CREATE TABLE actions (
    pos int8 NOT NULL PRIMARY KEY,
    at int8 NOT NULL,
    name text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    via text COLLATE "C" NOT NULL,
    tenant text COLLATE "C",
    address text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL
);

CREATE INDEX actions_at ON actions (at);
