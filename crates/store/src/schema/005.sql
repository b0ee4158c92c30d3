-- Version 5: windows of the queue: rows inserted as a rate, the pacer of its background writes, and the role of each
-- connection.

-- A table's checks cannot be changed, so windows are copied; what refers to them is put aside before, as it would go
-- with the old table.
DROP VIEW window_rates;

CREATE TABLE retries_of_4 AS SELECT seq, sqlstate, count FROM retries;
DROP TABLE retries;

CREATE TABLE windows_of_5 (
    seq                 INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    test                TEXT NOT NULL,
    test_group          TEXT NOT NULL,
    position            INTEGER NOT NULL,
    clients             INTEGER NOT NULL,
    seed                TEXT NOT NULL,
    started_at_ms       INTEGER NOT NULL,
    warmup_us           INTEGER NOT NULL,
    elapsed_us          INTEGER NOT NULL,
    ended_by            TEXT NOT NULL CHECK (ended_by IN ('time', 'work', 'share', 'error')),
    rate_unit           TEXT NOT NULL CHECK (rate_unit IN ('queries', 'rows', 'inserts')),
    target_events_per_s REAL,
    pacer               TEXT CHECK (pacer IN ('even', 'burst')),
    events              INTEGER NOT NULL,
    queries             INTEGER NOT NULL,
    statements          INTEGER NOT NULL,
    statements_working  INTEGER NOT NULL,
    noop_statements     INTEGER NOT NULL,
    rows                INTEGER NOT NULL,
    errors              INTEGER NOT NULL
);

INSERT INTO windows_of_5
    SELECT seq, test, test_group, position, clients, seed, started_at_ms, warmup_us, elapsed_us, ended_by, rate_unit,
           target_events_per_s, NULL, events, queries, statements, statements_working, noop_statements, rows, errors
      FROM windows;
DROP TABLE windows;
ALTER TABLE windows_of_5 RENAME TO windows;

CREATE TABLE retries (
    seq      INTEGER NOT NULL REFERENCES windows (seq) ON DELETE CASCADE,
    sqlstate TEXT NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (seq, sqlstate)
) WITHOUT ROWID;
INSERT INTO retries SELECT seq, sqlstate, count FROM retries_of_4;
DROP TABLE retries_of_4;

CREATE VIEW window_rates AS
    SELECT a.seq, m.name AS arm, a.step, w.test, w.test_group, w.position, a.attempt, a.outcome, a.note, w.clients,
           w.elapsed_us,
           w.queries    * 1e6 / w.elapsed_us AS queries_per_s,
           w.events     * 1e6 / w.elapsed_us AS events_per_s,
           w.statements_working * 1e6 / w.elapsed_us AS statements_working_per_s,
           w.rows       * 1e6 / w.elapsed_us AS rows_per_s
      FROM windows w JOIN actions a ON a.seq = w.seq JOIN arms m ON m.id = a.arm_id;

CREATE TABLE connections (
    seq      INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    role     TEXT NOT NULL,
    client   INTEGER NOT NULL,
    cpu_us   REAL NOT NULL,
    PRIMARY KEY (seq, position)
) WITHOUT ROWID;
INSERT INTO connections SELECT seq, client, '', client, cpu_us FROM backend_cpu;
DROP TABLE backend_cpu;
