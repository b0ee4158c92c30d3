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
    AUTOVACUUM,
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
/// Those of them, the first, that decide whether a commit is durable.
const OF_DURABILITY: usize = 4;
/// Blocks turn it off, whatever the config says.
const AUTOVACUUM: &str = "autovacuum";
/// The flag that compiles for size.
const FOR_SIZE: &str = "-Os";

/// The line of the first run, those of others that differ, and warnings of arms that were compiled for size or with
/// assertions. Runs with the index of their base.
pub(crate) fn blocks(runs: &[(&Run, usize)]) -> Vec<Block> {
    let (mut said, mut blocks): (Vec<String>, Vec<Block>) = (Vec::new(), Vec::new());
    for (run, base) in runs {
        let line = line(run, *base);
        if !said.contains(&line) {
            let of_run = if said.is_empty() { String::new() } else { format!("{}: ", run.folder.name()) };
            blocks.push(Block::Text(format!("{of_run}{line}")));
            said.push(line);
        }
    }
    for warning in runs.iter().flat_map(|(run, _)| warnings(run)) {
        if !said.contains(&warning) {
            blocks.push(Block::Text(warning.clone()));
            said.push(warning);
        }
    }
    blocks
}

/// `Measured with 1 client, 50,000 rows in 1 table, a server built by gcc 12.2.0 -O2, fsync on.`
pub(crate) fn line(run: &Run, base: usize) -> String {
    let base = &run.arms[base];
    match phrase(run, base, &Family::of_facts(&base.facts)) {
        phrase if phrase.is_empty() => "Imported; the files do not tell how they were measured.".to_owned(),
        phrase => format!("Measured with {phrase}."),
    }
}

/// Warnings of arms that were compiled for size or with assertions.
pub(crate) fn warnings(run: &Run) -> impl Iterator<Item = String> {
    let is_for_size = |family: &Family| family.flags.split(' ').any(|flag| flag == FOR_SIZE);
    let for_size = compiled_so(run, is_for_size).map(|(names, dbms, are_several)| {
        let were = if are_several { "were" } else { "was" };
        format!(
            "WARNING: {names} {were} compiled for size ({FOR_SIZE}); packages are compiled with -O2, and their figures \
             differ. `rqps build {dbms} --source DIR` compiles with -O2."
        )
    });
    let checked = compiled_so(run, Family::has_assertions).map(|(names, _, are_several)| {
        let (check, is) = if are_several { ("check", "they are") } else { ("checks", "it is") };
        format!(
            "WARNING: {names} {check} assertions, which packages for production don't: {is} slower, in some tests much \
             more than in others."
        )
    });
    for_size.into_iter().chain(checked)
}

/// What was compiled so, its DBMS, and whether it is several: `this RocksDB` if all arms were, or else their names.
fn compiled_so(run: &Run, is_so: impl Fn(&Family) -> bool) -> Option<(String, &str, bool)> {
    let so: Vec<&Arm> = run.arms.iter().filter(|arm| is_so(&Family::of_facts(&arm.facts))).collect();
    let dbms = so.first()?.dbms.as_str();
    if so.len() == run.arms.len() && so.iter().all(|arm| arm.dbms == dbms) {
        return Some((format!("this {}", words::dbms(dbms)), dbms, false));
    }
    let names: Vec<String> = so.iter().map(|arm| format!("{} ({})", arm.variant(), arm.name)).collect();
    Some((names.join(", "), dbms, names.len() > 1))
}

fn is_library(arm: &Arm) -> bool {
    arm.dbms.parse().is_ok_and(|dbms: Dbms| !dbms.speaks_sql())
}

/// All rows of a run: `100,000 rows in 1 table`, `100,000 keys` in a library, or what the benchmark says instead. Those
/// of a plan may be an estimate, so that those that were loaded go first, and before any load they are about as many.
pub(crate) fn rows(run: &Run) -> String {
    if let Some(size) = run.meta.size() {
        return size.to_owned();
    }
    let (rows, tables) = run.rows_and_tables();
    let is_loaded = run.loads.iter().any(|load| load.valid());
    let rows = format!("{}{}", if is_loaded { "" } else { "about " }, grouped(rows, ','));
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
        let is_like = |arm: &Arm| Family::of_facts(&arm.facts).is_compiled_like(family);
        let differ = if run.arms.iter().all(is_like) { "" } else { " (arms differ)" };
        parts.extend([rows(run), format!("a {program} built by {}{differ}", toolchain(family))]);
    }
    parts.extend(SETTINGS.iter().filter_map(|name| setting(run, base, name)));
    parts.join(", ")
}

/// What makes commits durable: `fsync on`, `synchronous_commit off`.
pub(crate) fn durability(run: &Run) -> impl Iterator<Item = String> {
    let base = run.arms.iter().find(|arm| arm.role == rqps_store::Role::Base).or(run.arms.first());
    base.into_iter()
        .flat_map(|base| SETTINGS[..OF_DURABILITY].iter().filter_map(|name| setting(run, base, name)))
}

/// `jit off`, with base's value first where arms differ; `None` if base has none.
fn setting(run: &Run, base: &Arm, name: &str) -> Option<String> {
    let value_of = |arm: &Arm| {
        let setting = arm.settings.iter().find(|setting| setting.name == name)?;
        Some(if name.ends_with("_size") { size(&setting.value) } else { setting.value.clone() })
    };
    let mut values = vec![value_of(base)?];
    for value in run.arms.iter().filter_map(value_of) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let by = match name == AUTOVACUUM && run.meta.protocol == "isolated" && values == ["off"] {
        true => " (set by rqps)",
        false if values.len() > 1 => " (arms differ)",
        false => "",
    };
    Some(format!("{name} {}{by}", values.join(" or ")))
}

/// `256 MiB` of a setting's number of bytes; others as they are.
fn size(value: &str) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let in_unit = |bytes: u64| {
        let (unit, name) =
            units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))?;
        Some(format!("{} {name}", bytes / unit))
    };
    value.parse().ok().and_then(in_unit).unwrap_or_else(|| value.to_owned())
}
