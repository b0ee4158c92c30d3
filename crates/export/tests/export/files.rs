//! What an export leaves in a directory: complete files under their names, or nothing.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rqps_export::{Error, Format, Options, export, print, table};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{Spec, write_run_of_chance};

use crate::run::{write_imported, write_run};

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn an_export_is_all_or_nothing_and_replaces_files_only_on_request() {
    let results = tempfile::tempdir().unwrap();
    let run = [RunFolder::open(&write_run(results.path(), "details")).unwrap()];
    let dir = results.path().join("new/export");
    let dont_stop = AtomicBool::new(false);
    let tables = vec![table("arms").unwrap(), table("counters").unwrap()];
    let options = |replace, stop| Options {
        tables: tables.clone(),
        formats: vec![Format::Csv, Format::Parquet],
        replace,
        stop,
    };

    let stop = AtomicBool::new(true);
    assert!(matches!(export(&run, &dir, &options(false, &stop)), Err(Error::Stopped)));
    assert_eq!(names(&dir), Vec::<String>::new());

    let exported = export(&run, &dir, &options(false, &dont_stop)).unwrap();
    let all = ["arms.csv", "arms.parquet", "counters.csv", "counters.parquet"];
    assert_eq!(names(&dir), all);
    assert!(exported.files.iter().all(|file| fs::metadata(&file.path).unwrap().len() == file.bytes));

    fs::write(dir.join("arms.csv"), "mine").unwrap();
    let refused = export(&run, &dir, &options(false, &dont_stop)).unwrap_err();
    assert!(refused.is_usage());
    assert!(refused.to_string().contains("arms.csv already exists, and 3 more"), "{refused}");
    assert_eq!(fs::read_to_string(dir.join("arms.csv")).unwrap(), "mine");
    export(&run, &dir, &options(true, &dont_stop)).unwrap();
    assert!(fs::read_to_string(dir.join("arms.csv")).unwrap().starts_with("run,arm,position"));
    assert_eq!(names(&dir), all);
}

#[test]
fn a_table_can_be_printed_as_text() {
    let results = tempfile::tempdir().unwrap();
    let run = [RunFolder::open(&write_run(results.path(), "details")).unwrap()];
    let printed = |name: &str, format| {
        let mut out = Vec::new();
        print(&run, table(name).unwrap(), format, &mut out).map(|_| String::from_utf8(out).unwrap())
    };
    let name = run[0].folder.name();
    assert_eq!(
        printed("host", Format::Csv).unwrap(),
        format!("run,fact,value,is_compared\n{name},kernel,\"6.1, \"\"special\"\"\nbuild\",true\n")
    );
    assert_eq!(
        printed("host", Format::JsonLines).unwrap(),
        format!(
            "{{\"run\":\"{name}\",\"fact\":\"kernel\",\"value\":\"6.1, \\\"special\\\"\\nbuild\",\"is_compared\":true}}\n"
        )
    );
    // An empty table still has its header.
    assert!(printed("canaries", Format::Csv).unwrap().starts_with("run,block,moment"));
    assert!(matches!(printed("host", Format::Parquet), Err(Error::NotText)));
    assert!(table("window").unwrap_err().to_string().contains("Did you mean `windows`?"));
}

/// Whoever counts changes counts none that may be chance.
#[test]
fn a_change_that_is_likely_is_exported_as_inconclusive() {
    let results = tempfile::tempdir().unwrap();
    let run = [RunFolder::open(&write_run_of_chance(results.path()).unwrap()).unwrap()];
    let mut out = Vec::new();
    print(&run, table("verdicts").unwrap(), Format::Csv, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rates: Vec<&str> = text.lines().filter(|line| line.contains(",rate,")).collect();
    assert!(
        rates.iter().any(|line| line.contains(",rate,inconclusive,") && line.contains("likely")),
        "{text}"
    );
    assert!(rates.iter().all(|line| !line.contains(",rate,regression,")), "{text}");
}

#[test]
fn imported_runs_have_their_sources_and_figures() {
    let results = tempfile::tempdir().unwrap();
    let run = [RunFolder::open(&write_imported(results.path(), "imported")).unwrap()];
    let name = run[0].folder.name();
    let rows = |table_name: &str| -> Vec<String> {
        let mut out = Vec::new();
        print(&run, table(table_name).unwrap(), Format::Csv, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().skip(1).map(str::to_owned).collect()
    };
    let hash = "ab".repeat(32);
    let source = format!(
        "{name},0,results/run-1.txt,{hash},700,pgbench,,\"[\"\"three-digits\"\"]\",2023-11-14T22:13:20.000Z"
    );
    assert_eq!(rows("sources"), [source]);
    let place = format!("{name},0,old,point-query,point-query,point,,,true");
    assert_eq!(rows("imported_values"), [format!("{place},0,latency_avg_ms,ms,2.5,2.50,0,14")]);
    let steps = rows("steps");
    assert!(steps[0].contains(",point-query,point,,"), "{steps:?}");
}

#[test]
fn missing_files_are_reported_and_the_rest_is_exported() {
    let results = tempfile::tempdir().unwrap();
    let details = write_run(results.path(), "details");
    fs::remove_file(details.join("profiles/old.point-query.folded")).unwrap();
    let blocks = rqps_verdicts::testing::write_run(results.path(), &Spec::default()).unwrap();
    fs::remove_file(blocks.join("plan.toml")).unwrap();
    let runs = [RunFolder::open(&details).unwrap(), RunFolder::open(&blocks).unwrap()];
    let tables = ["stacks", "verdicts", "windows"].map(|name| table(name).unwrap()).to_vec();
    let stop = &AtomicBool::new(false);
    let options = Options { tables, formats: vec![Format::Csv], replace: false, stop };
    let exported = export(&runs, &results.path().join("export"), &options).unwrap();
    let rows: Vec<u64> = exported.files.iter().map(|file| file.rows).collect();
    assert_eq!((rows[0], rows[1]), (2, 0));
    assert!(
        exported.remarks[0].contains("profiles/old.point-query.folded is missing"),
        "{:?}",
        exported.remarks
    );
    assert!(
        exported.remarks[1].contains("no verdicts for made-up") && exported.remarks[1].contains("plan.toml")
    );
}

#[test]
fn runs_with_the_same_name_are_refused() {
    let results = tempfile::tempdir().unwrap();
    let path = write_run(results.path(), "details");
    let runs = [RunFolder::open(&path).unwrap(), RunFolder::open(&path).unwrap()];
    let refused = print(&runs, table("runs").unwrap(), Format::Csv, Vec::new()).unwrap_err();
    assert!(refused.is_usage() && refused.to_string().contains("two runs are named"), "{refused}");
}
