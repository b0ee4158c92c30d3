//! What a run was measured under, in a line: clients, rows, how base was compiled, and settings that decide what a
//! figure means, base's value first where arms differ.

use rqps_model::{Dbms, Family, Role, counted, grouped, numbers_of};
use rqps_store::{Arm, Run};

use crate::document::Block;
use crate::families::toolchain;
use crate::words;

/// Settings without which a figure can't be compared with others': durability, background work, parallelism, caches,
/// compression.
const SETTINGS: [&str; 15] = [
    "fsync",
    "synchronous_commit",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "autovacuum",
    "jit",
    "max_parallel_workers_per_gather",
    "shared_buffers",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "compression",
    "use_direct_reads",
    "max_background_jobs",
    "write_buffer_size",
];
/// The flag that compiles for size.
const FOR_SIZE: &str = "-Os";

/// The line, and a warning if base was compiled for size or with assertions.
pub(crate) fn blocks(run: &Run, base: usize) -> Vec<Block> {
    let base = &run.arms[base];
    let family = Family::of_facts(&base.facts);
    let line = match phrase(run, base, &family) {
        phrase if phrase.is_empty() => {
            Block::Text("Imported; the files do not tell how they were measured.".to_owned())
        }
        phrase => Block::Text(format!("Measured with {phrase}.")),
    };
    let is_for_size = family.flags.split(' ').any(|flag| flag == FOR_SIZE);
    let warning = is_for_size.then(|| {
        Block::Text(format!(
            "WARNING: this {} was compiled for size ({FOR_SIZE}); packages are compiled with -O2, and their figures differ. \
             `rqps build {} --source DIR` compiles with -O2.",
            words::dbms(&base.dbms),
            base.dbms
        ))
    });
    let checked = family.has_assertions().then(|| {
        Block::Text(format!(
            "WARNING: this {} checks assertions, which packages for production don't: it is slower, in some tests much more \
             than in others.",
            words::dbms(&base.dbms)
        ))
    });
    std::iter::once(line).chain(warning).chain(checked).collect()
}

fn is_library(arm: &Arm) -> bool {
    arm.dbms.parse().is_ok_and(|dbms: Dbms| !dbms.speaks_sql())
}

/// All rows of a run: `100,000 rows in 1 table`, `100,000 keys` in a library, or what the benchmark says instead. Those
/// of a plan may be an estimate, so that those that were loaded go first.
pub(crate) fn rows(run: &Run) -> String {
    if let Some(size) = run.meta.size() {
        return size.to_owned();
    }
    let tables = run.meta.tables;
    let loaded = run.loads.iter().find(|load| load.valid() && load.result.rows > 0);
    let planned = run.meta.rows_per_table * u64::from(tables);
    let rows = grouped(loaded.map_or(planned, |load| load.result.rows), ',');
    match run.arms.first().is_some_and(is_library) {
        true => format!("{rows} keys"),
        false => format!("{rows} rows in {}", counted(tables as usize, "table")),
    }
}

/// `1 and 2 clients`, of all tests; None if no file of an import tells it.
pub(crate) fn clients(run: &Run) -> Option<String> {
    let tests = run.steps.iter().filter(|step| step.role == Some(Role::Test));
    let clients: Vec<u32> = tests.map(|step| step.clients).filter(|clients| *clients > 0).collect();
    (!clients.is_empty()).then(|| numbers_of(clients.into_iter(), words::client_noun(run)))
}

fn phrase(run: &Run, base: &Arm, family: &Family) -> String {
    let meta = &run.meta;
    if meta.is_imported() {
        let method = meta.method.iter().filter(|setting| setting.name == "program");
        let by = method.map(|setting| setting.value.clone());
        return by.chain(clients(run)).collect::<Vec<_>>().join(", ");
    }
    let mut parts: Vec<String> = clients(run).into_iter().collect();
    // A directory has neither rows nor a program.
    if meta.tables > 0 {
        let program = if is_library(base) { "library" } else { "server" };
        parts.extend([rows(run), format!("a {program} built by {}", toolchain(family))]);
    }
    let value_of = |arm: &Arm, name: &str| {
        let setting = arm.settings.iter().find(|setting| setting.name == name)?;
        Some(setting.value.clone())
    };
    let setting = |name: &&str| {
        let mut values = vec![value_of(base, name)?];
        for value in run.arms.iter().filter_map(|arm| value_of(arm, name)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let differ = if values.len() > 1 { " (arms differ)" } else { "" };
        Some(format!("{name} {}{differ}", values.join(" or ")))
    };
    parts.extend(SETTINGS.iter().filter_map(setting));
    parts.join(", ")
}
