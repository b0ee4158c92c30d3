-- Version 7: what a rate counts is data of the run, and a step knows what it is for. Words (units, what ended a window,
-- pacers) have no checks any more: a new one needs no migration.

CREATE TABLE units (
    key  TEXT PRIMARY KEY,
    one  TEXT NOT NULL, -- one of it in a sentence
    per  TEXT NOT NULL, -- one of it after a slash
    many TEXT NOT NULL  -- many of it, before "per second"
) WITHOUT ROWID;

-- Units and roles as older runs say them: by a key of a list that the program had, and by the end of a step's name.
CREATE TEMP TABLE units_of_6 (was TEXT, key TEXT, one TEXT, per TEXT, many TEXT);
INSERT INTO units_of_6 VALUES
    ('queries', 'queries', 'a query', 'query', 'queries'),
    ('rows', 'krows', 'a thousand rows', '1000 rows', 'thousand rows'),
    ('inserts', 'rows', 'a row', 'row', 'rows inserted (l.x: indexed)');
INSERT INTO units SELECT key, one, per, many FROM units_of_6 WHERE was IN (SELECT rate_unit FROM windows);

ALTER TABLE steps ADD COLUMN role TEXT; -- test, warm, pre; null for settles
UPDATE steps SET role = CASE
        WHEN name LIKE '%.warm' OR name LIKE '%.warmpre' THEN 'warm'
        WHEN name LIKE '%.pre' THEN 'pre'
        ELSE 'test' END
 WHERE kind = 'measure';

-- Windows are copied once more; what refers to them is put aside before, as it would go with the old table.
DROP VIEW window_rates;

CREATE TABLE retries_of_6 AS SELECT seq, sqlstate, count FROM retries;
DROP TABLE retries;

CREATE TABLE windows_of_7 (
    seq                 INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    test                TEXT NOT NULL,
    test_group          TEXT NOT NULL,
    role                TEXT NOT NULL,
    position            INTEGER NOT NULL,
    clients             INTEGER NOT NULL,
    seed                TEXT NOT NULL,
    started_at_ms       INTEGER NOT NULL,
    warmup_us           INTEGER NOT NULL,
    elapsed_us          INTEGER NOT NULL,
    ended_by            TEXT NOT NULL,
    unit                TEXT NOT NULL REFERENCES units (key),
    operations          REAL NOT NULL,
    target_events_per_s REAL,
    pacer               TEXT,
    events              INTEGER NOT NULL,
    queries             INTEGER NOT NULL,
    statements          INTEGER NOT NULL,
    statements_working  INTEGER NOT NULL,
    noop_statements     INTEGER NOT NULL,
    rows                INTEGER NOT NULL,
    errors              INTEGER NOT NULL
);

INSERT INTO windows_of_7
    SELECT w.seq, w.test, w.test_group,
           CASE WHEN a.step LIKE '%.warm' OR a.step LIKE '%.warmpre' THEN 'warm'
                WHEN a.step LIKE '%.pre' THEN 'pre'
                ELSE 'test' END,
           w.position, w.clients, w.seed, w.started_at_ms, w.warmup_us, w.elapsed_us, w.ended_by, u.key,
           CASE w.rate_unit WHEN 'queries' THEN w.queries WHEN 'rows' THEN w.rows / 1000.0 ELSE w.rows END,
           w.target_events_per_s, w.pacer, w.events, w.queries, w.statements, w.statements_working,
           w.noop_statements, w.rows, w.errors
      FROM windows w JOIN actions a ON a.seq = w.seq JOIN units_of_6 u ON u.was = w.rate_unit;
DROP TABLE windows;
ALTER TABLE windows_of_7 RENAME TO windows;
DROP TABLE units_of_6;

CREATE TABLE retries (
    seq      INTEGER NOT NULL REFERENCES windows (seq) ON DELETE CASCADE,
    sqlstate TEXT NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (seq, sqlstate)
) WITHOUT ROWID;
INSERT INTO retries SELECT seq, sqlstate, count FROM retries_of_6;
DROP TABLE retries_of_6;

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
