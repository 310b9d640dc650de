-- Which share of a type's jobs that ask for no version gets which one.

CREATE TABLE routings (
    type TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL
) STRICT, WITHOUT ROWID;
