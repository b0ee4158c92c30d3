-- Version 1. Times ending in _at_ms are milliseconds since 1970 (UTC); lengths end in _us (microseconds).
-- Seeds are text: they use all 64 bits, which SQLite's integers cannot show unsigned.

CREATE TABLE run (
    id                INTEGER PRIMARY KEY CHECK (id = 1),
    name              TEXT NOT NULL,
    program_version   TEXT NOT NULL,
    created_at_ms     INTEGER NOT NULL,
    workload          TEXT NOT NULL,
    workload_revision TEXT NOT NULL,
    protocol          TEXT NOT NULL,
    seed              TEXT NOT NULL,
    tables            INTEGER NOT NULL,
    rows_per_table    INTEGER NOT NULL,
    clients           INTEGER NOT NULL,
    actions_total     INTEGER NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('running', 'complete', 'failed', 'interrupted')),
    status_reason     TEXT,
    status_at_ms      INTEGER NOT NULL
);

CREATE TABLE method (
    position INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    value    TEXT NOT NULL
);

CREATE TABLE host_facts (
    key        TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    comparable INTEGER NOT NULL CHECK (comparable IN (0, 1))
);

CREATE TABLE steps (
    position   INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    test       TEXT,
    test_group TEXT,
    clients    INTEGER NOT NULL,
    amount     TEXT NOT NULL
);

CREATE TABLE arms (
    id                 INTEGER PRIMARY KEY,
    name               TEXT NOT NULL UNIQUE,
    role               TEXT NOT NULL CHECK (role IN ('base', 'candidate')),
    dbms               TEXT NOT NULL,
    build_version      TEXT NOT NULL,
    build_hash         TEXT NOT NULL,
    build_origin       TEXT NOT NULL,
    build_version_text TEXT NOT NULL,
    config_name        TEXT NOT NULL,
    config_hash        TEXT NOT NULL,
    config_text        TEXT NOT NULL
);

CREATE TABLE arm_left_out (
    arm_id   INTEGER NOT NULL REFERENCES arms (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    option   TEXT NOT NULL,
    value    TEXT NOT NULL,
    reason   TEXT NOT NULL,
    PRIMARY KEY (arm_id, position)
) WITHOUT ROWID;

CREATE TABLE arm_managed (
    arm_id   INTEGER NOT NULL REFERENCES arms (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (arm_id, position)
) WITHOUT ROWID;

-- Every attempt that began, finished or not.
CREATE TABLE attempts (
    seq           INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL,
    PRIMARY KEY (seq, attempt)
) WITHOUT ROWID;

-- One row for each finished action. All tables below hang on it and are written in the same transaction.
CREATE TABLE actions (
    seq            INTEGER PRIMARY KEY,
    arm_id         INTEGER NOT NULL REFERENCES arms (id),
    kind           TEXT NOT NULL,
    step           TEXT NOT NULL,
    attempt        INTEGER NOT NULL,
    started_at_ms  INTEGER NOT NULL,
    finished_at_ms INTEGER NOT NULL,
    outcome        TEXT NOT NULL CHECK (outcome IN ('done', 'invalid')),
    note           TEXT
);

CREATE TABLE notes (
    id     INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,
    arm_id INTEGER REFERENCES arms (id),
    text   TEXT NOT NULL
);

CREATE TABLE windows (
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
    rate_unit           TEXT NOT NULL CHECK (rate_unit IN ('queries', 'rows')),
    target_events_per_s REAL,
    events              INTEGER NOT NULL,
    queries             INTEGER NOT NULL,
    statements          INTEGER NOT NULL,
    statements_working  INTEGER NOT NULL,
    noop_statements     INTEGER NOT NULL,
    rows                INTEGER NOT NULL,
    errors              INTEGER NOT NULL
);

CREATE TABLE retries (
    seq      INTEGER NOT NULL REFERENCES windows (seq) ON DELETE CASCADE,
    sqlstate TEXT NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (seq, sqlstate)
) WITHOUT ROWID;

CREATE TABLE loads (
    seq       INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    tables    INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    load_us   INTEGER NOT NULL,
    index_us  INTEGER NOT NULL
);

CREATE TABLE settles (
    seq        INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    actions    TEXT NOT NULL, -- JSON array of what was done, in order
    elapsed_us INTEGER NOT NULL,
    cap_us     INTEGER NOT NULL,
    reached    INTEGER NOT NULL CHECK (reached IN (0, 1))
);

CREATE TABLE settle_conditions (
    seq          INTEGER NOT NULL REFERENCES settles (seq) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT NOT NULL,
    value_before REAL NOT NULL,
    value_after  REAL NOT NULL,
    target       REAL NOT NULL,
    PRIMARY KEY (seq, position)
) WITHOUT ROWID;

CREATE TABLE metrics (
    seq   INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    name  TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;

CREATE TABLE backend_cpu (
    seq    INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    client INTEGER NOT NULL,
    cpu_us REAL NOT NULL,
    PRIMARY KEY (seq, client)
) WITHOUT ROWID;

-- A step has hundreds of counters under the same names, so the names are kept once; read them through counter_values.
CREATE TABLE counter_names (
    id          INTEGER PRIMARY KEY,
    view        TEXT NOT NULL,
    object      TEXT NOT NULL,
    column_name TEXT NOT NULL,
    UNIQUE (view, object, column_name)
);

CREATE TABLE counters (
    seq          INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    name_id      INTEGER NOT NULL REFERENCES counter_names (id),
    value_before REAL,
    value_after  REAL,
    PRIMARY KEY (seq, name_id)
) WITHOUT ROWID;

CREATE TABLE series (
    seq    INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    unit   TEXT NOT NULL,
    points TEXT NOT NULL, -- JSON array of numbers, one a second
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;

CREATE TABLE histograms (
    seq           INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    statement     TEXT NOT NULL,
    measured_from TEXT NOT NULL CHECK (measured_from IN ('sent', 'scheduled')),
    count         INTEGER NOT NULL,
    p50_us        REAL NOT NULL,
    p95_us        REAL NOT NULL,
    p99_us        REAL NOT NULL,
    max_us        REAL NOT NULL,
    mean_us       REAL NOT NULL,
    v2            BLOB NOT NULL, -- HdrHistogram, V2 encoding
    PRIMARY KEY (seq, statement, measured_from)
);

CREATE TABLE query_plans (
    seq       INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    statement TEXT NOT NULL,
    sql       TEXT NOT NULL,
    text      TEXT NOT NULL,
    json      TEXT NOT NULL,
    PRIMARY KEY (seq, statement)
);

CREATE TABLE fingerprints (
    seq   INTEGER NOT NULL REFERENCES actions (seq) ON DELETE CASCADE,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (seq, key)
) WITHOUT ROWID;

CREATE VIEW counter_values AS
    SELECT c.seq, n.view, n.object, n.column_name, c.value_before, c.value_after,
           c.value_after - c.value_before AS delta
      FROM counters c JOIN counter_names n ON n.id = c.name_id;

CREATE VIEW window_rates AS
    SELECT a.seq, m.name AS arm, a.step, w.test, w.test_group, w.position, a.attempt, a.outcome, a.note, w.clients,
           w.elapsed_us,
           w.queries    * 1e6 / w.elapsed_us AS queries_per_s,
           w.events     * 1e6 / w.elapsed_us AS events_per_s,
           w.statements_working * 1e6 / w.elapsed_us AS statements_working_per_s,
           w.rows       * 1e6 / w.elapsed_us AS rows_per_s
      FROM windows w JOIN actions a ON a.seq = w.seq JOIN arms m ON m.id = a.arm_id;
