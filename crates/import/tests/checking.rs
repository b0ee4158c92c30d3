//! Tables that lack rows, or have no source: a check says so instead of finding all equal.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::fs;
use std::path::{Path, PathBuf};

use rqps_import::{Checked, Error, Reading, check, files};

fn table(dir: &Path, name: &str, head: &str, rows: &[&str]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, format!("{head}\n\n{}\n", rows.join("\n"))).unwrap();
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
