-- Version 2: blocks. A block is one replicate: in `isolated` a restart of every arm from the same snapshot.

-- The base measured again under another name; it is a candidate like any other, of which the truth is known.
ALTER TABLE arms ADD COLUMN control INTEGER NOT NULL DEFAULT 0 CHECK (control IN (0, 1));
ALTER TABLE arms ADD COLUMN env TEXT NOT NULL DEFAULT '{}'; -- JSON object: environment of the server program

CREATE TABLE blocks (
    number         INTEGER PRIMARY KEY,
    seed           TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('running', 'done', 'void')),
    note           TEXT,
    started_at_ms  INTEGER NOT NULL,
    finished_at_ms INTEGER,
    restored_by    TEXT NOT NULL,
    tests          TEXT NOT NULL -- JSON array of names
);

CREATE TABLE block_arms (
    block          INTEGER NOT NULL REFERENCES blocks (number) ON DELETE CASCADE,
    arm_id         INTEGER NOT NULL REFERENCES arms (id) ON DELETE CASCADE,
    start_position INTEGER NOT NULL,
    side           TEXT NOT NULL,
    cpus           TEXT NOT NULL,
    PRIMARY KEY (block, arm_id)
) WITHOUT ROWID;

CREATE TABLE canaries (
    block  INTEGER NOT NULL REFERENCES blocks (number) ON DELETE CASCADE,
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after')),
    name   TEXT NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (block, moment, name)
) WITHOUT ROWID;

-- Where a window or a count stands in its block. Observations of runs without blocks have no row here.
CREATE TABLE placements (
    seq           INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    block         INTEGER NOT NULL REFERENCES blocks (number) ON DELETE CASCADE,
    window_number INTEGER NOT NULL,
    slot          INTEGER NOT NULL
);

CREATE TABLE counts (
    seq          INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    test         TEXT NOT NULL,
    test_group   TEXT NOT NULL,
    events       INTEGER NOT NULL,
    operations   REAL NOT NULL,
    instructions REAL NOT NULL,
    counted_by   TEXT NOT NULL
);

CREATE TABLE works (
    test          TEXT PRIMARY KEY,
    warmup_events INTEGER NOT NULL,
    window_events INTEGER NOT NULL,
    count_events  INTEGER NOT NULL
) WITHOUT ROWID;
