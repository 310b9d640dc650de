-- Which share of a type's jobs that ask for no version gets which one.

CREATE TABLE routings (
    type text COLLATE "C" NOT NULL PRIMARY KEY,
    config bytea NOT NULL
);
