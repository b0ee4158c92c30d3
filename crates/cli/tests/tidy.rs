//! Project rules that a program can check: shape of the sources, and documents that agree with the code.
//!
//! Every check lists all its findings, each with file and line.

use rqps_workloads::microbenchmarks;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a source file.
const LINES_MAX: usize = 600;
/// Characters of a source line. Doc tables and lines with a string literal may be longer: they cannot be wrapped.
const COLUMNS_MAX: usize = 120;
/// Generated files.
const NOT_OURS: [&str; 6] =
    [".git", "target", "results", "Cargo.lock", "orasort/target", "orasort/Cargo.lock"];
/// Cargo workspaces, each with its crates.
const WORKSPACES: [&str; 2] = ["crates", "orasort"];

/// The crates with unsafe code, which the lints of their workspaces forbid. The first replaces a function of the C
/// library; the second calls a library that is loaded at run time; the sort moves entries unchecked because a check
/// would cost as much as the move; the next two read data passed from C and Python; the last calls C++.
const WITH_UNSAFE_CODE: [&str; 6] = [
    "crates/dose/Cargo.toml",
    "crates/rocksdb-engine/Cargo.toml",
    "orasort/orasort/Cargo.toml",
    "orasort/capi/Cargo.toml",
    "orasort/python/Cargo.toml",
    "orasort/bench/cpp/Cargo.toml",
];

/// A text file of the repository.
struct Text {
    /// Relative to the repository's root.
    path: String,
    content: String,
}

impl Text {
    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Its lines with `path:number`.
    fn lines(&self) -> impl Iterator<Item = (String, &str)> {
        let place = |number: usize| format!("{}:{}", self.path, number + 1);
        self.content.lines().enumerate().map(move |(number, line)| (place(number), line))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn texts() -> Vec<Text> {
    let root = root();
    let mut texts = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        for entry in fs::read_dir(root.join(&relative)).expect("the repository is there").flatten() {
            let path = relative.join(entry.file_name());
            if NOT_OURS.iter().any(|name| path == Path::new(name)) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if let Ok(content) = fs::read_to_string(root.join(&path)) {
                let path = path.to_string_lossy().into_owned();
                texts.push(Text { path, content });
            }
        }
    }
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    texts
}

fn sources() -> Vec<Text> {
    let mut sources = texts();
    sources.retain(|text| text.has_extension("rs"));
    assert!(sources.len() > 100, "only {} sources found", sources.len());
    sources
}

fn document(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Panics with all findings, if any.
#[track_caller]
fn none(findings: Vec<String>) {
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn every_source_begins_with_why_it_is_there() {
    let silent = sources().into_iter().filter(|source| !source.content.starts_with("//! "));
    none(silent.map(|source| source.path).collect());
}

#[test]
fn sources_stay_short_and_narrow() {
    let mut found = Vec::new();
    for source in sources() {
        let lines = source.content.lines().count();
        if lines > LINES_MAX {
            found.push(format!("{}: {lines} lines, at most {LINES_MAX}", source.path));
        }
        let may_be_long = |line: &str| {
            let comment = line.trim_start().trim_start_matches("//").trim_start_matches(['/', '!']);
            comment.trim_start().starts_with('|') || line.contains('"')
        };
        found.extend(source.lines().filter_map(|(place, line)| {
            let columns = line.chars().count();
            (columns > COLUMNS_MAX && !may_be_long(line))
                .then(|| format!("{place}: {columns} columns, at most {COLUMNS_MAX}"))
        }));
    }
    none(found);
}

#[test]
fn nothing_is_left_for_later() {
    // In pieces, or this file would match itself.
    let marks =
        [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["db", "g!("], ["to", "do!("], ["unimpl", "emented!("]];
    let marks = marks.map(|pieces| pieces.concat());
    let mut found = Vec::new();
    for source in sources() {
        let marked = |(_, line): &(String, &str)| marks.iter().any(|mark| line.contains(mark));
        found.extend(source.lines().filter(marked).map(|(place, line)| format!("{place}: {}", line.trim())));
    }
    none(found);
}

/// Files that parse the output of other programs, and whose output it is. All others decide by fields: rewording a
/// message must not change behaviour.
const FOREIGN_TEXT: [(&str, &str); 16] = [
    ("crates/builds/src/postgres/programs.rs", "the loader's, and Postgres' version"),
    ("crates/builds/src/source/twin.rs", "git's"),
    ("crates/driver/src/hammerdb/output.rs", "HammerDB's"),
    ("crates/executor/src/error.rs", "what servers say of a full disk, and Postgres' log"),
    ("crates/explain/src/counters/postgres.rs", "objects of pg_stat_io"),
    ("crates/explain/src/decompose.rs", "objects of pg_stat_io"),
    ("crates/explain/src/mechanisms/statements.rs", "SQL"),
    ("crates/explain/src/plans/", "EXPLAIN's"),
    ("crates/import/src/formats/", "other programs'"),
    ("crates/plan/src/parse.rs", "the TOML parser's"),
    ("crates/probe/src/host_facts/read.rs", "the kernel's"),
    ("crates/probe/src/mysql/", "SHOW ENGINE INNODB STATUS, and thread states"),
    ("crates/rocksdb-engine/src/counters.rs", "RocksDB's properties"),
    ("crates/servers/src/postgres/", "Postgres' log"),
    ("crates/dose/", "messages of the protocols"),
    ("orasort/", "data sets"),
];

#[test]
fn nothing_is_decided_by_a_sentence() {
    let asks =
        ["contains(", "starts_with(", "ends_with(", "strip_prefix(", "strip_suffix(", "find(", "== ", "!= "]
            .map(|ask| format!("{ask}\""));
    let is_sentence = |text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let is_word = |word: &&str| word.chars().all(char::is_alphabetic) && !word.is_empty();
        words.windows(2).any(|pair| pair.iter().all(is_word))
    };
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !is_test(&source.path)) {
        if FOREIGN_TEXT.iter().any(|(path, _)| source.path.starts_with(path)) {
            continue;
        }
        for (place, line) in source.lines().take_while(|(_, line)| !line.starts_with("#[cfg(test)]")) {
            let asked = asks.iter().flat_map(|ask| line.split(ask.as_str()).skip(1));
            let sentences = asked.filter_map(|rest| rest.split('"').next()).filter(|text| is_sentence(text));
            found.extend(sentences.map(|text| format!("{place}: {text:?}")));
        }
    }
    none(found);
}

/// Files outside `workloads` that may name a benchmark: the drivers that run it, what a client repeats, the file that
/// composes the program, the verb for single tests of the microbenchmarks, and the completion of their names.
const NAMES_A_BENCHMARK: [&str; 10] = [
    "crates/workloads/",
    "crates/executor/src/sql/",
    "crates/driver/src/hammerdb/",
    "crates/driver/src/queue/",
    "crates/driver/src/tproc_c/",
    "crates/driver/src/users.rs",
    "crates/driver/src/worker.rs",
    "crates/cli/src/complete.rs",
    "crates/cli/src/kit.rs",
    "crates/cli/src/verbs/drive.rs",
];

#[test]
fn only_its_own_files_ask_which_benchmark_system_or_driver_it_is() {
    let benchmarks = [
        "insert_benchmark",
        "microbenchmarks::",
        "tproc_c::",
        "InsertPlan",
        "MicroPlan",
        "is_queue",
        "run_queue",
    ];
    let of_executor =
        ["rqps_workloads", "crate::sql", "Dbms::", "Driver::Sysbench", "Driver::HammerDb", "Driver::DbBench"];
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.path.contains("/src/")) {
        if NAMES_A_BENCHMARK.iter().any(|path| source.path.starts_with(path)) || is_test(&source.path) {
            continue;
        }
        let names: Vec<&str> = match source.path.starts_with("crates/executor/") {
            true => benchmarks.into_iter().chain(of_executor).collect(),
            false => benchmarks.to_vec(),
        };
        let own = source.lines().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
        let code = own.filter(|(_, line)| !line.trim_start().starts_with("//"));
        found.extend(
            code.filter(|(_, line)| names.iter().any(|name| line.contains(name))).map(|(place, _)| place),
        );
    }
    none(found);
}

/// Whether a file is test code.
fn is_test(path: &str) -> bool {
    path.contains("/tests") || path.contains("/testing") || path.ends_with("tests.rs")
}

#[test]
fn no_blank_ends_a_line_and_no_tab_is_in_a_source() {
    let mut found = Vec::new();
    for text in texts().iter().filter(|text| !text.has_extension("snap")) {
        let is_source = text.has_extension("rs");
        found.extend(text.lines().filter_map(|(place, line)| {
            (line.ends_with([' ', '\t']) || (is_source && line.contains('\t'))).then_some(place)
        }));
        if !text.content.is_empty() && !text.content.ends_with('\n') {
            found.push(format!("{}: the last line has no end", text.path));
        }
    }
    none(found);
}

#[test]
fn no_registry_is_named() {
    // In pieces, for the same reason. Only the registries' own clients know their addresses.
    let hosts = [
        ["crates", ".io"],
        ["maven", ".org"],
        ["repo.", "maven"],
        ["docker", ".io"],
        ["ghcr", ".io"],
        ["quay", ".io"],
        ["pypi", ".org"],
        ["npmjs", ".com"],
        ["deb.", "debian"],
        ["archive.", "ubuntu"],
        ["apt.", "postgresql"],
    ];
    let hosts = hosts.map(|pieces| pieces.concat());
    let mut found = Vec::new();
    for text in texts() {
        let named = |(_, line): &(String, &str)| hosts.iter().any(|host| line.contains(host));
        found.extend(text.lines().filter(named).map(|(place, _)| place));
    }
    none(found);
}

#[test]
fn every_crate_takes_its_workspace_s_lints() {
    let is_of_a_crate = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        matches!(parts[..], [workspace, _, "Cargo.toml"] if WORKSPACES.contains(&workspace))
    };
    let manifests: Vec<Text> = texts().into_iter().filter(|text| is_of_a_crate(&text.path)).collect();
    assert!(manifests.len() >= 10, "only {} crates found", manifests.len());
    let lax = manifests.into_iter().filter(|text| !text.content.contains("[lints]\nworkspace = true"));
    none(lax.map(|text| text.path).filter(|path| !WITH_UNSAFE_CODE.contains(&path.as_str())).collect());
}

#[test]
fn every_crate_with_unsafe_code_says_why_it_is_sound() {
    let lints = ["unsafe_op_in_unsafe_fn = \"deny\"", "undocumented_unsafe_blocks = \"deny\""];
    let lacking = WITH_UNSAFE_CODE.iter().flat_map(|path| {
        let manifest = document(path);
        lints.iter().filter(move |lint| !manifest.contains(**lint)).map(move |lint| format!("{path}: {lint}"))
    });
    none(lacking.collect());
}

#[test]
fn nothing_depends_on_the_library_with_unsafe_code() {
    let manifests = texts().into_iter().filter(|text| text.path.ends_with("Cargo.toml"));
    let naming =
        manifests.filter(|text| text.content.contains("rqps-dose") && text.path != "crates/dose/Cargo.toml");
    none(naming.map(|text| text.path).collect());
}

#[test]
fn documents_point_at_what_is_there() {
    let mut found = Vec::new();
    for text in texts().iter().filter(|text| text.has_extension("md")) {
        let folder = Path::new(&text.path).parent().unwrap_or(Path::new("")).to_path_buf();
        let house = Path::new(if text.path.starts_with("orasort/") { "orasort" } else { "" });
        for (place, line) in text.lines() {
            let links = between(line, "](", ")")
                .into_iter()
                .filter(|link| !link.contains("://") && !link.starts_with('#'));
            let links = links.map(|link| folder.join(link.split('#').next().unwrap_or(link)));
            let paths = between(line, "`", "`")
                .into_iter()
                .filter(|path| is_repository_path(path))
                .map(|path| house.join(path));
            let lost = links.chain(paths).filter(|path| !root().join(path).exists());
            found.extend(lost.map(|path| format!("{place}: {} does not exist", path.display())));
        }
    }
    none(found);
}

/// The substrings between pairs of marks.
fn between<'a>(line: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(open) {
        let Some((inside, behind)) = after.split_once(close) else {
            break;
        };
        found.push(inside);
        rest = behind;
    }
    found
}

/// Whether a text in backquotes is a path in this repository: not a placeholder, glob or command.
fn is_repository_path(text: &str) -> bool {
    let folders = ["crates/", "configs/", "docs/", "plans/", "tools/", "orasort/", ".ci/"];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    folders.iter().any(|folder| text.starts_with(folder)) && text.chars().all(plain) && !text.contains("NNN")
}

#[test]
fn every_answer_of_the_where_table_is_a_path() {
    let text = document("ARCHITECTURE.md");
    let (_, after) = text.split_once("\n## Where do I find").expect("the section is there");
    let section = after.split("\n## ").next().unwrap_or(after);
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rows.len() >= 10, "{} rows", rows.len());
    let answer = |row: &&str| {
        row.split('|').nth(2).map(|cell| between(cell, "`", "`").first().copied().unwrap_or("").to_owned())
    };
    let bad = rows
        .iter()
        .filter(|row| !answer(row).is_some_and(|path| is_repository_path(&path) || path == "Makefile"));
    none(bad.map(|row| (*row).to_owned()).collect());
}

#[test]
fn every_verb_is_in_the_readme() {
    let readme = document("README.md");
    let verbs = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verbs")).unwrap().flatten();
    let names = verbs.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned));
    let names: Vec<String> = names.filter(|name| name != "mod").collect();
    assert!(names.len() > 10);
    let row = |name: &String| format!("| `{name}");
    none(names.into_iter().filter(|name| !readme.contains(&row(name))).collect());
}

#[test]
fn every_key_of_a_plan_is_described() {
    let described = document("docs/PLANS.md");
    let mut keys = Vec::new();
    let of_plans = |text: &Text| {
        let path = &text.path;
        path.starts_with("crates/plan/src/") || path.starts_with("crates/workloads/src/")
    };
    for source in texts().into_iter().filter(of_plans).map(|text| text.content) {
        for list in between(&source, "_KEYS: [&str; ", "];") {
            keys.extend(between(list, "\"", "\"").into_iter().map(str::to_owned));
        }
    }
    assert!(keys.len() > 25, "only {keys:?} found");
    none(keys.into_iter().filter(|key| !described.contains(&format!("`{key}`"))).collect());
}

#[test]
fn every_test_is_described_as_it_is() {
    let method = document("docs/METHOD.md");
    let mut found = Vec::new();
    for test in microbenchmarks::tests() {
        let row = method.lines().find(|line| line.starts_with(&format!("| `{}` |", test.name)));
        let queries = format!("| {} |", test.queries_per_event());
        if !row.is_some_and(|row| row.ends_with(&queries)) {
            found.push(format!("{}: {} queries an event", test.name, test.queries_per_event()));
        }
        let sql = test.statements().map(|statement| statement.sql.replace("{t}", "t").replace("{list}", "…"));
        found.extend(sql.filter(|sql| !method.contains(&format!("`{sql}`"))));
    }
    none(found);
}

#[test]
fn every_metric_is_described() {
    let described = document("docs/SCHEMA.md");
    let source = document("crates/probe/src/metrics.rs");
    let kinds = ["cpus", "host_", "server_", "client_", "rest_"];
    let is_name = |text: &str| {
        kinds.iter().any(|kind| text.starts_with(kind))
            && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let mut names: Vec<&str> =
        between(&source, "\"", "\"").into_iter().filter(|text| is_name(text)).collect();
    names.dedup();
    assert!(names.len() > 20, "only {names:?} found");
    none(
        names
            .into_iter()
            .filter(|name| !described.contains(&format!("`{name}`")))
            .map(str::to_owned)
            .collect(),
    );
}

#[test]
fn every_shipped_plan_and_section_is_described() {
    let plans = document("docs/PLANS.md");
    let shipped = fs::read_dir(root().join("plans")).unwrap().flatten();
    let shipped =
        shipped.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned));
    let mut found: Vec<String> = shipped.filter(|name| !plans.contains(&format!("`{name}`"))).collect();
    let method = document("docs/METHOD.md");
    let sections = rqps_report::Section::ALL.map(rqps_report::Section::key);
    found.extend(
        sections.iter().filter(|name| !method.contains(&format!("`{name}`"))).map(|name| (*name).to_owned()),
    );
    none(found);
}

/// Maximum number of modules of a crate in a dependency cycle, since they are hard to change one by one.
const CIRCLE_MAX: usize = 3;

#[test]
fn no_circle_of_modules_is_large() {
    let mut crates: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for source in sources() {
        let Some((folder, file)) = source.path.split_once("/src/") else {
            continue;
        };
        let is_test = ["tests.rs", "_tests.rs", "testing.rs"].iter().any(|end| file.ends_with(end));
        if !is_test && !file.contains("tests_of") {
            let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
            let name = if matches!(name, "lib" | "main" | "mod") { "" } else { name };
            let code =
                source.content.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            crates.entry(folder.to_owned()).or_default().insert(name.replace('/', "::"), code);
        }
    }
    let mut found = Vec::new();
    for (folder, modules) in &crates {
        let needs: BTreeMap<&str, BTreeSet<&str>> =
            modules.iter().map(|(name, code)| (name.as_str(), needed(name, code, modules))).collect();
        let reach: BTreeMap<&str, BTreeSet<&str>> =
            needs.keys().map(|name| (*name, reached(name, &needs))).collect();
        for (name, others) in &reach {
            let circle: Vec<&str> =
                others.iter().copied().filter(|other| reach[other].contains(name)).collect();
            // Reported once, for its first module.
            if circle.len() > CIRCLE_MAX && circle.first() == Some(name) {
                found.push(format!("{folder}: {}", circle.join(", ")));
            }
        }
    }
    none(found);
}

/// The modules that a module refers to by paths from `crate`, `self` and `super`.
fn needed<'a>(name: &str, code: &str, modules: &'a BTreeMap<String, String>) -> BTreeSet<&'a str> {
    let own: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
    let mut needed = BTreeSet::new();
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    for (start, skipped) in [("crate::", own.len()), ("self::", 0), ("super::", 1), ("super::super::", 2)] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let root = &own[..own.len().saturating_sub(skipped)];
            for path in paths(&code[at + start.len()..]) {
                let whole: Vec<&str> = root.iter().copied().chain(path.split("::")).collect();
                let known = (1..=whole.len()).rev().map(|parts| whole[..parts].join("::"));
                let module = known
                    .into_iter()
                    .find_map(|path| modules.get_key_value(&path))
                    .map(|(path, _)| path.as_str());
                needed.extend(module.filter(|module| *module != name));
            }
        }
    }
    needed
}

/// The paths that begin here: one, or a list in braces.
fn paths(text: &str) -> Vec<String> {
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let end = text.find(|c| !is_of_path(c)).unwrap_or(text.len());
    let head = text[..end].trim_end_matches("::");
    let Some(list) =
        text[end..].strip_prefix('{').filter(|_| text[..end].is_empty() || text[..end].ends_with("::"))
    else {
        return vec![head.to_owned()];
    };
    let close = list.find(['}', ';']).unwrap_or(list.len());
    let items = list[..close].split([',', '{']).map(str::trim).filter(|item| !item.is_empty());
    let joined = items.map(|item| if head.is_empty() { item.to_owned() } else { format!("{head}::{item}") });
    joined.collect()
}

fn reached<'a>(name: &'a str, needs: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![name];
    while let Some(module) = open.pop() {
        for next in needs.get(module).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}
