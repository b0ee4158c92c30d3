//! Mistakes that figures show: found in published results, and none where there is none.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_import::{Assembled, Choices, Error, files, load_all};

fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/import");
    if !path.is_dir() {
        println!("NOT RUN: mistakes in published files: ../shared/fixtures/import is not there");
        return None;
    }
    Some(path)
}

fn assembled(paths: &[PathBuf]) -> Result<Assembled, Error> {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Assembled::new(load_all(&files(&paths)?, None, true)?.0, &Choices::default())
}

/// `arm: text`.
fn notes(assembled: &Assembled) -> Vec<String> {
    let name = |arm: &Option<usize>| arm.map_or("", |arm| &assembled.arms[arm].name);
    assembled.notes.iter().map(|(arm, text)| format!("{}: {text}", name(arm))).collect()
}

/// Figures of a step as its author's programs write them.
fn step(rate: &str, switches: &str, cpu: &str, per_op: (&str, &str)) -> String {
    format!(
        "iostat, vmstat normalized by operation rate\n{}\n100\t0.0\t0.0\t0.0\t0.0\t0.000\t0.000\t0.000\t{rate}\n\n\
         samp\tcs/s\tcpu/s\tcs/o\tcpu/o\n106\t{switches}\t{cpu}\t{}\t{}\n",
        "samp\tr/s\trMB/s\tw/s\twMB/s\tr/o\trKB/o\twKB/o\to/s", per_op.0, per_op.1
    )
}

fn write(dir: &Path, arm: &str, rate: f64, step: &str) {
    let dir = dir.join(arm);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("sb.met.insert.range100.pk1.dop40"), step).unwrap();
    let csv = format!("arm,test,repeat,rate\n{arm},insert,1,{rate}\n");
    fs::write(dir.join("rates.csv"), csv).unwrap();
}

#[test]
fn exchanged_rows_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "postgres", 237_009.0, &step("237009", "1214563", "46.0", ("10.547", "0.000399")));
    write(dir.path(), "mysql", 115_155.0, &step("115155", "795000", "45.0", ("3.354", "0.000190")));
    let error = assembled(&[dir.path().to_owned()]).unwrap_err().to_string();
    assert!(
        error.contains("rows look exchanged") && error.contains("postgres") && error.contains("mysql"),
        "{error}"
    );
    // The same rows under the right names.
    write(dir.path(), "mysql", 115_155.0, &step("115155", "1214563", "46.0", ("10.547", "0.000399")));
    write(dir.path(), "postgres", 237_009.0, &step("237009", "795000", "45.0", ("3.354", "0.000190")));
    let assembled = assembled(&[dir.path().to_owned()]).unwrap();
    assert!(!notes(&assembled).iter().any(|note| note.contains("but")), "{:?}", notes(&assembled));
}

/// Rows of a step of the Insert Benchmark on a host of 4 CPUs: tag, queries/s, and the rate that figures per query are
/// of.
fn inserted(rows: &[(&str, f64, f64)]) -> String {
    let columns =
        "ips\tqps\trps\trmbps\twps\twmbps\trpq\trkbpq\twpi\twkbpi\tcsps\tcpups\tcspq\tcpupq\tp50\tp99\ttag";
    let row = |(tag, qps, of): &(&str, f64, f64)| {
        let (rps, csps, cpups) = (of * 0.25, of * 3.85, 27.5);
        format!(
            "100\t{qps:.0}\t{rps:.1}\t0.0\t190.0\t6.8\t{:.3}\t0.000\t1.900\t69.632\t{csps:.0}\t{cpups}\t{:.3}\t{:.0}\t\
             {qps:.0}\t7100\t20m.{tag}.cx5\n",
            rps / of,
            csps / of,
            cpups * 4e4 / of
        )
    };
    format!("{columns}\n{}", rows.iter().map(row).collect::<String>())
}

#[test]
fn exchanged_rates_of_the_insert_benchmark_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let step =
        |name: &str, rows: &[(&str, f64, f64)]| fs::write(dir.path().join(name), inserted(rows)).unwrap();
    let right = [("pg1110", 7284.0, 7284.0), ("pg124", 7619.0, 7619.0), ("pg131", 8724.0, 8724.0)];
    for (name, more) in
        ["mrg.l.i1", "mrg.l.x", "mrg.q100.1", "mrg.q1000.1", "mrg.q200.1"].into_iter().zip(1u8..)
    {
        let more = f64::from(more);
        step(name, &right.map(|(arm, rate, of)| (arm, rate + more, of + more)));
    }
    let in_order = assembled(&[dir.path().to_owned()]).unwrap();
    let steps: Vec<&str> = in_order.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(steps, ["l.x", "l.i1", "q100.1", "q200.1", "q1000.1"]);
    for name in ["mrg.l.i1", "mrg.l.x", "mrg.q1000.1", "mrg.q200.1"] {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    step("mrg.q100.1", &right);
    let found = notes(&assembled(&[dir.path().to_owned()]).unwrap());
    assert_eq!(found, [""; 0]);
    step("mrg.q100.2", &[("pg1110", 8724.0, 7284.0), right[1], ("pg131", 7284.0, 8724.0)]);
    let error = assembled(&[dir.path().to_owned()]).unwrap_err().to_string();
    for part in
        ["mrg.q100.2, line 2", "rows look exchanged", "11.10", "the rate of postgres-13.1.cx5", "7284"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
    // A figure of nobody's rate is a remark.
    step("mrg.q100.2", &[("pg1110", 8000.0, 7284.0), right[1], right[2]]);
    let found = notes(&assembled(&[dir.path().to_owned()]).unwrap());
    let is_of = |note: &String| {
        note.starts_with("postgres-11.10.cx5: q100.2: cspq is 3.85, but from csps 28043 and the rate 8000")
    };
    assert!(found.iter().any(is_of), "{found:?}");
}

/// The tables of an archive put results together that have files of their own: an exchanged row is found by those.
#[test]
fn exchanged_rows_of_a_table_are_refused_beside_its_results() {
    let dir = tempfile::tempdir().unwrap();
    for (arm, rate) in [("pg1110", 7284.0), ("pg124", 7619.0), ("pg131", 8724.0)] {
        // Ten steps of one arm.
        let text = inserted(&[(arm, rate, rate)]);
        let (columns, _) = text.split_once('\n').unwrap();
        let rows: Vec<String> = (0..10)
            .map(|step| inserted(&[(arm, rate + f64::from(step), rate + f64::from(step))]))
            .map(|text| text.split_once('\n').unwrap().1.to_owned())
            .collect();
        fs::write(dir.path().join(format!("o.sum.t.{arm}")), format!("{columns}\n{}", rows.concat()))
            .unwrap();
    }
    let table = |rows: &[(&str, f64, f64)]| fs::write(dir.path().join("mrg.l.i0"), inserted(rows)).unwrap();
    table(&[("pg124", 7619.0, 7619.0), ("pg131", 8724.0, 8724.0)]);
    let right = assembled(&[dir.path().to_owned()]).unwrap();
    assert_eq!((right.repeats, right.results.len(), right.left_out.len()), (1, 30, 1));
    assert_eq!((right.base, right.arms[0].identity.version.as_str()), (0, "11.10"));
    table(&[("pg131", 7619.0, 7619.0), ("pg124", 8724.0, 8724.0)]);
    let error = assembled(&[dir.path().to_owned()]).unwrap_err().to_string();
    for part in [
        "mrg.l.i0, line ",
        "rows look exchanged: l.i0 of postgres-1",
        "has the figures of postgres-1",
        "o.sum.t.pg",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn figures_of_a_step_are_held_against_its_text() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = ("x.pg174_o2nofp.x10a_c8r32.pk1", "x.pg181_o2nofp.x10a_c8r32.pk1");
    counted_step(dir.path(), old, 10_000.0, 10.0, 9_300_000_000);
    counted_step(dir.path(), new, 10_900.0, 10.0, 9_400_000_000);
    assembled(&[dir.path().to_owned()]).unwrap();
    let met = |arm: &str| dir.path().join(arm).join("sb.met.point-query.range100.pk1.dop1");
    let figures = [old, new].map(|arm| fs::read(met(arm)).unwrap());
    fs::write(met(old), &figures[1]).unwrap();
    fs::write(met(new), &figures[0]).unwrap();
    let error = assembled(&[dir.path().to_owned()]).unwrap_err().to_string();
    for part in [
        "rows look exchanged",
        "point-query of postgres-17.4",
        "a rate of 10900",
        "the rate of postgres-18.1",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // Of another day: a remark.
    fs::write(met(old), &figures[0]).unwrap();
    let other = String::from_utf8(figures[0].clone())
        .unwrap()
        .replace("10000.00", "12345.00")
        .replace("2.000", "1.620");
    fs::write(met(new), other.replace("0.001000", "0.000810")).unwrap();
    let found = notes(&assembled(&[dir.path().to_owned()]).unwrap());
    assert!(
        found.iter().any(|note| note.contains("of a rate of 12345") && note.contains("has 10900")),
        "{found:?}"
    );
}

/// A step's files of one arm: rate, CPU of the host in percent, instructions of the only client's process in 10 s.
fn counted_step(dir: &Path, arm: &str, rate: f64, cpu: f64, instructions: u64) {
    let dir = dir.join(arm);
    let file = |kind: &str, end: &str| dir.join(format!("sb.{kind}.point-query.range100.pk1.{end}"));
    let (switches, per_op) = (format!("{:.0}", rate * 2.0), format!("{:.6}", cpu / rate));
    let figures = step(&format!("{rate:.2}"), &switches, &format!("{cpu:.1}"), ("2.000", &per_op));
    fs::create_dir_all(&dir).unwrap();
    fs::write(file("met", "dop1"), figures).unwrap();
    let counters = format!(
        " Performance counter stats for process id '1':\n\n {instructions}      instructions\n\n      10.0 seconds time elapsed\n"
    );
    fs::write(file("perf.hw", "1"), counters).unwrap();
    let text = format!(
        "sysbench 1.1.0\n\nNumber of threads: 1\n\nThreads started!\n\n    queries:  {:.0} ({rate:.2} per sec.)\n    \
         total number of events: {:.0}\n    time elapsed: 100.0s
    avg: 0.10
    sum: 100.00
    execution time (avg/stddev): 100.0/0.00
",
        rate * 100.0,
        rate * 100.0
    );
    fs::write(file("o", "dop1"), text).unwrap();
}

#[test]
fn cpu_time_that_moves_without_instructions_is_of_the_host() {
    let found = |cpu: f64, instructions: u64| {
        let dir = tempfile::tempdir().unwrap();
        counted_step(dir.path(), "x.pg174_o2nofp.x10a_c8r32.pk1", 10_000.0, 10.0, 9_300_000_000);
        counted_step(dir.path(), "x.pg181_o2nofp.x10a_c8r32.pk1", 10_100.0, cpu, instructions);
        notes(&assembled(&[dir.path().to_owned()]).unwrap())
    };
    let disturbed = |notes: &[String]| notes.iter().any(|note| note.contains("the host was disturbed"));
    let moved = found(13.1, 9_400_000_000);
    assert!(disturbed(&moved), "{moved:?}");
    assert!(moved.iter().any(|note| note.contains("CPU time per operation is 1.30 of base's")), "{moved:?}");
    // With more instructions the CPU time is the version's own; without a change there is nothing to say.
    assert!(!disturbed(&found(13.1, 12_200_000_000)));
    assert!(!disturbed(&found(10.4, 9_400_000_000)));
}

#[test]
fn one_version_of_rocksdb_dips_and_its_base_is_odd() {
    let Some(root) = fixtures() else { return };
    for (rows, dips, odd) in [
        (
            "byrx",
            &[][..],
            &["overwriteandwait.t1.s0: base is the odd one: 12 of 14 others are 0.85 to 0.88"][..],
        ),
        ("iobuf", &["fillseq.wal_disabled.v400: below", "overwriteandwait"], &["overwriteandwait"]),
    ] {
        let found = notes(&assembled(&[root.join(format!("db_bench/sum.{rows}.txt"))]).unwrap());
        for dip in dips {
            assert!(
                found.iter().any(|note| note.contains("rocksdb-10.6.2: ") && note.contains(dip)),
                "{dip}: {found:#?}"
            );
        }
        for odd in odd {
            assert!(
                found.iter().any(|note| note.contains("rocksdb-9.8.4: ") && note.contains(odd)),
                "{odd}: {found:#?}"
            );
        }
    }
    // Beside one another, each is compared with its own versions.
    let both =
        assembled(&["byrx", "iobuf"].map(|rows| root.join(format!("db_bench/sum.{rows}.txt")))).unwrap();
    let arms: Vec<&str> = both.doubts.iter().map(|doubt| &*both.arms[doubt.arm].name).collect();
    let (odd, dips) = arms.split_at(2);
    assert_eq!(odd, ["rocksdb-9.8.4.byrx", "rocksdb-9.8.4.iobuf"]);
    assert_eq!(dips, ["rocksdb-10.6.2.iobuf", "rocksdb-10.6.2.iobuf", "rocksdb-10.7.6.iobuf"]);
}

#[test]
fn sessions_are_told_from_versions() {
    let Some(root) = fixtures() else { return };
    let arms = ["x.my8406_rel", "x.my8407_rel", "x.my8406v2_rel"];
    let arms = arms.map(|arm| root.join(format!("sysbench/{arm}_o2nofp.z12a_c8r32.pk1")));
    let found = notes(&assembled(&arms).unwrap());
    let has = |words: &[&str]| found.iter().any(|note| words.iter().all(|word| note.contains(word)));
    assert!(has(&["mysql-8.4.7", "80 days from base"]), "{found:#?}");
    assert!(has(&["8406v2", "the same build as", "-1.1 %"]), "{found:#?}");
    assert!(has(&["quirk vmstat-samples", "% too low"]), "{found:#?}");
}

/// A table has the figures of a step that prepares a test, which are others than the test's.
#[test]
fn published_tables_beside_their_sources_are_right() {
    let Some(root) = fixtures() else { return };
    let paths = ["published", "x.my8406_rel_o2nofp.z12a_c8r32.pk1", "x.my8407_rel_o2nofp.z12a_c8r32.pk1"];
    let paths = paths.map(|path| root.join("sysbench").join(path).display().to_string());
    let given = files(&paths).unwrap();
    let (loaded, left_out) = load_all(&given, None, false).unwrap();
    let mut assembled = Assembled::new(loaded, &Choices::default()).unwrap();
    assembled.examine_tables(&left_out, &given);
    assert_eq!(assembled.doubts, []);
}

/// Two versions are out of line in both repeats: those are no mistakes of measurement, and worth a remark all the more.
#[test]
fn tables_that_are_right_get_no_other_remark() {
    let Some(root) = fixtures() else { return };
    let notes_of = |table: &str| notes(&assembled(&[root.join("sysbench").join(table)]).unwrap());
    assert_eq!(notes_of("published/qps.abs.all.tsv"), [""; 0]);
    for (repeats, dip) in [
        (
            ["dell32-repeat/v1.qps.abs.all.tsv", "dell32-repeat/v2.qps.abs.all.tsv"],
            ["16.10.x10a_c32r128", "update-index"],
        ),
        (
            ["io-bound/qps.abs.pg.io.latest.tsv", "io-bound-repeat/qps.abs.pg.io.tsv"],
            ["17.7.x10a_c32r128", "scan"],
        ),
    ] {
        for table in repeats {
            let found = notes_of(table);
            // 18.0 with three values of a setting.
            assert!(!found.iter().any(|note| note.contains("x10c")), "{table}: {found:?}");
            let start = format!("postgres-{}: {}: below the versions before and after", dip[0], dip[1]);
            assert!(found.iter().any(|note| note.starts_with(&start)), "{table}: {found:?}");
        }
    }
}
