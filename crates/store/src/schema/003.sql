-- Version 3: what an arm's server says of itself, what is run on it after the load, and CPU profiles.

ALTER TABLE arms ADD COLUMN after_load TEXT NOT NULL DEFAULT '[]'; -- JSON array of statements

CREATE TABLE arm_facts (
    arm_id   INTEGER NOT NULL REFERENCES arms (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (arm_id, position)
) WITHOUT ROWID;

CREATE TABLE arm_settings (
    arm_id     INTEGER NOT NULL REFERENCES arms (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    source     TEXT NOT NULL,
    is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    PRIMARY KEY (arm_id, name)
) WITHOUT ROWID;

CREATE TABLE profiles (
    seq                INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    test               TEXT NOT NULL,
    test_group         TEXT NOT NULL,
    clients            INTEGER NOT NULL,
    events             INTEGER NOT NULL,
    operations         REAL NOT NULL,
    elapsed_us         INTEGER NOT NULL,
    sampled_by         TEXT NOT NULL,
    event              TEXT NOT NULL,
    frequency_hz       REAL NOT NULL,
    call_graph         TEXT NOT NULL,
    samples            INTEGER NOT NULL,
    lost_samples       INTEGER NOT NULL,
    unresolved_samples INTEGER NOT NULL,
    file               TEXT NOT NULL,
    note               TEXT
);
