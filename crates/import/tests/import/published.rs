//! Published tables against the results they were made of, where those lie beside the repository: they carry no
//! licence.

use std::path::{Path, PathBuf};

use rqps_import::{Assembled, Checked, Choices, Given, Reading, check, files, load_all, write_run};
use rqps_store::RunFolder;

/// The fixtures; `None` on a machine without them.
fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/import");
    if !path.is_dir() {
        println!("NOT RUN: published tables against their sources: ../shared/fixtures/import is not there");
        return None;
    }
    Some(path)
}

fn given(root: &Path, paths: &[&str]) -> Vec<Given> {
    let paths: Vec<String> =
        paths.iter().map(|path| root.join(path).to_string_lossy().into_owned()).collect();
    files(&paths).unwrap()
}

fn checked(root: &Path, table: &str, paths: &[&str], reading: Reading) -> Checked {
    check(&root.join(table), &given(root, paths), None, reading, false).unwrap()
}

/// Equal cells, all cells with a source.
#[track_caller]
fn assert_all_equal(checked: &Checked, cells: usize) {
    assert!(
        checked.differences.is_empty(),
        "{:#?}",
        &checked.differences[..checked.differences.len().min(5)]
    );
    assert_eq!((checked.equal, checked.cells), (cells, cells));
}

const DIRECTORIES: [&str; 2] =
    ["sysbench/x.my8406_rel_o2nofp.z12a_c8r32.pk1", "sysbench/x.my8407_rel_o2nofp.z12a_c8r32.pk1"];

/// All kinds of files become a run, together with those that belong to them.
#[test]
fn results_become_runs() {
    let Some(root) = fixtures() else { return };
    let results = tempfile::tempdir().unwrap();
    for paths in [
        &["sysbench/pg181.dop40"][..],
        &DIRECTORIES,
        &["vmstat-iostat"],
        &["fio/o.ext4.hetz.secs300.1.gz", "fio/o.ext4.ser7.secs300.1.gz"],
        // Disks that are throttled alike.
        &["fio/o.ext4.gcpL.secs300.1.gz", "fio/o.xfs.gcpL.secs300.1.gz"],
        &["db_bench/sum.byrx.txt"],
        &["hammerdb/sum.res.pg.load8.vu6.w1000.5.120.csv"],
        &["insert-benchmark/o.sum.t.20m.pg131.cx5", "insert-benchmark/o.sum.t.20m.pg124.cx5"],
        &["sysbench/dell32-repeat/v1.qps.abs.all.tsv", "sysbench/dell32-repeat/v2.qps.abs.all.tsv"],
    ] {
        let loaded = load_all(&given(&root, paths), None, false).unwrap().0;
        let assembled = Assembled::new(loaded, &Choices::default()).unwrap();
        let run = write_run(&assembled, results.path(), "real")
            .unwrap_or_else(|error| panic!("{paths:?}: {error}"));
        let run = RunFolder::open(&run).unwrap();
        assert_eq!(run.windows.len(), assembled.results.len(), "{paths:?}");
    }
}

#[test]
fn ratios_are_no_rates() {
    let Some(root) = fixtures() else { return };
    for table in ["sysbench/published/qps.rel.all.csv", "insert-benchmark/res.pg/rel.q100.1"] {
        let error = load_all(&given(&root, &[table]), None, false).unwrap_err().to_string();
        assert!(error.contains("ratios"), "{table}: {error}");
    }
}

#[test]
fn rates_of_sysbench() {
    let Some(root) = fixtures() else { return };
    let table = "sysbench/published/qps.abs.all.tsv";
    assert_all_equal(&checked(&root, table, &DIRECTORIES, Reading::Published), 66);
    let measured = checked(&root, table, &DIRECTORIES, Reading::True);
    let quirks: Vec<_> = measured.differences.iter().map(|one| one.quirk.map(|quirk| quirk.key())).collect();
    assert!(quirks.iter().all(|quirk| *quirk == Some("scan-of-one-client")), "{quirks:?}");
}

#[test]
fn ratios_of_rates() {
    let Some(root) = fixtures() else { return };
    for (table, rates, cells) in [
        ("sysbench/published/qps.rel.all.tsv", "sysbench/published/qps.abs.all.tsv", 33 * 7),
        ("sysbench/published/qps.rel.all.csv", "sysbench/published/qps.abs.all.csv", 33 * 7),
        ("sysbench/io-bound/qps.rel.pg.io.latest.tsv", "sysbench/io-bound/qps.abs.pg.io.latest.tsv", 198),
        ("sysbench/io-bound-repeat/qps.rel.pg.io.tsv", "sysbench/io-bound-repeat/qps.abs.pg.io.tsv", 198),
    ] {
        assert_all_equal(&checked(&root, table, &[rates], Reading::Published), cells);
    }
}

#[test]
fn db_bench_by_version() {
    let Some(root) = fixtures() else { return };
    let mut cells = 0;
    for (rows, tables) in [("byrx", ["abs0", "abs1"]), ("iobuf", ["abs0", "abs1"])] {
        for table in tables {
            let checked = checked(
                &root,
                &format!("db_bench/sum.{table}.{rows}.tsv"),
                &[&format!("db_bench/sum.{rows}.txt")],
                Reading::Published,
            );
            cells += checked.cells;
            assert_all_equal(&checked, 75);
        }
    }
    assert_eq!(cells, 300);
}

/// The 288 digits of eight published tables, by file and test. Files of two jobs are read by another rule in their last
/// test.
#[test]
fn fio_of_eight_servers() {
    let Some(root) = fixtures() else { return };
    let dir = tempfile::tempdir().unwrap();
    let expected = std::fs::read_to_string(root.join("fio/EXPECTED.seed-000.tsv")).unwrap();
    let mut tables: std::collections::BTreeMap<String, String> = [].into();
    for line in expected.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, block, test, _, rate, mb, sync] = cells[..] else { panic!("{line}") };
        let test = if test == "no-sync" { "fsync=0".to_owned() } else { format!("{test}=1") };
        tables
            .entry(file.to_owned())
            .or_default()
            .push_str(&format!("{rate},{mb},{sync},1,{test}_{block}\n"));
    }
    let mut cells = 0;
    for (file, table) in tables {
        let path = dir.path().join("table.csv");
        std::fs::write(&path, table).unwrap();
        let raws = given(&root, &[&format!("fio/{file}.gz")]);
        let checked = check(&path, &raws, None, Reading::Published, false).unwrap();
        cells += checked.cells;
        assert!(checked.differences.is_empty(), "{file}: {:#?}", checked.differences);
    }
    // And the jobs of each row.
    assert_eq!(cells, 288 + 96);
    let two_jobs = "fio/sum.2.ext4.hetz.csv";
    let text = ["fio/o.ext4.hetz.secs300.2.gz"];
    assert_all_equal(&checked(&root, two_jobs, &text, Reading::Published), 64);
    let other_jobs = std::fs::read_to_string(root.join(two_jobs)).unwrap().replace(",2,", ",32,");
    std::fs::write(dir.path().join("table.csv"), other_jobs).unwrap();
    let found = check(&dir.path().join("table.csv"), &given(&root, &text), None, Reading::Published, false);
    let found = found.unwrap().differences;
    assert!(found.iter().all(|one| one.column == "jobs") && found.len() == 8, "{found:#?}");
    let measured = checked(&root, two_jobs, &text, Reading::True);
    let quirks: std::collections::BTreeSet<_> =
        measured.differences.iter().map(|one| one.quirk.map(|quirk| quirk.key())).collect();
    let all = ["mebibytes", "sum-of-jobs", "three-digits"].map(Some).into();
    assert_eq!(quirks, all);
}

#[test]
fn hammerdb_by_version() {
    let Some(root) = fixtures() else { return };
    let mut cells = 0;
    for users in [1, 6] {
        for warehouses in [100, 1000, 2000, 4000] {
            let name = format!("hammerdb/sum.res.pg.load8.vu{users}.w{warehouses}.5.120");
            let checked =
                checked(&root, &format!("{name}.rel.csv"), &[&format!("{name}.csv")], Reading::Published);
            assert!(checked.differences.is_empty(), "{name}: {:?}", checked.differences);
            cells += checked.cells;
        }
    }
    assert_eq!(cells, 48);
}

#[test]
fn insert_benchmark_of_three_versions() {
    let Some(root) = fixtures() else { return };
    let arms = ["pg131", "pg124", "pg1110"].map(|arm| format!("insert-benchmark/o.sum.t.20m.{arm}.cx5"));
    let arms: Vec<&str> = arms.iter().map(String::as_str).collect();
    let (mut merged, mut relative) = (0, 0);
    for entry in std::fs::read_dir(root.join("insert-benchmark/res.pg")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let table = format!("insert-benchmark/res.pg/{name}");
        if let Some(step) = name.strip_prefix("rel.") {
            let all =
                checked(&root, &table, &[&format!("insert-benchmark/res.pg/mrg.{step}")], Reading::Published);
            assert!(all.differences.is_empty() && all.without_source == 0, "{name}: {:?}", all.differences);
            relative += all.cells;
        } else {
            let all = checked(&root, &table, &arms, Reading::Published);
            assert!(all.differences.is_empty() && all.without_source == 0, "{name}: {:?}", all.differences);
            merged += all.cells;
        }
    }
    // 15 steps, and those of the file of some.
    assert!(merged >= 15 * 3 * 20 && relative >= 15 * 2 * 20, "{merged}, {relative}");
}

#[test]
fn counters_of_a_process_and_their_ratios() {
    let Some(root) = fixtures() else { return };
    let raw = "perf-stat/sb.perf.hw.delete.range100.pk1.1";
    assert_all_equal(&checked(&root, &format!("{raw}.raw"), &[raw], Reading::Published), 39);
    let (table, rows) = ("perf-stat/join1.rel.read-only-distinct", "perf-stat/join1.abs.read-only-distinct");
    assert_all_equal(&checked(&root, table, &[rows], Reading::Published), 39 * 5);
    let measured = checked(&root, table, &[rows], Reading::True);
    assert!(measured.differences.iter().all(|one| one.quirk.map(|quirk| quirk.key()) == Some("minus-one")));
    assert!(!measured.differences.is_empty());
}

/// What frames have of their own sums to what the whole has.
#[test]
fn flamegraphs_become_stacks_of_the_same_samples() {
    let Some(root) = fixtures() else { return };
    for (name, samples, top) in [
        ("x.pg174_o2nofp.x10a_c32r128.pk1.scan.svg", 192_446_328_405, "pg_utf_mblen_private"),
        ("x.pg18beta2_o2nofp.x10b_c32r128.pk1.scan.svg", 192_476_948_838, "pg_utf_mblen_private"),
    ] {
        let svg = std::fs::read(root.join("flamegraph").join(name)).unwrap();
        let document = rqps_import::Format::Flamegraph.parse(&svg[..]).unwrap();
        let stacks = document.measurements[0].stacks.clone().unwrap();
        let of = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        assert_eq!(stacks.lines().map(of).sum::<u64>(), samples, "{name}");
        let most = stacks.lines().max_by_key(|line| of(line)).unwrap();
        assert!(most.contains(top), "{most}");
    }
}

#[test]
fn figures_per_operation() {
    let Some(root) = fixtures() else { return };
    let all = checked(&root, "sysbench/published/o.met.all", &DIRECTORIES, Reading::Published);
    assert!(all.differences.is_empty(), "{:#?}", &all.differences[..all.differences.len().min(5)]);
    assert!(all.cells > 1000, "{}", all.cells);
    let measured = checked(&root, "sysbench/published/o.met.all", &DIRECTORIES, Reading::True);
    assert!(measured.differences.len() > 50);
    assert!(measured.differences.iter().all(|one| one.quirk.is_some()), "{:#?}", measured.differences[0]);
}

#[test]
fn figures_of_a_step() {
    let Some(root) = fixtures() else { return };
    let table = "vmstat-iostat/sb.met.scan.range100.pk1.dop40";
    let files = ["vmstat-iostat"];
    assert_all_equal(&checked(&root, table, &files, Reading::Published), 14);
    let measured = checked(&root, table, &files, Reading::True);
    assert!(!measured.differences.is_empty());
    assert!(measured.differences.iter().all(|one| one.quirk.is_some()), "{:#?}", measured.differences);
}
