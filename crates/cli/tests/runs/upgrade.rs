//! `rqps upgrade`: from two versions and a config to what changes.

use crate::bench::{Bench, exact_version};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;

/// A plan of three short blocks, whose arm an upgrade replaces. They decide whether something changed by half: a
/// resume that is given time goes on until verdicts are reached, beyond `blocks_max`.
fn plan_of_blocks(bench: &Bench, version: &str) -> PathBuf {
    bench.plan_text(&format!(
        "base = \"a\"\nprotocol = \"isolated\"\n[workload]\nrows = 1_000\n[isolated]\nwindow_seconds = 0.1\n\
         blocks_max = 3\ncount_instructions = false\n[verdict]\nmei_percent = {{ rate = 50, cpu_us = 50 }}\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{version}\"\nconfig = \"./small.conf\"\n"
    ))
}

#[test]
fn options_defaults_and_latencies_of_an_upgrade_are_reported() {
    let bench = Bench::new();
    let (old, new) = (exact_version("12"), exact_version("18"));
    let plan = plan_of_blocks(&bench, &new);
    let config = bench.path().join("mine.conf");
    fs::write(
        &config,
        "shared_buffers = 16MB\nautovacuum = on\nwal_keep_segments = 4\noperator_precedence_warning = on\n\
         password_encryption = on\nlc_messages = xx_XX\nshared_preload_libraries = no_such_library\n\
         huge_pages = on\nio_method = io_uring\n",
    )
    .unwrap();
    let (old_build, new_build) = (format!("postgres-{old}"), format!("postgres-{new}"));
    let (plan, config) = (plan.display().to_string(), config.display().to_string());
    let upgrade =
        ["upgrade", &old_build, &new_build, "--config", &config, "--plan", &plan, "--tests", "point-query"];
    let misspelled = bench.path().join("misspelled.conf");
    fs::write(&misspelled, "work_mme = 4MB\njitt = off\n").unwrap();
    let misspelled = misspelled.display().to_string();
    let refused = upgrade.map(|word| if word == config { &misspelled } else { word });
    let stderr = bench.call(&refused).expect(2).stderr;
    assert!(stderr.contains("knows `work_mme`") && stderr.contains("Did you mean `work_mem`?"), "{stderr}");
    assert!(stderr.contains("misspelled.conf:2: neither"), "all at once: {stderr}");
    expect_refusals(&bench, &config);

    // A resume ends with the report of the upgrade, too.
    let ended = bench.call(&[&upgrade[..], &["--budget", "1s"]].concat()).expect(0);
    let too_short = bench.call(&["resume", "last", "--more", "1s"]).expect(2).stderr;
    assert!(
        too_short.contains("would measure nothing in 1 s: ") && too_short.contains(" --more "),
        "{too_short}"
    );
    fs::write(bench.folder().join("upgrade.md"), "").unwrap();
    let resumed = bench.call(&["resume", "last", "--more", "1h"]).expect(0);
    let warned = format!(":4: postgres-{new} does not know `operator_precedence_warning` (arm new)");
    assert!(ended.stderr.contains(&warned), "{}", ended.stderr);
    let output = resumed.stdout;
    assert!(
        output.contains(&format!("Upgrade from PostgreSQL {old} to PostgreSQL {new} with config mine")),
        "{output}"
    );
    expect_options(&output, &fs::read_to_string(bench.folder().join("upgrade.md")).unwrap());
    let told = format!("postgres-{new} does not know wal_keep_segments: measured with wal_keep_size = 64MB");
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    let run = bench.run();
    let new = run.arms.iter().find(|arm| arm.name == "new").unwrap();
    assert!(new.has_of_blocks("autovacuum"), "its entry is not that of the test start");
    let measured = new.settings.iter().find(|one| one.name == "wal_keep_size");
    assert_eq!(measured.map(|one| one.value.as_str()), Some("64MB"));
    let row = output.lines().find(|line| line.starts_with("point-query") && line.contains('→'));
    assert!(row.is_some(), "latencies of the test: {output}");
    for file in ["report.md", "report.html"] {
        let other = fs::read_to_string(bench.folder().join(file)).unwrap();
        for part in ["wal_keep_size = 64MB", "as it is written: it does not know 2", "p99 old"] {
            assert!(other.contains(part), "{file} lacks {part}");
        }
    }
    // Every verdict is reached: known before anything is loaded.
    for resume in [&["resume", "last", "--more", "1h"][..], &["resume", "last"]] {
        let refused = bench.call(resume).expect(2).stderr;
        assert!(refused.contains("would measure nothing more: ") && !refused.contains("load "), "{refused}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&bench.call(&["upgrade", "last", "--json"]).expect(0).stdout).unwrap();
    let tables = json["tables"].as_array().unwrap();
    let tests = tables.iter().find(|table| table["id"] == "upgrade").unwrap();
    assert!(tests["rows"][0]["p50_us"].as_f64().is_some_and(|us| us > 1.0), "{tests:#}");
    assert!(bench.call(&["upgrade", "postgres-12"]).expect(2).stderr.contains("rqps upgrade OLD NEW"));
}

/// What becomes of the options, in short on the terminal and whole in the file.
fn expect_options(output: &str, written: &str) {
    for item in [
        "with config mine as it is written: it does not know 2 of its options and rejects the value of one option",
        ". Before the upgrade, change password_encryption, wal_keep_segments; remove operator_precedence_warning.",
        "- wal_keep_segments = 4: use wal_keep_size = 64MB",
        "- password_encryption = on: rejected; use password_encryption = md5 (what on meant; or scram-sha-256, since 18 deprecates md5)",
        "- not known any more; remove operator_precedence_warning = on",
        "not checked: lc_messages",
        "(not available on this machine), io_method (not available in this build: io_uring), ",
        "shared_preload_libraries (not available in this build: no_such_library)",
        "on both versions: autovacuum = off (on in the config)",
        "No query plan changed; those of 1 test were compared.",
    ] {
        assert!(output.contains(item), "{item}: {output}");
    }
    let line = |name: &str| {
        written
            .lines()
            .find(|line| line.starts_with(&format!("| {name} ")))
            .unwrap_or_else(|| panic!("{written}"))
    };
    let is_listed = written.lines().any(|line| line.starts_with("| wal_keep_size "));
    assert!(!is_listed, "it is no changed default: {written}");
    for (option, words) in [
        ("wal_keep_segments", "wal_keep_size = 64MB"),
        ("password_encryption", "refused: invalid value"),
        ("password_encryption", "md5, scram-sha-256; md5 is in effect"),
        ("operator_precedence_warning", "unknown"),
        ("operator_precedence_warning", "nothing; remove it"),
        ("checkpoint_completion_target", "0.9"),
    ] {
        assert!(line(option).contains(words), "{written}");
    }
}

/// A statement that the new version does not take ends the load.
#[test]
fn an_upgrade_that_fails_midway_ends_in_a_report() {
    let bench = Bench::new();
    let (old, new) = (exact_version("12"), exact_version("18"));
    let plan = bench.plan_text(&format!(
        "base = \"a\"\nprotocol = \"isolated\"\n[workload]\nbenchmark = \"sql\"\n[sql]\n\
         schema = \"CREATE TABLE t AS SELECT pg_is_in_backup()\"\n[sql.tests]\none = \"SELECT 1\"\n[isolated]\n\
         window_seconds = 0.1\nblocks_max = 3\ncount_instructions = false\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{new}\"\nconfig = \"./small.conf\"\n"
    ));
    let config = bench.path().join("mine.conf");
    fs::write(&config, "shared_buffers = 16MB\nwal_keep_segments = 4\n").unwrap();
    let (old, new) = (format!("postgres-{old}"), format!("postgres-{new}"));
    let (plan, config) = (plan.display().to_string(), config.display().to_string());
    let ended = bench.call(&["upgrade", &old, &new, "--config", &config, "--plan", &plan]).expect(3);
    assert!(ended.stderr.contains("pg_is_in_backup"), "{}", ended.stderr);
    let written = fs::read_to_string(bench.folder().join("upgrade.md")).unwrap();
    for text in [&ended.stdout, &written] {
        assert!(text.contains("Upgrade from ") && text.contains("Nothing is judged: "), "{text}");
    }
    assert!(written.starts_with("Not finished: a statement of the plan is refused. "), "{written}");
}

/// What was found of options is not lost with the run.
#[test]
fn an_interrupted_upgrade_tells_what_it_knows_of_options() {
    let bench = Bench::new();
    let (old, new) = (exact_version("12"), exact_version("18"));
    let plan = plan_of_blocks(&bench, &new);
    let config = bench.path().join("mine.conf");
    fs::write(&config, "shared_buffers = 16MB\nwal_keep_segments = 4\n").unwrap();
    let (old, new) = (format!("postgres-{old}"), format!("postgres-{new}"));
    let (plan, config) = (plan.display().to_string(), config.display().to_string());
    let mut upgrade = bench.start(&["upgrade", &old, &new, "--config", &config, "--plan", &plan]);
    upgrade.expect_line(&["test start of each build"]);
    let file = || fs::read_to_string(bench.folder().join("upgrade.md")).unwrap();
    let written = file();
    assert!(written.starts_with("Still running when this was written: "), "{written}");
    let running = bench.call(&["upgrade", "last"]).expect(0).stdout;
    assert!(running.contains("Nothing is judged yet: the run is still running"), "{running}");
    upgrade.signal(Signal::INT);
    let ended = upgrade.end().expect(130);
    assert!(ended.stderr.contains("results so far: rqps upgrade "), "{}", ended.stderr);
    for text in [&written, &running, &ended.stdout, &file()] {
        assert!(text.contains("wal_keep_segments") && text.contains("wal_keep_size = 64MB"), "{text}");
    }
    // That of a run that was killed is of its beginning, when less was known.
    let path = bench.folder().join("upgrade.md");
    fs::write(&path, "Still running when this was written: `rqps status` shows how far it is.\n").unwrap();
    bench.call(&["upgrade", "last"]).expect(0);
    let renewed = file();
    assert!(renewed.starts_with("Not finished: `rqps resume "), "{renewed}");
    assert!(renewed.contains("wal_keep_size = 64MB"), "{renewed}");
}

/// Arguments of which nothing is measured.
fn expect_refusals(bench: &Bench, config: &str) {
    for (arguments, words) in [
        (["postgres-12", "mysql-8.0.31", config], "only builds of one DBMS"),
        (["postgres-12", "postgres-12", config], "OLD and NEW are both postgres-12"),
        (["postgres-12", "postgres-18", "./none.conf"], "rqps: --config: cannot read config ./none.conf"),
        (["postgres-12", "postgres@./none", config], "rqps: NEW: "),
    ] {
        let [old, new, config] = arguments;
        let refused = bench.call(&["upgrade", old, new, "--config", config]).expect(2).stderr;
        assert!(refused.contains(words), "{refused}");
    }
}

/// Both versions reject values: all are named, with their lines.
#[test]
fn values_that_both_versions_reject_are_named_at_once() {
    let bench = Bench::new();
    let config = bench.path().join("bad.conf");
    fs::write(
        &config,
        "work_mem = 16Mb\nwal_keep_segments = 4\ncheckpoint_completion_target = 1.5\nwal_compression = lz9\n\
         shared_preload_libraries = 'auto_explain, pg_stat_statements, pg_prewam'\npg_stat_statements.max = lots\n\
         auto_explain.log_format = jsn\nauto_explain.log_analyze = off\n",
    )
    .unwrap();
    let upgrade = ["upgrade", "postgres-12", "postgres-18", "--config", config.to_str().unwrap()];
    let stderr = bench.call(&upgrade).expect(2).stderr;
    for told in [
        "bad.conf:1: `work_mem = 16Mb`: ",
        "bad.conf:3: `checkpoint_completion_target = 1.5`: ",
        // Each says what it takes.
        "bad.conf:4: `wal_compression = lz9`: postgres-12.",
        "requires a Boolean value; postgres-18.",
        // Postgres takes any value for an option of a library until that is loaded.
        "bad.conf:6: `pg_stat_statements.max = lots`: refused: invalid value for parameter",
        "bad.conf:7: `auto_explain.log_format = jsn`: refused: invalid value for parameter",
        "Available values: text, xml, json, yaml",
        " has `pg_prewam`. Did you mean `pg_prewarm`?",
        // What is no mistake comes after these.
        "\n\n- ",
        "bad.conf:2: wal_keep_segments: unknown; use wal_keep_size = 64MB",
    ] {
        assert!(stderr.contains(told), "{told}: {stderr}");
    }
}

/// A section of one series is in the config of its version alone.
#[test]
fn a_misspelled_option_of_one_series_is_refused() {
    let bench = Bench::new();
    let config = bench.path().join("my.cnf");
    fs::write(&config, "[mysqld]\nssl = 0\n[mysqld-8.0]\ninnodb_bufer_pool_instances = 2\n").unwrap();
    let upgrade = ["upgrade", "mysql-5.7.22", "mysql-8.0.31", "--config", config.to_str().unwrap()];
    let stderr = bench.call(&upgrade).expect(2).stderr;
    let told = "my.cnf:4: neither mysql-5.7.22 nor mysql-8.0.31 knows `innodb_bufer_pool_instances`. Did you mean \
                `innodb_buffer_pool_instances`?";
    assert!(stderr.contains(told), "{stderr}");
}

/// It is told once, with what to write.
#[test]
fn an_option_that_was_renamed_before_both_versions_is_no_misspelling() {
    let bench = Bench::new();
    let (old, new) = (exact_version("14"), exact_version("17"));
    let config = bench.path().join("old.conf");
    fs::write(&config, "work_mem = 4MB\nwal_keep_segments = 32\noperator_precedence_warning = on\n").unwrap();
    let [old, new] = [old, new].map(|version| format!("postgres-{version}"));
    let stderr = bench.call(&["upgrade", &old, &new, "--config", config.to_str().unwrap()]).expect(2).stderr;
    let told = format!(
        "old.conf:2: neither {old} nor {new} knows `wal_keep_segments`. It was renamed: both have wal_keep_size. Write \
         wal_keep_size = 512MB"
    );
    assert!(stderr.contains(&told) && stderr.matches("wal_keep_segments").count() == 1, "{stderr}");
    let told = "knows `operator_precedence_warning`. PostgreSQL 14 removed it: remove it from the config.";
    assert!(stderr.contains(told), "{stderr}");
}

/// Builds that are asked for their options make no run that could be resumed.
#[test]
fn an_upgrade_that_is_interrupted_before_its_run_says_so() {
    let bench = Bench::new();
    let config = bench.path().join("my.cnf");
    fs::write(&config, "[mysqld]\ninnodb_log_file_size = 64M\n").unwrap();
    let config = config.display().to_string();
    let mut upgrade = bench.start(&["upgrade", "mysql-5.7.22", "mysql-8.0.31", "--config", &config]);
    upgrade.expect_line(&["asking mysql-5.7.22 and mysql-8.0.31"]);
    upgrade.signal(Signal::INT);
    let stderr = upgrade.end().expect(130).stderr;
    // On a quick machine the builds have answered by then, and are looked at for the run.
    let told = ["interrupted before the run began: ", "interrupted while getting 2 builds: "];
    assert!(told.iter().any(|told| stderr.contains(told)), "{stderr}");
    assert!(stderr.contains("run the same command again"), "{stderr}");
    assert!(bench.folders().is_empty());
}
