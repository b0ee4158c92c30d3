//! Tables that lack rows, or have no source: a check says so instead of finding all equal.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_import::{Assembled, Checked, Choices, Error, Reading, check, files, load_all};

fn table(dir: &Path, name: &str, head: &str, rows: &[&str]) -> PathBuf {
    written(dir, name, format!("{head}\n\n{}\n", rows.join("\n")))
}

fn written(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn checked(table: &Path, sources: &[&PathBuf]) -> Result<Checked, Error> {
    check(table, &files(sources).unwrap(), None, Reading::Published, false)
}

const RATES: &str = "col-1 : a\ncol-2 : b\ncol-3 : c";
const RATIOS: &str = "Relative to: a\ncol-1 : b";

#[test]
fn rows_and_arms_that_a_table_or_its_source_lacks_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let rates = table(dir.path(), "qps.abs.tsv", RATES, &["100\t200\t300\tx", "100\t150\t300\ty"]);
    let ratios = table(dir.path(), "qps.rel.tsv", RATIOS, &["2.00\tx"]);
    let found = checked(&ratios, &[&rates]).unwrap();
    assert_eq!((found.equal, found.cells, found.without_source), (1, 1, 0));
    assert_eq!(found.lacking, ["c", "y"]);
    let all = table(
        dir.path(),
        "qps.rel.tsv",
        &format!("{RATIOS}\ncol-2 : c"),
        &["2.00\t3.00\tx", "1.50\t3.00\ty"],
    );
    let found = checked(&all, &[&rates]).unwrap();
    assert_eq!((found.equal, found.cells, found.lacking.len()), (4, 4, 0));
    let rates = table(dir.path(), "qps.abs.tsv", RATES, &["100\t200\t300\tx"]);
    let found = checked(&all, &[&rates]).unwrap();
    assert_eq!((found.equal, found.cells, found.without_source), (2, 2, 2));
    assert_eq!(found.without_source_in(), ["y"]);
    let one = table(dir.path(), "qps.abs.tsv", "col-1 : a\ncol-2 : b", &["100\t200\tx", "100\t150\ty"]);
    let found = checked(&all, &[&one]).unwrap();
    assert_eq!((found.cells, found.without_source, found.without_source_in()), (2, 2, vec!["c"]));
    // Sources of a part of the table, and with more than it: only a slip is another name.
    let parts = |name: &str| {
        let rows = ["100\t200\tx".to_owned(), format!("100\t150\t{name}")];
        table(dir.path(), "qps.abs.tsv", "col-1 : a\ncol-2 : b", &rows.each_ref().map(String::as_str))
    };
    let more =
        table(dir.path(), "qps.rel.tsv", RATIOS, &["2.00\tx", "1.50\tscan_range=10", "1.50\tscna_range=100"]);
    let found = checked(&more, &[&parts("scan_range=1")]).unwrap();
    assert_eq!((found.without_source_in().len(), found.renamed().len()), (2, 0));
    let found = checked(&more, &[&parts("scan_range=100")]).unwrap();
    let pairs: Vec<(&str, &str)> = found.renamed().iter().map(|one| (one.in_table, one.in_sources)).collect();
    assert_eq!(pairs, [("scna_range=100", "scan_range=100")]);
}

#[test]
fn a_table_is_no_source_of_itself() {
    let dir = tempfile::tempdir().unwrap();
    let rates = table(dir.path(), "qps.abs.tsv", RATES, &["100\t200\t300\tx"]);
    let copy = dir.path().join("copy.tsv");
    fs::copy(&rates, &copy).unwrap();
    for sources in [vec![&rates], vec![&copy], vec![&rates, &copy]] {
        let error = checked(&rates, &sources).unwrap_err().to_string();
        assert!(
            error.contains("no source of ") && error.contains("qps.abs.tsv is among the files"),
            "{error}"
        );
    }
}

/// `row column published computed`, with `*` before what ratios are relative to.
fn differences(checked: &Checked) -> Vec<String> {
    let text = |one: &rqps_import::Difference| {
        let base = if one.ratios > 0 { "*" } else { "" };
        format!("{base}{} {} {} {}", one.row, one.column, one.published, one.computed)
    };
    checked.differences.iter().map(text).collect()
}

const FIVE: &str = "col-1 : a\ncol-2 : b\ncol-3 : c\ncol-4 : d";
const FOUR: &str = "Relative to: a\ncol-1 : b\ncol-2 : c\ncol-3 : d";

#[test]
fn a_wrong_base_is_named_once_and_its_ratios_are_judged_on_the_right_one() {
    let dir = tempfile::tempdir().unwrap();
    let ratios = |cell: &str| {
        table(dir.path(), "qps.rel.tsv", FOUR, &["0.91\t0.82\t1.21\tx", &format!("{cell}\t1.50\t0.70\ty")])
    };
    let rates = |base: u32| {
        let rows = ["1000\t910\t820\t1210\tx".to_owned(), format!("{base}\t2800\t3000\t1400\ty")];
        table(dir.path(), "qps.abs.tsv", FIVE, &rows.each_ref().map(String::as_str))
    };
    let found = checked(&ratios("1.40"), &[&rates(2000)]).unwrap();
    assert_eq!((differences(&found), found.cells), (vec![], 6));
    // One digit of the base, of 2000.
    let found = checked(&ratios("1.40"), &[&rates(3000)]).unwrap();
    assert_eq!(differences(&found), ["*y a 1993 to 2007 3000"]);
    assert_eq!((found.equal, found.cells), (6, 7));
    // Another cell of that row is wrong, too.
    let found = checked(&ratios("1.70"), &[&rates(3000)]).unwrap();
    assert_eq!(differences(&found)[1..], ["y b 1.70 1.40"]);
    assert!(differences(&found)[0].starts_with("*y a 19"), "{:?}", found.differences);
    // A ratio that is wrong itself.
    let found = checked(&ratios("1.70"), &[&rates(2000)]).unwrap();
    assert_eq!(differences(&found), ["y b 1.70 1.40"]);
}

/// Its ratios are off by a factor each, and near 1, where many bases fit some of them.
#[test]
fn a_row_with_the_ratios_of_another_is_listed_cell_by_cell() {
    let dir = tempfile::tempdir().unwrap();
    let columns: String = ('b'..='h').zip(1..).map(|(arm, at)| format!("\ncol-{at} : {arm}")).collect();
    let all: String = ('a'..='h').zip(1..).map(|(arm, at)| format!("col-{at} : {arm}\n")).collect();
    let rows =
        ["1000\t980\t990\t1000\t1010\t970\t960\t1020\tx", "1000\t990\t1000\t1010\t1020\t980\t970\t1030\ty"];
    let rates = table(dir.path(), "qps.abs.tsv", all.trim_end(), &rows);
    for (row, expected) in [
        // Those of x, and of no row.
        ("0.98\t0.99\t1.00\t1.01\t0.97\t0.96\t1.02\ty", 7),
        ("0.98\t0.99\t1.00\t1.01\t0.98\t1.00\t1.00\ty", 6),
    ] {
        let ratios = ["0.98\t0.99\t1.00\t1.01\t0.97\t0.96\t1.02\tx", row];
        let found = table(dir.path(), "qps.rel.tsv", &format!("Relative to: a{columns}"), &ratios);
        let found = checked(&found, &[&rates]).unwrap();
        let bases = found.differences.iter().filter(|one| one.ratios > 0).count();
        assert_eq!(
            (found.differences.len(), bases, found.cells),
            (expected, 0, 14),
            "{:?}",
            differences(&found)
        );
    }
}

/// Figures of one step for three arms, with its base figure and the ratios to it.
fn metrics(base: &str) -> String {
    let head = "sb.met.scan.range100.pk1.dop1\n--- absolute\ncpu/o\t\tcs/o\to/s\tdbms\n";
    let rows = format!("{base}\t2.000\t100\ta\n0.000300\t3.000\t90\tb\n0.000400\t4.000\t80\tc\n");
    format!("{head}{rows}--- relative to first result\n1.50\t\t1.50\t0.90\tb\n2.00\t\t2.00\t0.80\tc\n")
}

#[test]
fn a_wrong_base_of_figures_per_operation_is_a_cell_of_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: String, arms: &[(&str, &str, &str, u32)]| {
        let path = dir.path().join("o.met.all");
        fs::write(&path, text).unwrap();
        let mut sources = Vec::new();
        for (arm, cpu, switches, rate) in arms {
            let step = format!(
                "iostat, vmstat normalized by operation rate\nsamp\tr/s\trMB/s\tw/s\twMB/s\tr/o\trKB/o\twKB/o\to/s\n\
                 9\t0.0\t0.0\t0.0\t0.0\t0.000\t0.000\t0.000\t{rate}\n\nsamp\tcs/s\tcpu/s\tcs/o\tcpu/o\n9\t1\t1.0\t{switches}\t{cpu}\n"
            );
            fs::create_dir_all(dir.path().join(arm)).unwrap();
            sources.push(dir.path().join(arm).join("sb.met.scan.range100.pk1.dop1"));
            fs::write(sources.last().unwrap(), step).unwrap();
        }
        checked(&path, &sources.iter().collect::<Vec<_>>()).unwrap()
    };
    let of_base = [("a", "0.000200", "2.000", 100)];
    let row = "sb.met.scan.range100.pk1.dop1 a cpu/o";
    let right = check(metrics("0.000200"), &of_base);
    assert_eq!(differences(&right), [""; 0]);
    let found = check(metrics("0.000700"), &of_base);
    assert_eq!(differences(&found), [format!("*{row} 0.000700 0.000200")]);
    // Without its source, the ratios tell.
    let found = check(metrics("0.000700"), &[("b", "0.000300", "3.000", 90)]);
    assert_eq!(differences(&found), [format!("*{row} 0.000700 0.000200 to 0.000201")]);
    // A row that is missing below.
    let found = check(metrics("0.000200").replace("2.00\t\t2.00\t0.80\tc\n", ""), &of_base);
    assert_eq!(found.lacking, ["sb.met.scan.range100.pk1.dop1 c relative"]);
}

#[test]
fn versions_of_db_bench_are_ratios_though_one_base_is_not_1() {
    let dir = tempfile::tempdir().unwrap();
    let head = "ops_sec\tmb_sec\ttest\tdate\tversion";
    let rows: String = ["t1", "t2"]
        .iter()
        .map(|test| {
            format!("{head}\n100\t1\t{test}\tx\t9.8\n150\t1\t{test}\tx\t9.9\n120\t1\t{test}\tx\t9.10\n")
        })
        .collect();
    let source = dir.path().join("sum.txt");
    fs::write(&source, format!("{rows}{head}\n7\t1\trevrange.t1\tx\t9.8\n")).unwrap();
    let path = dir.path().join("sum.abs.tsv");
    fs::write(&path, "9.8\t9.9\t9.10\ttest\n1.00\t1.50\t1.20\tt1\n1.10\t1.50\t1.20\tt2\n").unwrap();
    let found = checked(&path, &[&source]).unwrap();
    assert_eq!(differences(&found), ["t2 9.8 1.10 1.00"]);
    assert_eq!((found.equal, found.lacking.len()), (5, 0), "{:?}", found.lacking);
}

/// All pairs of columns, and all of rows, of ratios many of which are equal.
#[test]
fn whatever_is_exchanged_is_named_alone() {
    let dir = tempfile::tempdir().unwrap();
    let rates: Vec<Vec<u32>> = (0..12u32)
        .map(|row| {
            (0..6u32)
                .map(|column| 1000 + 10 * ((row * row + column * column * 3 + row * column) % 5))
                .collect()
        })
        .map(|mut rates: Vec<u32>| {
            rates[0] = 1000;
            rates
        })
        .collect();
    let names = ["a", "b", "c", "d", "e", "f"];
    let heads: String =
        names.iter().enumerate().map(|(at, name)| format!("col-{} : {name}\n", at + 1)).collect();
    let test = |row: usize| format!("t{row:02}");
    let rows: Vec<String> = rates
        .iter()
        .enumerate()
        .map(|(at, row)| {
            format!("{}\t{}", row.iter().map(u32::to_string).collect::<Vec<_>>().join("\t"), test(at))
        })
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let source = table(dir.path(), "qps.abs.tsv", heads.trim_end(), &rows);
    let check = |ratios: &[Vec<f64>]| {
        let heads: String = (1..6).map(|at| format!("\ncol-{at} : {}", names[at])).collect();
        let rows: Vec<String> = ratios
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let cells: Vec<String> = row.iter().map(|ratio| format!("{ratio:.2}")).collect();
                format!("{}\t{}", cells.join("\t"), test(at))
            })
            .collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let found =
            checked(&table(dir.path(), "qps.rel.tsv", &format!("Relative to: a{heads}"), &rows), &[&source]);
        let found = found.unwrap();
        assert_eq!(differences(&found), [""; 0]);
        found.exchanged.into_iter().map(|one| (one.are_rows, one.names)).collect::<Vec<_>>()
    };
    let ratios: Vec<Vec<f64>> =
        rates.iter().map(|row| row[1..].iter().map(|rate| f64::from(*rate) / 1000.0).collect()).collect();
    assert_eq!(check(&ratios), []);
    for one in 0..5 {
        for other in one + 1..5 {
            let mut exchanged = ratios.clone();
            exchanged.iter_mut().for_each(|row| row.swap(one, other));
            let pair = [names[one + 1].to_owned(), names[other + 1].to_owned()];
            assert_eq!(check(&exchanged), [(false, pair)]);
        }
    }
    for (one, other) in [(0, 1), (0, 2), (1, 3), (2, 9), (4, 11)] {
        let mut exchanged = ratios.clone();
        exchanged.swap(one, other);
        assert_eq!(check(&exchanged), [(true, [test(one), test(other)])]);
    }
}

#[test]
fn ratios_to_another_base_are_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let rates = ["1000\t910\t820\t1210\tx", "2000\t2800\t3000\t1400\ty", "500\t700\t900\t650\tz"];
    let rates = table(dir.path(), "qps.abs.tsv", FIVE, &rates);
    let ratios = ["1.00\t0.90\t1.33\tx", "1.00\t1.07\t0.50\ty", "1.00\t1.29\t0.93\tz"];
    let ratios = table(dir.path(), "qps.rel.tsv", FOUR, &ratios);
    let found = checked(&ratios, &[&rates]).unwrap();
    let base = found.relative_to.as_ref().map(|one| (&*one.fitting, &*one.named));
    assert_eq!((base, found.equal, found.cells, differences(&found)), (Some(("b", "a")), 9, 9, vec![]));
}

#[test]
fn exchanged_headers_of_db_bench_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let head = "ops_sec\tmb_sec\ttest\tdate\tversion";
    let versions = ["9.8", "9.9", "9.10"];
    let rates = [[100, 150, 120], [200, 280, 190], [300, 290, 330]];
    let rows = |(test, rates): (usize, &[u32; 3])| {
        let rows =
            rates.iter().zip(versions).map(|(rate, version)| format!("{rate}\t1\tt{test}\tx\t{version}\n"));
        format!("{head}\n{}", rows.collect::<String>())
    };
    let source = dir.path().join("sum.txt");
    fs::write(&source, rates.iter().enumerate().map(rows).collect::<String>()).unwrap();
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        for is_relative in [false, true] {
            let mut columns = versions;
            columns.swap(one, other);
            let row = |(test, rates): (usize, &[u32; 3])| {
                let cell = |rate: &u32| match is_relative {
                    true => format!("{:.2}", f64::from(*rate) / f64::from(rates[0])),
                    false => rate.to_string(),
                };
                format!("{}\tt{test}\n", rates.iter().map(cell).collect::<Vec<_>>().join("\t"))
            };
            let path = dir.path().join("sum.abs.tsv");
            let rows: String = rates.iter().enumerate().map(row).collect();
            fs::write(&path, format!("{}\ttest\n{rows}", columns.join("\t"))).unwrap();
            let found = checked(&path, &[&source]).unwrap();
            let [named] = &found.exchanged[..] else { panic!("{found:#?}") };
            let mut pair = [versions[one], versions[other]];
            pair.sort_unstable();
            assert_eq!(
                (named.are_rows, named.names.each_ref().map(String::as_str)),
                (false, pair),
                "{columns:?}"
            );
            assert_eq!((differences(&found), found.without_source), (vec![], 0), "{columns:?}");
            let base = found.relative_to.as_ref().map(|one| (&*one.fitting, &*one.named));
            assert_eq!(base, (is_relative && one == 0).then_some((versions[0], columns[0])), "{columns:?}");
        }
    }
}

#[test]
fn exchanged_rows_and_columns_are_named_once() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(dir.path(), name, text);
    let source =
        write("qps.abs.csv", "a_range=1,1001,1502,1703\nb_range=1,2004,2205,2306\nc_range=1,7,8,9\n");
    let exchanged = |text: &str| {
        let found = checked(&write("qps.table.csv", text), &[&source]).unwrap();
        assert_eq!(differences(&found), [""; 0]);
        found.exchanged.into_iter().map(|one| (one.are_rows, one.names)).collect::<Vec<_>>()
    };
    let names = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
    let rows = exchanged("a_range=1,2004,2205,2306\nb_range=1,1001,1502,1703\nc_range=1,7,8,9\n");
    assert_eq!(rows, [(true, names("a_range=1", "b_range=1"))]);
    let columns = exchanged("a_range=1,1502,1001,1703\nb_range=1,2205,2004,2306\nc_range=1,8,7,9\n");
    assert_eq!(columns, [(false, names("col-1", "col-2"))]);
    // Of ratios, no other base is made up.
    let ratios = exchanged("a_range=1,1.10,1.15\nb_range=1,1.50,1.70\nc_range=1,1.14,1.29\n");
    assert_eq!(ratios, [(true, names("a_range=1", "b_range=1"))]);
}

/// Ten steps of one arm of the Insert Benchmark, or one row of a table.
fn inserted(arm: &str, ips: u32) -> String {
    format!("{ips}\t0\t1.0\t0.5\t{arm}\n")
}

const COLUMNS: &str = "ips\tqps\trps\tmaxop\ttag\n";

#[test]
fn a_renamed_row_is_named_with_the_one_it_may_be() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| written(dir.path(), name, text);
    let arm = |arm: &str, ips: u32| {
        write(&format!("o.sum.t.{arm}"), COLUMNS.to_owned() + &inserted(arm, ips).repeat(10))
    };
    let sources = [arm("pg124.cx5", 100), arm("pg131.cx5", 110)];
    let sources: Vec<&PathBuf> = sources.iter().collect();
    let mrg = |name: &str, rows: String| write(name, COLUMNS.to_owned() + &rows.replace("1.0", "1"));
    let renamed = mrg("mrg.l.i0", inserted("pg124.cx5", 100) + &inserted("pg113.cx5", 110));
    let found = checked(&renamed, &sources).unwrap();
    assert_eq!(
        (found.equal, found.without_source, found.lacking.clone()),
        (4, 4, vec!["pg131.cx5".to_owned()])
    );
    let pair = found.renamed()[0];
    assert_eq!((pair.in_table, pair.in_sources), ("l.i0 pg113.cx5", "pg131.cx5"));
    // Another version is no slip.
    let other = mrg("mrg.l.i0", inserted("pg124.cx5", 100) + &inserted("pg181.cx5", 110));
    assert_eq!(checked(&other, &sources).unwrap().renamed().len(), 0);
    // No row has a source.
    let all = mrg("mrg.l.i0", inserted("pg9", 100));
    let error = checked(&all, &sources).unwrap_err().to_string();
    assert!(
        error.contains("the arms of") && error.contains("pg9") && error.contains("pg124.cx5, pg131.cx5"),
        "{error}"
    );
    let unnamed = mrg("merged.txt", inserted("pg124.cx5", 100));
    let error = checked(&unnamed, &sources).unwrap_err().to_string();
    assert!(error.contains("the step of ") && error.contains("mrg.q100.1"), "{error}");
    // Of a table of rates the content tells what it is, whatever its name.
    let rates = mrg("merged.txt", inserted("pg124.cx5", 100) + &inserted("pg131.cx5", 110));
    let ratios = write("rel.l.i0", COLUMNS.to_owned() + "1.10\t1\t1.00\t1.00\tpg131.cx5\n");
    let found = checked(&ratios, &[&rates]).unwrap();
    assert_eq!((found.equal, found.cells), (4, 4), "{:?}", found.differences);
}

#[test]
fn counters_that_a_table_lacks_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let perf = dir.path().join("perf.del");
    let counters = " 5.00 msec cpu-clock  #  0.5 CPUs utilized\n 100      cycles   #  2.509 GHz\n 50      branches\n \
                    5      branch-misses   #  10.00% of all branches\n 7      migrations\n";
    let text = format!(
        " Performance counter stats for process id '1':\n\n{counters}\n      10.0 seconds time elapsed\n"
    );
    fs::write(&perf, text).unwrap();
    let path = dir.path().join("perf.del.raw");
    let all =
        "cycles\t100\nGHz\t2.509\nbranches\t50\nbranch-misses\t5\nbranch-miss-pct\t10.00\nmigratons\t7\n";
    fs::write(&path, all).unwrap();
    let found = checked(&path, &[&perf]).unwrap();
    assert_eq!((found.equal, found.lacking.len()), (6, 0), "{:?}", found.lacking);
    for row in ["GHz\t2.509\n", "branches\t50\n", "branch-miss-pct\t10.00\n", "migratons\t7\n"] {
        fs::write(&path, all.replace(row, "")).unwrap();
        let found = checked(&path, &[&perf]).unwrap();
        assert_eq!(found.lacking, [row.split('\t').next().unwrap()]);
    }
}

/// Tables that are left out of an import are held against what they were derived from.
#[test]
fn exchanged_rows_of_a_table_that_is_left_out_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let rates = "col-1 : a\ncol-2 : b\ncol-3 : c\n\n100\t90\t80\tpoint-query_range=100\n";
    fs::write(dir.path().join("qps.abs.all"), rates).unwrap();
    let path = dir.path().join("o.met.all");
    let given = files(&[dir.path().display().to_string()]).unwrap();
    let doubts = |text: &str| {
        fs::write(&path, text.replace("scan", "point-query")).unwrap();
        let given = files(&[dir.path().display().to_string()]).unwrap();
        let (loaded, left_out) = load_all(&given, None, false).unwrap();
        let mut assembled = Assembled::new(loaded, &Choices::default()).unwrap();
        assembled.examine_tables(&left_out, &given);
        assert_eq!(
            assembled.doubts.len(),
            assembled.notes.iter().take_while(|(_, text)| text.contains("o.met.all")).count()
        );
        assembled.doubts.into_iter().map(|doubt| doubt.text).collect::<Vec<String>>()
    };
    assert!(given.len() == 1);
    let right = metrics("0.000200");
    assert_eq!(doubts(&right), [""; 0]);
    let [b, c] = ["0.000300\t3.000\t90\t", "0.000400\t4.000\t80\t"];
    let exchanged = right
        .replace(&format!("{b}b"), "B")
        .replace(&format!("{c}c"), &format!("{b}c"))
        .replace('B', &format!("{c}b"));
    let found = doubts(&exchanged);
    assert!(
        found[0].contains("rows look exchanged: ") && found[0].contains(" b relative and "),
        "{found:#?}"
    );
    // Ratios, too: the rates tell.
    let [b, c] = ["1.50\t\t1.50\t0.90\t", "2.00\t\t2.00\t0.80\t"];
    let both = exchanged
        .replace(&format!("{b}b"), "B")
        .replace(&format!("{c}c"), &format!("{b}c"))
        .replace('B', &format!("{c}b"));
    let found = doubts(&both);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("o/s is 80 in ") && found[0].contains("it is the rate of c"), "{found:#?}");
    let cell = right.replace("0.000400", "0.000450");
    let found = doubts(&cell);
    assert!(found.len() == 1 && found[0].contains("c relative is 2.00, but 2.25 by what"), "{found:#?}");
}

/// What is wrong in a table of ratios is said with the results that its cells are of.
#[test]
fn a_wrong_ratio_of_a_table_that_is_left_out_is_of_its_arm_and_test() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "qps.abs.tsv", RATES, &["100\t200\t300\tx_range=1", "100\t150\t300\ty_range=1"]);
    table(dir.path(), "qps.rel.tsv", RATIOS, &["2.00\tx_range=1", "1.05\ty_range=1"]);
    let given = files(&[dir.path()]).unwrap();
    let (loaded, left_out) = load_all(&given, None, false).unwrap();
    let mut assembled = Assembled::new(loaded, &Choices::default()).unwrap();
    assembled.examine_tables(&left_out, &given);
    let [doubt] = &assembled.doubts[..] else { panic!("{:?}", assembled.doubts) };
    assert!(doubt.text.contains("b of y_range=1 is 1.05, but 1.50 by what"), "{doubt:?}");
    let steps: Vec<&str> = doubt.steps.iter().map(|step| &*assembled.steps[*step].bare).collect();
    assert_eq!((&*assembled.arms[doubt.arm].name, steps), ("b", vec!["y_range=1"]));
}

/// The figures of a step that prepares another one are beside those of that one.
#[test]
fn a_step_that_prepares_another_is_not_held_against_its_result() {
    let dir = tempfile::tempdir().unwrap();
    let rates = "col-1 : a\ncol-2 : b\ncol-3 : c\n\n900\t800\t700\tscan.warm_range=100\n";
    fs::write(dir.path().join("qps.abs.all"), rates).unwrap();
    let table = metrics("0.000200").replace("sb.met.scan.", "sb.prepare.met.scan.warm.");
    assert!(table.contains("sb.prepare.met.scan.warm.range100"), "{table}");
    fs::write(dir.path().join("o.met.all"), table).unwrap();
    let given = files(&[dir.path().display().to_string()]).unwrap();
    let (loaded, left_out) = load_all(&given, None, false).unwrap();
    let mut assembled = Assembled::new(loaded, &Choices::default()).unwrap();
    assembled.examine_tables(&left_out, &given);
    assert_eq!(assembled.doubts, []);
}

/// Whichever is given first, none of several sources of a place is taken.
#[test]
fn several_sources_of_one_place_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let ratios = table(dir.path(), "qps.rel.tsv", RATIOS, &["2.00\tx"]);
    let one = table(dir.path(), "one.tsv", RATES, &["100\t200\t300\tx", "100\t150\t300\ty"]);
    let other = table(dir.path(), "other.tsv", RATES, &["100\t210\t300\tx"]);
    for sources in [[&one, &other], [&other, &one]] {
        let error = checked(&ratios, &sources).unwrap_err().to_string();
        for part in ["several of the files given have x of b, with other figures", "one.tsv", "other.tsv"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    // What the table does not have may differ, and what is the same is one.
    let other = table(dir.path(), "other.tsv", RATES, &["100\t200\t310\tx", "100\t160\t300\ty"]);
    assert_eq!(checked(&ratios, &[&one, &other]).unwrap().equal, 1);
    // The step of a table of the Insert Benchmark.
    let write = |name: &str, text: String| written(dir.path(), name, text);
    let rows = format!("{COLUMNS}{}{}", inserted("a", 100), inserted("b", 200));
    let ratios = write("rel.qr100.L1", format!("{COLUMNS}2.00\t1\t1.00\t1.00\tb\n"));
    assert_eq!(checked(&ratios, &[&write("mrg.qr100.L1", rows.clone())]).unwrap().equal, 4);
    let error = checked(&ratios, &[&write("mrg.qp100.L2", rows)]).unwrap_err().to_string();
    assert!(error.contains("give the mrg file of the same step"), "{error}");
}

/// With the same figures, or with others.
#[test]
fn rows_that_a_table_has_twice_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(dir.path(), name, text);
    let head = "ops_sec\tmb_sec\ttest\tdate\tversion";
    let sum = write("sum.txt", &format!("{head}\n100\t1\tt1\tx\t9.8\n150\t1\tt1\tx\t9.9\n"));
    let nopm = write("nopm.csv", "pg1222,1000\npg181,1500\n");
    let mrg = write("mrg.l.i0", &format!("{COLUMNS}{}{}", inserted("a", 100), inserted("b", 200)));
    for (name, source, text, row, lines) in [
        ("sum.abs.tsv", &sum, "9.8\t9.9\ttest\n100\t150\tt1\n100\t150\tt1\n", "t1", [2, 3]),
        ("sum.rel.tsv", &sum, "9.8\t9.9\ttest\n1.00\t1.50\tt1\n1.00\t1.40\tt1\n", "t1", [2, 3]),
        ("nopm.rel.csv", &nopm, "pg181,1.500\npg181,1.600\n", "pg181", [1, 2]),
        ("rel.l.i0", &mrg, &format!("{COLUMNS}{0}{0}", "2.00\t1\t1.00\t1.00\tb\n"), "l.i0 b", [2, 3]),
    ] {
        let found = checked(&write(name, text), &[source]).unwrap();
        let [doubled] = &found.doubled[..] else { panic!("{name}: {:?}", found.doubled) };
        assert_eq!((&*doubled.row, doubled.lines), (row, lines), "{name}");
    }
}

/// Two tests of one name each; the rows of a table are theirs by name, and in their order.
#[test]
fn rows_of_fio_are_paired_by_name_also_where_one_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(dir.path(), name, text);
    let test = |(name, rate): (&str, u32)| {
        format!(
            "O_DIRECT with {name} for block size 16K\nw: (g=0): rw=write, bs=(R) 16.0KiB-16.0KiB, ioengine=psync, iodepth=1\nfio-3.33\n\
             w: (groupid=0, jobs=1): err= 0: pid=1: Sun Nov 22 20:39:44 2026\n  write: IOPS={rate}, BW=10MiB/s (10MB/s)\
             (100MiB/10000msec)\n\
                 issued rwts: total=0,{rate}0,0,0 short=0,0,0,0\nRun status group 0 (all jobs):\n"
        )
    };
    let text = |rates: [(&str, u32); 4]| rates.map(test).concat();
    let own = [("fsync=0", 500), ("fsync=0", 400), ("fsync=1", 50), ("fsync=1", 40)];
    let source = write("o.txt", &text(own));
    let row = |(name, rate): (&str, u32)| format!("{rate},9.5,0.0,1,{name}_16K\n");
    let found = |rows: &[(&str, u32)]| {
        let path = write("sum.csv", &rows.iter().copied().map(row).collect::<String>());
        checked(&path, &[&source]).unwrap()
    };
    let all = found(&own);
    assert_eq!((all.equal, all.cells, all.lacking.len(), all.doubled.len()), (16, 16, 0, 0));
    let without = found(&own[1..]);
    assert_eq!(
        (without.equal, without.cells, without.lacking),
        (12, 12, vec!["fsync=0_16K (line 1 of o.txt)".to_owned()])
    );
    let twice = found(&[own[0], own[0], own[1], own[2], own[3]]);
    assert_eq!((twice.equal, twice.cells, twice.without_source), (16, 16, 4));
    assert_eq!((&*twice.doubled[0].row, twice.doubled[0].lines), ("fsync=0_16K", [1, 2]));
    let wrong = found(&[own[0], ("fsync=0", 444), own[2], own[3]]);
    assert_eq!(differences(&wrong), ["fsync=0_16K w/s 444 400"]);
    // Of several texts, the one that it has most in common with.
    let other = write("o2.txt", &text(own.map(|(name, rate)| (name, rate + 7))));
    let table = write("sum.csv", &own.map(row).concat().replace("400,", "444,"));
    let found = checked(&table, &[&other, &source]).unwrap();
    assert_eq!(differences(&found), ["fsync=0_16K w/s 444 400"]);
}
