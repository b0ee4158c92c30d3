//! The script and options by which sysbench runs a test, and our own scripts as files.

use super::error::Error;
use super::target::Target;
use crate::private_dir::PrivateDir;
use rqps_workloads::{Key, Param, Protocol, Table, Test};
use std::path::PathBuf;

const GATE: &str = include_str!("../../lua/gate.lua");
const STATEMENT: &str = include_str!("../../lua/statement.lua");

/// Tests that sysbench's own scripts run, with their options.
const STOCK_SCRIPTS: [(&str, &str, &[&str]); 16] = [
    ("point-query", "oltp_point_select", &["--skip-trx=on"]),
    ("read-only_range=10", "oltp_read_only", &["--range-size=10"]),
    ("read-only_range=100", "oltp_read_only", &["--range-size=100"]),
    ("read-only_range=10000", "oltp_read_only", &["--range-size=10000"]),
    (
        "read-only-simple",
        "oltp_read_only",
        &["--range-size=1000", "--sum-ranges=0", "--order-ranges=0", "--distinct-ranges=0"],
    ),
    (
        "read-only-sum",
        "oltp_read_only",
        &["--range-size=1000", "--simple-ranges=0", "--order-ranges=0", "--distinct-ranges=0"],
    ),
    (
        "read-only-order",
        "oltp_read_only",
        &["--range-size=1000", "--simple-ranges=0", "--sum-ranges=0", "--distinct-ranges=0"],
    ),
    (
        "read-only-distinct",
        "oltp_read_only",
        &["--range-size=1000", "--simple-ranges=0", "--sum-ranges=0", "--order-ranges=0"],
    ),
    ("delete", "oltp_delete", &[]),
    ("insert", "oltp_insert", &["--auto-inc=on"]),
    ("read-write_range=10", "oltp_read_write", &["--range-size=10"]),
    ("read-write_range=100", "oltp_read_write", &["--range-size=100"]),
    ("update-index", "oltp_update_index", &[]),
    ("update-nonindex", "oltp_update_non_index", &[]),
    ("update-one", "oltp_update_non_index", &["--table-size=1"]),
    ("write-only", "oltp_write_only", &["--range-size=10000"]),
];

/// The script of a test and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// The name of one of sysbench's own scripts; `None` for ours for single statements.
    pub stock: Option<&'static str>,
    /// Options of the script; they override those for all tests.
    pub options: Vec<String>,
}

pub(super) fn script(test: &'static Test) -> Script {
    if let Some((_, script, options)) = STOCK_SCRIPTS.iter().find(|(name, ..)| *name == test.name) {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        return Script { stock: Some(script), options };
    }
    let mut options = vec![format!("--range={}", test.range)];
    for part in test.parts {
        for statement in part.statements {
            let params: Vec<_> = statement.params.iter().map(param).collect();
            options.push(format!("--statement={}", statement.sql));
            options.push(format!("--params={}", params.join(",")));
            if statement.protocol == Protocol::Text {
                options.push("--text=on".to_owned());
            }
        }
        if part.key == Key::Zipf {
            options.push("--keys=zipf".to_owned());
        }
        if part.table == Table::OfClient {
            options.push("--own-table=on".to_owned());
        }
    }
    Script { stock: None, options }
}

/// The name of a parameter in `statement.lua`.
fn param(param: &Param) -> &'static str {
    match param {
        Param::Key => "key",
        Param::RangeEnd => "range-end",
        Param::Keys => "list",
        Param::HotKeys => "hot-list",
        Param::C => "c",
        // Used only by tests for which sysbench has scripts.
        Param::K | Param::Drawn(_) => "k",
        Param::Pad => "pad",
    }
}

/// Our scripts and the password.
#[derive(Debug)]
pub(super) struct Files(PrivateDir);

impl Files {
    pub fn write(target: &Target) -> Result<Self, Error> {
        if target.password.contains(char::is_whitespace) {
            return Err(Error::CannotDo {
                what: "can't read a password with white space from a file",
                remedy: "give the user another password, or set `driver = \"rqps\"`",
            });
        }
        let directory = PrivateDir::create(&std::env::temp_dir(), "sysbench");
        let files = Self(directory.map_err(|(path, source)| Error::Scripts { path, source })?);
        let failed = |source| Error::Scripts { path: files.0.path().to_owned(), source };
        std::fs::write(files.gate(), GATE).map_err(failed)?;
        std::fs::write(files.statement(), STATEMENT).map_err(failed)?;
        let password = format!("{}-password={}\n", target.driver_name, target.password);
        std::fs::write(files.config(), password).map_err(failed)?;
        Ok(files)
    }

    pub fn gate(&self) -> PathBuf {
        self.0.path().join("gate.lua")
    }

    pub fn statement(&self) -> PathBuf {
        self.0.path().join("statement.lua")
    }

    pub fn config(&self) -> PathBuf {
        self.0.path().join("password.conf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_workloads::microbenchmarks::{test_by_name, tests};
    use rqps_workloads::{Dialect, dialect};

    /// sysbench's scripts get the test's range; ours, which runs one statement, gets all it needs.
    #[test]
    fn every_test_has_a_script_that_can_run_it() {
        for test in tests() {
            let script = script(test);
            let Some(stock) = script.stock else {
                assert_eq!(test.parts.len(), 1, "{}", test.name);
                assert_eq!((test.parts[0].times, test.parts[0].statements.len()), (1, 1), "{}", test.name);
                assert!(!test.transaction && test.parts[0].key != Key::First, "{}", test.name);
                let statement = &test.parts[0].statements[0];
                let list = vec!["?"; test.range as usize].join(",");
                let ours = statement.sql.replace("{t}", "sbtest1").replace("{list}", &list);
                assert_eq!(ours, dialect::prepared_sql(Dialect::Mysql, statement, 1, test.range));
                assert!(!script.options.iter().any(|o| o.contains("pad")), "{}", test.name);
                continue;
            };
            let range = script.options.iter().find_map(|option| option.strip_prefix("--range-size="));
            if stock.contains("read") || stock.contains("write") {
                assert_eq!(range, Some(test.range.to_string().as_str()), "{}", test.name);
            }
        }
        assert!(STOCK_SCRIPTS.iter().all(|(name, ..)| test_by_name(name).is_some()));
        assert_eq!(
            script(test_by_name("update-inlist").unwrap()).options,
            ["--range=10", "--statement=UPDATE {t} SET c=? WHERE id IN ({list})", "--params=c,list"]
        );
    }
}
