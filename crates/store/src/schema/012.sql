-- Version 12: results of other programs. What their files do not tell is NULL in windows; what has no column is in
-- imported_values, as printed and as a number.

-- Windows are copied, as constraints of columns cannot be changed; what refers to them is put aside before.
DROP VIEW window_rates;

CREATE TABLE retries_of_11 AS SELECT seq, sqlstate, count FROM retries;
DROP TABLE retries;

CREATE TABLE windows_of_12 (
    seq                 INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    test                TEXT NOT NULL,
    test_group          TEXT NOT NULL,
    role                TEXT NOT NULL,
    position            INTEGER NOT NULL,
    clients             INTEGER NOT NULL,
    seed                TEXT,
    started_at_ms       INTEGER,
    warmup_us           INTEGER,
    elapsed_us          INTEGER NOT NULL,
    ended_by            TEXT NOT NULL,
    unit                TEXT NOT NULL REFERENCES units (key),
    operations          REAL NOT NULL,
    target_events_per_s REAL,
    pacer               TEXT,
    events              INTEGER,
    queries             INTEGER,
    statements          INTEGER,
    statements_working  INTEGER,
    noop_statements     INTEGER,
    rows                INTEGER,
    errors              INTEGER
);

INSERT INTO windows_of_12
    SELECT seq, test, test_group, role, position, clients, seed, started_at_ms, warmup_us, elapsed_us, ended_by, unit,
           operations, target_events_per_s, pacer, events, queries, statements, statements_working, noop_statements,
           rows, errors
      FROM windows;
DROP TABLE windows;
ALTER TABLE windows_of_12 RENAME TO windows;

CREATE TABLE retries (
    seq      INTEGER NOT NULL REFERENCES windows (seq) ON DELETE CASCADE,
    sqlstate TEXT NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (seq, sqlstate)
) WITHOUT ROWID;
INSERT INTO retries SELECT seq, sqlstate, count FROM retries_of_11;
DROP TABLE retries_of_11;

CREATE VIEW window_rates AS
    SELECT a.seq, m.name AS arm, a.step, w.test, w.test_group, w.position, a.attempt, a.outcome, a.note, w.clients,
           w.elapsed_us,
           w.operations * 1e6 / w.elapsed_us AS rate,
           w.unit,
           w.queries    * 1e6 / w.elapsed_us AS queries_per_s,
           w.events     * 1e6 / w.elapsed_us AS events_per_s,
           w.statements_working * 1e6 / w.elapsed_us AS statements_working_per_s,
           w.rows       * 1e6 / w.elapsed_us AS rows_per_s
      FROM windows w JOIN actions a ON a.seq = w.seq JOIN arms m ON m.id = a.arm_id;

CREATE TABLE sources (
    id             INTEGER PRIMARY KEY,
    path           TEXT NOT NULL UNIQUE,
    sha256         TEXT NOT NULL UNIQUE,
    bytes          INTEGER NOT NULL,
    format         TEXT NOT NULL,
    tool           TEXT,             -- the program that wrote it, with its version
    quirks         TEXT NOT NULL,    -- JSON array of keys
    measured_at_ms INTEGER           -- null unless the file tells
);

CREATE TABLE imported_values (
    seq       INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    name      TEXT NOT NULL,
    unit      TEXT NOT NULL,
    value     REAL,                  -- what was measured; null if that cannot be told
    published TEXT,                  -- as printed
    source_id INTEGER NOT NULL REFERENCES sources (id),
    line      INTEGER NOT NULL,
    PRIMARY KEY (seq, position)
) WITHOUT ROWID;
