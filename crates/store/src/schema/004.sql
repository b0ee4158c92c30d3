-- Version 4: what sessions were found waiting for while a profile was taken.

CREATE TABLE waits (
    seq   INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    kind  TEXT NOT NULL,
    event TEXT NOT NULL,
    found INTEGER NOT NULL,
    looks INTEGER NOT NULL,
    PRIMARY KEY (seq, kind, event)
) WITHOUT ROWID;
