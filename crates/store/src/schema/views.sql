-- The tables of the export as views, for any SQLite client; docs/EXPORT.md says what their columns are. They hold nothing,
-- so each version drops those of the one before and makes its own: a change here wants a new version (a migration that
-- may be empty), or runs that are there keep the old ones.
--
-- A division by zero is NULL. Moments are ISO 8601.

-- What every row of an observation begins with.
CREATE VIEW flat_places AS
    SELECT a.seq, m.name AS arm, a.step,
           coalesce(w.test, c.test, p.test) AS test,
           coalesce(w.test_group, c.test_group, p.test_group) AS test_group,
           l.block, nullif(l.window_number, 0) AS window_number,
           a.outcome = 'done' AND w.role IS NOT 'warm' AND CASE
               WHEN l.block IS NOT NULL THEN l.block IN (SELECT number FROM blocks WHERE status = 'done')
               ELSE a.kind <> 'measure' OR NOT EXISTS (SELECT 1 FROM blocks) END AS is_result
      FROM actions a
      JOIN arms m ON m.id = a.arm_id
      LEFT JOIN windows w ON w.seq = a.seq
      LEFT JOIN counts c ON c.seq = a.seq
      LEFT JOIN profiles p ON p.seq = a.seq
      LEFT JOIN placements l ON l.seq = a.seq;

CREATE VIEW flat_runs AS
    SELECT name AS plan,
           strftime('%Y-%m-%dT%H:%M:%fZ', created_at_ms / 1000.0, 'unixepoch') AS created_at,
           status, status_reason, protocol, workload, workload_revision, seed, tables, rows_per_table, clients,
           (SELECT count(*) FROM blocks b WHERE b.status = 'done') AS blocks_done,
           program_version AS rqps_version
      FROM run;

CREATE VIEW flat_host AS
    SELECT key AS fact, value, comparable AS is_compared FROM host_facts ORDER BY key;

CREATE VIEW flat_arms AS
    SELECT name AS arm, row_number() OVER (ORDER BY id) AS position, role, control AS is_control,
           -- Without concat_ws, which SQLite has from 3.44 on.
           coalesce(nullif(ltrim(ltrim(coalesce(dbms, '') || coalesce('-' || nullif(build_version, ''), ''), '-')
                                 || coalesce('.' || nullif(config_name, ''), ''), '.'), ''), name) AS variant,
           dbms, build_version AS version,
           CASE WHEN build_version GLOB '[0-9]*' THEN CAST(build_version AS INTEGER) END AS major,
           build_version_text AS version_text, build_hash, build_origin, config_name AS config, config_hash, config_text
      FROM arms
     ORDER BY id;

-- Runs that did not record all settings have those that were not at their default, in the state before windows, as
-- `value (source)`. They are taken from the arm's first window that has some.
CREATE VIEW flat_settings AS
    WITH states AS (
        SELECT a.arm_id, a.seq, substr(f.key, 9) AS name, f.value,
               rtrim(f.value, replace(f.value, '(', '')) AS up_to_source
          FROM fingerprints f JOIN actions a ON a.seq = f.seq
         WHERE f.key GLOB 'setting.*' AND a.arm_id NOT IN (SELECT arm_id FROM arm_settings)
    ), firsts AS (
        SELECT arm_id, min(seq) AS seq FROM states GROUP BY arm_id
    ), settings (arm_id, kind_at, kind, at, name, value, source, is_default) AS (
        SELECT arm_id, 1, 'server', 0, name, value, source, is_default FROM arm_settings
        UNION ALL
        SELECT arm_id, 1, 'server', 0, name,
               CASE WHEN has_source THEN substr(up_to_source, 1, length(up_to_source) - 2) ELSE value END,
               CASE WHEN has_source THEN rtrim(substr(value, length(up_to_source) + 1), ')') END,
               NULL
          FROM (SELECT s.*, value GLOB '*)' AND up_to_source GLOB '* (' AS has_source
                  FROM states s JOIN firsts USING (arm_id, seq))
        UNION ALL
        SELECT arm_id, 2, 'managed', position, name, value, NULL, NULL FROM arm_managed
        UNION ALL
        SELECT arm_id, 3, CASE WHEN taken IS NULL THEN 'left-out' ELSE 'adjusted' END, position, option, value, reason, NULL
          FROM arm_left_out
        UNION ALL
        SELECT arm_id, 4, 'build', position, name, value, NULL, NULL FROM arm_facts
        UNION ALL
        SELECT m.id, 5, 'environment', 0, j.key, j.value, NULL, NULL FROM arms m, json_each(m.env) j
        UNION ALL
        SELECT m.id, 6, 'after-load', j.key, CAST(j.key + 1 AS TEXT), j.value, NULL, NULL
          FROM arms m, json_each(m.after_load) j
    )
    SELECT m.name AS arm, s.kind, s.name, s.value, s.source, s.is_default
      FROM settings s JOIN arms m ON m.id = s.arm_id
     ORDER BY s.arm_id, s.kind_at, s.at, s.name;

CREATE VIEW flat_steps AS
    SELECT position, name AS step, kind, test, test_group, nullif(clients, 0) AS clients, amount
      FROM steps
     ORDER BY position;

CREATE VIEW flat_windows AS
    SELECT p.*, l.slot, w.position, nullif(w.clients, 0) AS clients,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.started_at_ms / 1000.0, 'unixepoch') AS started_at,
           -- Of some imported results only the rate is known: their windows stand for one second.
           w.warmup_us, CASE WHEN w.ended_by <> 'rate' THEN w.elapsed_us END AS elapsed_us, w.ended_by,
           w.unit AS rate_unit, w.operations * 1e6 / w.elapsed_us AS rate,
           w.target_events_per_s, w.pacer, CASE WHEN w.ended_by <> 'rate' THEN w.operations END AS operations, w.events, w.queries, w.statements, w.statements_working,
           w.noop_statements, w.rows, w.errors,
           (SELECT coalesce(sum(r.count), 0) FROM retries r WHERE r.seq = w.seq) AS retries,
           a.outcome, a.note, a.attempt, w.seed,
           cpu.value / w.operations AS cpu_us_per_op,
           -- Hardware counters that had to share a register are too small.
           CASE WHEN coalesce(shared.value, 0) <= 0 THEN instructions.value / w.operations END AS instructions_per_op,
           wal.value / w.operations AS wal_bytes_per_op,
           touched.value / w.operations AS rows_per_op,
           blocks.value / w.operations AS blocks_per_op,
           fsyncs.value / w.operations AS fsyncs_per_op,
           switches.value / w.operations AS context_switches_per_op,
           reads.value / w.operations AS disk_reads_per_op,
           read_kb.value / w.operations AS disk_read_kb_per_op,
           writes.value / w.operations AS disk_writes_per_op,
           write_kb.value / w.operations AS disk_write_kb_per_op,
           client.value / w.operations AS client_cpu_us_per_op
      FROM windows w
      JOIN actions a ON a.seq = w.seq
      JOIN flat_places p ON p.seq = w.seq
      LEFT JOIN placements l ON l.seq = w.seq
      LEFT JOIN metrics cpu ON cpu.seq = w.seq AND cpu.name = 'server_cpu_us'
      LEFT JOIN metrics instructions ON instructions.seq = w.seq AND instructions.name = 'server_instructions_user'
      LEFT JOIN metrics shared ON shared.seq = w.seq AND shared.name = 'server_perf_multiplexed'
      LEFT JOIN metrics wal ON wal.seq = w.seq AND wal.name = 'server_wal_bytes'
      LEFT JOIN metrics touched ON touched.seq = w.seq AND touched.name = 'server_rows_touched'
      LEFT JOIN metrics blocks ON blocks.seq = w.seq AND blocks.name = 'server_blocks_touched'
      LEFT JOIN metrics fsyncs ON fsyncs.seq = w.seq AND fsyncs.name = 'server_fsyncs'
      LEFT JOIN metrics switches ON switches.seq = w.seq AND switches.name = 'host_context_switches'
      LEFT JOIN metrics reads ON reads.seq = w.seq AND reads.name = 'disk_reads'
      LEFT JOIN metrics read_kb ON read_kb.seq = w.seq AND read_kb.name = 'disk_read_kb'
      LEFT JOIN metrics writes ON writes.seq = w.seq AND writes.name = 'disk_writes'
      LEFT JOIN metrics write_kb ON write_kb.seq = w.seq AND write_kb.name = 'disk_write_kb'
      LEFT JOIN metrics client ON client.seq = w.seq AND client.name = 'client_cpu_us'
     ORDER BY w.seq;

CREATE VIEW flat_counts AS
    SELECT p.*, c.events, c.operations, c.instructions, c.instructions / c.operations AS instructions_per_op, c.counted_by
      FROM counts c JOIN flat_places p ON p.seq = c.seq
     ORDER BY c.seq;

CREATE VIEW flat_clients AS
    WITH of_windows AS (
        SELECT seq, client FROM connections
        UNION
        SELECT s.seq, j.key FROM series s, json_each(s.points) j WHERE s.name = 'work-window'
    )
    SELECT p.*, c.client,
           (SELECT sum(n.cpu_us) FROM connections n WHERE n.seq = c.seq AND n.client = c.client) AS backend_cpu_us,
           (SELECT json_extract(s.points, '$[' || c.client || ']') FROM series s
             WHERE s.seq = c.seq AND s.name = 'work-warmup') AS warmup_events,
           (SELECT json_extract(s.points, '$[' || c.client || ']') FROM series s
             WHERE s.seq = c.seq AND s.name = 'work-window') AS events
      FROM of_windows c
      JOIN windows w ON w.seq = c.seq
      JOIN flat_places p ON p.seq = c.seq
     ORDER BY c.seq, c.client;

CREATE VIEW flat_connections AS
    SELECT p.*, n.client, n.role, n.cpu_us
      FROM connections n
      JOIN windows w ON w.seq = n.seq
      JOIN flat_places p ON p.seq = n.seq
     ORDER BY n.seq, n.position;

CREATE VIEW flat_loads AS
    SELECT p.*, l.tables, l.rows, l.load_us, l.index_us, l.rows * 1e6 / (l.load_us + l.index_us) AS rows_per_s
      FROM loads l JOIN flat_places p ON p.seq = l.seq
     ORDER BY l.seq;

CREATE VIEW flat_settles AS
    SELECT p.*, c.name AS condition, c.value_before AS before, c.value_after AS after, c.target, s.reached AS is_reached,
           s.elapsed_us, s.cap_us,
           (SELECT coalesce(group_concat(j.value, ', '), '') FROM json_each(s.actions) j) AS actions
      FROM settle_conditions c
      JOIN settles s ON s.seq = c.seq
      JOIN flat_places p ON p.seq = c.seq
     ORDER BY c.seq, c.position;

CREATE VIEW flat_metrics AS
    SELECT p.*, m.name AS metric, m.value, m.value / coalesce(w.operations, o.operations, l.rows) AS per_op
      FROM metrics m
      JOIN flat_places p ON p.seq = m.seq
      LEFT JOIN windows w ON w.seq = m.seq
      LEFT JOIN profiles o ON o.seq = m.seq
      LEFT JOIN loads l ON l.seq = m.seq
     ORDER BY m.seq, m.name;

CREATE VIEW flat_counters AS
    SELECT p.*, n.view, n.object, n.column_name AS counter, c.value_before AS before, c.value_after AS after,
           c.value_after - c.value_before AS delta,
           (c.value_after - c.value_before) / coalesce(w.operations, l.rows) AS per_op
      FROM counters c
      JOIN counter_names n ON n.id = c.name_id
      JOIN flat_places p ON p.seq = c.seq
      LEFT JOIN windows w ON w.seq = c.seq
      LEFT JOIN loads l ON l.seq = c.seq
     WHERE w.seq IS NOT NULL OR l.seq IS NOT NULL
     ORDER BY c.seq, c.name_id;

-- Series of clients, which are no seconds, are in flat_clients.
CREATE VIEW flat_series AS
    SELECT p.*, s.name AS series, s.unit, j.key AS second, j.value
      FROM series s
      JOIN windows w ON w.seq = s.seq
      JOIN flat_places p ON p.seq = s.seq,
      json_each(s.points) j
     WHERE s.name NOT IN ('work-warmup', 'work-window')
     ORDER BY s.seq, s.name;

-- Whole histograms (column v2 of histograms) take a program: rqps export has further percentiles and the buckets.
CREATE VIEW flat_latencies AS
    SELECT p.*, h.statement, h.measured_from, h.count,
           CASE WHEN h.count > 0 THEN h.mean_us END AS mean_us,
           CASE WHEN h.count > 0 THEN h.p50_us END AS p50_us,
           CASE WHEN h.count > 0 THEN h.p95_us END AS p95_us,
           CASE WHEN h.count > 0 THEN h.p99_us END AS p99_us,
           CASE WHEN h.count > 0 THEN h.max_us END AS max_us
      FROM histograms h
      JOIN windows w ON w.seq = h.seq
      JOIN flat_places p ON p.seq = h.seq
     ORDER BY h.seq, h.statement, h.measured_from;

CREATE VIEW flat_plans AS
    SELECT p.*, q.statement, q.sql, q.text AS plan, nullif(q.json, '') AS plan_json
      FROM query_plans q
      JOIN windows w ON w.seq = q.seq
      JOIN flat_places p ON p.seq = q.seq
     ORDER BY q.seq, q.statement;

CREATE VIEW flat_fingerprints AS
    SELECT p.*, f.key, f.value,
           CASE WHEN json_valid(f.value)
                THEN CASE WHEN json_type(f.value) IN ('integer', 'real') THEN CAST(f.value AS REAL) END END AS number
      FROM fingerprints f
      JOIN windows w ON w.seq = f.seq
      JOIN flat_places p ON p.seq = f.seq
     WHERE f.key NOT GLOB 'setting.*'
     ORDER BY f.seq, f.key;

CREATE VIEW flat_profiles AS
    SELECT p.*, o.clients, o.events, o.operations, o.elapsed_us, o.sampled_by, o.event, o.frequency_hz, o.call_graph,
           o.samples, o.lost_samples, o.unresolved_samples, o.note
      FROM profiles o JOIN flat_places p ON p.seq = o.seq
     ORDER BY o.seq;

CREATE VIEW flat_blocks AS
    SELECT number AS block, status, note, seed,
           strftime('%Y-%m-%dT%H:%M:%fZ', started_at_ms / 1000.0, 'unixepoch') AS started_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', finished_at_ms / 1000.0, 'unixepoch') AS finished_at,
           restored_by, json_array_length(tests) AS tests
      FROM blocks
     ORDER BY number;

CREATE VIEW flat_block_arms AS
    SELECT b.block, m.name AS arm, b.start_position, b.side, b.cpus, b.copy
      FROM block_arms b JOIN arms m ON m.id = b.arm_id
     ORDER BY b.block, b.start_position;

CREATE VIEW flat_canaries AS
    SELECT block, moment, name AS canary, value FROM canaries ORDER BY block, moment DESC, name;

CREATE VIEW flat_certificates AS
    SELECT moment, quantity, value, low, high FROM certificates ORDER BY moment DESC, quantity;

CREATE VIEW flat_actions AS
    SELECT a.seq, m.name AS arm, a.kind, a.step, a.attempt,
           strftime('%Y-%m-%dT%H:%M:%fZ', a.started_at_ms / 1000.0, 'unixepoch') AS started_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', a.finished_at_ms / 1000.0, 'unixepoch') AS finished_at,
           a.outcome, a.note
      FROM actions a JOIN arms m ON m.id = a.arm_id
     ORDER BY a.seq;

CREATE VIEW flat_notes AS
    SELECT row_number() OVER (ORDER BY n.id) AS number,
           strftime('%Y-%m-%dT%H:%M:%fZ', n.at_ms / 1000.0, 'unixepoch') AS noted_at,
           m.name AS arm, n.text
      FROM notes n LEFT JOIN arms m ON m.id = n.arm_id
     ORDER BY n.id;

CREATE VIEW flat_sources AS
    SELECT id AS source, path, sha256, bytes, format, tool, quirks,
           strftime('%Y-%m-%dT%H:%M:%fZ', measured_at_ms / 1000.0, 'unixepoch') AS measured_at
      FROM sources
     ORDER BY id;

CREATE VIEW flat_imported_values AS
    SELECT p.*, v.position, v.name, v.unit, v.value, v.published, v.source_id AS source, v.line
      FROM imported_values v JOIN flat_places p ON p.seq = v.seq
     ORDER BY v.seq, v.position;
