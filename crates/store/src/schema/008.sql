-- Version 8: the title of a benchmark and its groups of tests are data of the run, in its own words, and a step knows
-- whether it changes rows.

CREATE TABLE groups (
    key         TEXT PRIMARY KEY,
    title       TEXT NOT NULL,    -- above a table
    short       TEXT NOT NULL,    -- in a sentence
    position    INTEGER NOT NULL, -- among the groups of the benchmark, from 1
    consecutive INTEGER NOT NULL  -- 1: each step finds the data that the one before it left
) WITHOUT ROWID;

-- Groups as older runs say them: by a key of a list that the program had.
CREATE TEMP TABLE groups_of_7 (key TEXT, title TEXT, short TEXT, position INTEGER, consecutive INTEGER, writes INTEGER);
INSERT INTO groups_of_7 VALUES
    ('point', 'point queries', 'point', 1, 0, 0),
    ('range', 'range queries without aggregation', 'range', 2, 0, 0),
    ('range-aggregate', 'range queries with aggregation', 'range with aggregation', 3, 0, 0),
    ('write', 'writes', 'writes', 4, 0, 1),
    ('insert', 'inserts', 'inserts', 1, 1, 1),
    ('background', 'queries beside writes', 'queries beside writes', 2, 1, 1);
INSERT INTO groups
    SELECT key, title, short, position, consecutive FROM groups_of_7 WHERE key IN (SELECT test_group FROM steps);

ALTER TABLE run ADD COLUMN workload_title TEXT NOT NULL DEFAULT '';
UPDATE run SET workload_title = CASE workload WHEN 'insert' THEN 'Insert Benchmark' ELSE workload END;

ALTER TABLE steps ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;
UPDATE steps SET writes = 1 WHERE test_group IN (SELECT key FROM groups_of_7 WHERE writes);
DROP TABLE groups_of_7;
