//! Reads exports with DuckDB.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use rqps_export::{ALL, Format, Options, Table, export};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{self, Spec};
use serde_json::Value;

use crate::run::{write_imported, write_run};

/// Three runs in all formats: one with details, one with blocks and verdicts, and one that was imported.
pub struct Exported {
    pub dir: tempfile::TempDir,
}

impl Exported {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::mixed();
        let paths = [
            write_run(dir.path(), "details"),
            testing::write_run(dir.path(), &spec).unwrap(),
            write_imported(dir.path(), "imported"),
        ];
        let runs: Vec<_> = paths.iter().map(|path| RunFolder::open(path).unwrap()).collect();
        let options = Options {
            tables: ALL.iter().collect(),
            formats: Format::ALL.to_vec(),
            replace: false,
            stop: &AtomicBool::new(false),
        };
        let exported = export(&runs, &dir.path().join("export"), &options).unwrap();
        assert_eq!(exported.remarks, Vec::<String>::new());
        let empty: Vec<_> = exported.files.iter().filter(|file| file.rows == 0).collect();
        assert!(empty.is_empty(), "no rows to test in {empty:?}");
        Self { dir }
    }

    /// Runs a query in the export's directory.
    pub fn query(&self, sql: &str) -> Vec<Value> {
        let program = root().join("tools/duckdb");
        let answer = Command::new(program)
            .args(["-init", "/dev/null", "-bail", "-json", "-c", "SET TimeZone = 'UTC'", "-c", sql])
            .current_dir(self.dir.path().join("export"))
            .output()
            .unwrap();
        let (out, errors) =
            (String::from_utf8(answer.stdout).unwrap(), String::from_utf8_lossy(&answer.stderr));
        assert!(answer.status.success(), "{sql}\n{out}\n{errors}");
        if out.trim().is_empty() {
            Vec::new()
        } else {
            serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> String {
    std::fs::read_to_string(root().join("docs/EXPORT.md")).unwrap()
}

/// A query that counts the differences between a table's Parquet file and the other two.
fn differences(table: &Table) -> String {
    let types: Vec<String> =
        table.columns.iter().map(|column| format!("{}: '{}'", column.name, column.kind.key())).collect();
    // CSV cannot distinguish an empty text from a missing one.
    let texts: Vec<String> = table
        .columns
        .iter()
        .filter(|column| column.kind.key() == "VARCHAR")
        .map(|column| format!("nullif({0}, '') AS {0}", column.name))
        .collect();
    let (name, key, types) = (table.name, table.key.join(", "), types.join(", "));
    let csv = format!("(SELECT * FROM read_csv('{name}.csv', columns = {{{types}}}, header = true))");
    let json = format!(
        "(SELECT * FROM read_json('{name}.jsonl', format = 'newline_delimited', columns = {{{types}}}))"
    );
    let as_csv = format!("(SELECT * REPLACE ({}) FROM '{name}.parquet')", texts.join(", "));
    format!(
        "SELECT '{name}' AS name, \
         (SELECT count(*) FROM '{name}.parquet') AS rows, \
         (SELECT count(*) FROM (SELECT DISTINCT {key} FROM '{name}.parquet')) AS distinct_keys, \
         (SELECT count(*) FROM (FROM {as_csv} EXCEPT ALL FROM {csv})) AS not_in_csv, \
         (SELECT count(*) FROM {csv}) AS rows_csv, \
         (SELECT count(*) FROM (FROM '{name}.parquet' EXCEPT ALL FROM {json})) AS not_in_json, \
         (SELECT count(*) FROM {json}) AS rows_json"
    )
}

#[test]
fn formats_hold_the_same_rows_and_keys_are_unique() {
    let exported = Exported::new();
    let all: Vec<String> = ALL.iter().map(differences).collect();
    for row in exported.query(&all.join(" UNION ALL ")) {
        let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}"));
        let rows = number("rows");
        assert_eq!([number("distinct_keys"), number("rows_csv"), number("rows_json")], [rows; 3], "{row}");
        assert_eq!([number("not_in_csv"), number("not_in_json")], [0, 0], "{row}");
    }
}

#[test]
fn parquet_types_match_the_document() {
    let exported = Exported::new();
    let describe =
        |table: &Table| format!("SELECT '{0}' AS name, * FROM (DESCRIBE FROM '{0}.parquet')", table.name);
    let found = exported.query(&ALL.iter().map(describe).collect::<Vec<_>>().join(" UNION ALL "));
    let mut found = found.iter().map(|row| (&row["name"], &row["column_name"], &row["column_type"]));
    for table in ALL.iter() {
        for column in &table.columns {
            let expected = (&table.name.into(), &column.name.into(), &column.kind.key().into());
            assert_eq!(found.next().unwrap(), expected);
        }
    }
    let seed = exported.query("SELECT seed, created_at FROM 'runs.parquet' WHERE plan = 'details'");
    assert_eq!(seed[0]["seed"], u64::MAX.to_string());
    assert_eq!(seed[0]["created_at"], "2026-07-30 14:15:03+00");
}

#[test]
fn settings_are_exported_from_old_and_new_runs() {
    let found = Exported::new().query(
        "SELECT arm, value, source, is_default FROM 'settings.parquet' WHERE name = 'work_mem' ORDER BY arm",
    );
    let expected = serde_json::json!([
        { "arm": "new", "value": "4MB", "source": "default", "is_default": true },
        { "arm": "old", "value": "4096 x kB", "source": "configuration file", "is_default": null },
    ]);
    assert_eq!(Value::from(found), expected);
}

#[test]
fn cpu_times_of_connections_add_up_to_their_client_s() {
    let found = Exported::new().query(
        "SELECT c.client, c.backend_cpu_us AS us, sum(n.cpu_us) AS sum_us, count(*) AS connections \
           FROM 'clients.parquet' c JOIN 'connections.parquet' n USING (run, seq, client) \
          WHERE c.step = 'update-index' AND c.arm = 'old' AND run LIKE 'details%' GROUP BY ALL ORDER BY c.client",
    );
    let expected = serde_json::json!([
        { "client": 0, "us": 400_000.0, "sum_us": 400_000.0, "connections": 2 },
        { "client": 1, "us": 410_000.0, "sum_us": 410_000.0, "connections": 1 },
    ]);
    assert_eq!(Value::from(found), expected);
}

#[test]
fn unusable_windows_are_marked() {
    let sql = "SELECT run[:7] AS run, step, is_result, count(*) AS n FROM 'windows.parquet' WHERE run LIKE 'details%' GROUP BY ALL ORDER BY step";
    let found = Exported::new().query(sql);
    let marked: Vec<_> = found
        .iter()
        .map(|row| (row["step"].as_str().unwrap(), row["is_result"].as_bool().unwrap()))
        .collect();
    assert_eq!(
        marked,
        [("broken", false), ("point-query", true), ("point-query.warm", false), ("update-index", true)]
    );
}

#[test]
fn the_document_describes_what_is_exported() {
    // Every line of the document was parsed.
    let names = |section: &str| -> usize {
        let lines = section.lines().filter(|line| line.starts_with("- "));
        lines.map(|line| (line.split(": ").next().unwrap().matches('`').count() / 2).max(1)).sum()
    };
    let sections: Vec<&str> = rqps_export::schema().split("\n**").collect();
    for (at, section) in sections[2..].iter().enumerate() {
        let of_observations = if section.contains("every observation") { names(sections[1]) } else { 0 };
        let written = names(sections[0]) + of_observations + names(section);
        let parsed = ALL.get(at).filter(|table| section.starts_with(&format!("`{}`**", table.name)));
        assert_eq!(parsed.map(|table| table.columns.len()), Some(written), "not parsed: {section}");
    }
    assert_eq!(ALL.len() + 2, sections.len());
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&write_run(results.path(), "details")).unwrap();
    let place = run.flat_columns("places").unwrap();
    for table in ALL.iter() {
        let described: Vec<&str> = table.columns.iter().map(|column| column.name).skip(1).collect();
        assert!(table.key.iter().all(|key| *key == "run" || described.contains(key)), "{}", table.name);
        match table.name {
            "verdicts" | "block_ratios" | "variance" => {}
            // The view has only the columns that are in the database.
            "latencies" => {
                let view = run.flat_columns("latencies").unwrap();
                assert!(view.iter().all(|column| described.contains(&&**column)), "{view:?}");
            }
            "latency_buckets" | "stacks" => assert_eq!(described[..place.len()], place, "{}", table.name),
            "runs" => {
                let view = run.flat_columns("runs").unwrap();
                assert_eq!(
                    [&described[..view.len()], &["path"]],
                    [&view.iter().map(|c| &**c).collect::<Vec<_>>()[..], &described[view.len()..]]
                );
            }
            name => assert_eq!(run.flat_columns(name).unwrap(), described, "{name}"),
        }
    }
}

/// The document's queries with their headings.
fn queries(document: &str) -> Vec<(String, String)> {
    let (_, rest) = document.split_once("\n## Queries").expect("a section Queries");
    let section = rest.split("\n## ").next().unwrap();
    let heading_and_sql = |part: &str| {
        let (heading, text) = part.split_once('\n')?;
        let (_, sql) = text.split_once("```sql\n")?;
        Some((heading.to_owned(), sql.split_once("```")?.0.to_owned()))
    };
    section.split("\n### ").filter_map(heading_and_sql).collect()
}

#[test]
fn ratios_of_blocks_have_the_verdicts_as_their_mean() {
    let found = Exported::new().query(
        "SELECT v.ratio, v.blocks, exp(avg(ln(b.ratio))) AS mean, count(*) AS counted
           FROM 'verdicts.parquet' v JOIN 'block_ratios.parquet' b USING (run, arm, step, detector)
          WHERE v.detector IN ('rate', 'cost') GROUP BY ALL",
    );
    assert!(found.len() > 5, "{found:?}");
    for one in found {
        let ratio = |key: &str| one[key].as_f64().unwrap();
        assert!((ratio("mean") / ratio("ratio") - 1.0).abs() < 1e-9, "{one}");
        assert_eq!(one["blocks"], one["counted"], "{one}");
    }
}

#[test]
fn documented_queries_find_the_known_differences() {
    let exported = Exported::new();
    let queries = queries(&document());
    let answer = |words: &str| {
        let (_, sql) = queries.iter().find(|(heading, _)| heading.contains(words)).expect(words);
        exported.query(sql)
    };
    assert_eq!(queries.len(), 5);
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 0.01, "{value} instead of {expected}");
    };
    let of_step = |rows: &[Value], step: &str| -> Vec<Value> {
        rows.iter()
            .filter(|row| row["step"] == step && row["run"].as_str().unwrap().starts_with("details"))
            .cloned()
            .collect()
    };

    let rates = answer("rQPS");
    close(&of_step(&rates, "point-query")[0]["rqps"], 0.9);
    close(&of_step(&rates, "update-index")[0]["rqps"], 1.0);
    // The run with blocks: true ratios are 0.95 and 1.06, noise is a few thousandths.
    let of_blocks: Vec<_> = rates.iter().filter(|row| row["arm"] == "new" && row["blocks"] == 5).collect();
    assert_eq!(of_blocks.len(), 5, "{of_blocks:?}");
    close(&of_blocks.iter().find(|row| row["step"] == "hot-points").unwrap()["rqps"], 0.95);

    let slowest = answer("lowest seconds");
    let stalls: Vec<_> =
        slowest.iter().map(|row| (row["arm"].as_str().unwrap(), row["second"].as_u64().unwrap())).collect();
    assert_eq!(stalls, [("new", 3), ("new", 3)], "{slowest:?}");

    let wal = of_step(&answer("WAL"), "update-index");
    let per_op: Vec<f64> = wal.iter().map(|row| row["wal_bytes_per_op"].as_f64().unwrap()).collect();
    assert_eq!(per_op, [300.0, 330.0]);

    let counters = of_step(&answer("counters"), "point-query");
    let changed: Vec<_> = counters
        .iter()
        .map(|row| (row["counter"].as_str().unwrap(), row["ratio"].as_f64().unwrap()))
        .collect();
    assert_eq!(changed, [("buffers_alloc", 0.0), ("wal_buffers_full", 2.0), ("blks_hit", 1.0)]);

    let mut latencies = of_step(&answer("atency"), "point-query");
    latencies.retain(|row| row["statement"] == "select-point");
    let p50 = |row: &Value| row["p50_us"].as_f64().unwrap();
    let p99: Vec<f64> = latencies.iter().map(|row| row["p99_us"].as_f64().unwrap()).collect();
    assert_eq!(latencies.len(), 2);
    latencies.iter().for_each(|row| assert!((p50(row) - 100.0).abs() < 0.2, "{row}"));
    close(&p99[0].max(p99[1]).into(), 2000.0);
    close(&p99[0].min(p99[1]).into(), 1000.0);
}
