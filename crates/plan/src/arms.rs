//! The arms of a plan: `[[arm]]` tables, `[matrix]`, and the name of the base among them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use crate::errors::PlannedBuild;
use crate::limits;
use crate::model::Arm;
use crate::parse::{PlanContext, check_folder_name};
use crate::problem::Problems;
use crate::reader::{Found, Node, Section};
use rqps_model::{BuildSource, BuildSpec, DEFAULT_FLAVOUR, Dbms, SourceSpec, did_you_mean};

const ARM_KEYS: [&str; 7] = ["name", "build", "config", "env", "control", "own_load", "after_load"];
const PATH_KEYS: [&str; 2] = ["path", "dbms"];
const SOURCE_KEYS: [&str; 4] = ["source", "ref", "flavour", "dbms"];
const MATRIX_KEYS: [&str; 2] = ["builds", "configs"];
const BUILD_REMEDY: &str = "Write for example \"postgres-18.1\", \"mysql-8.0\", \"rocksdb-10.10.1\", \
                            { path = \"/usr/lib/postgresql/15\" }, or { path = \"/opt/mysql\", dbms = \"mysql\" }.";

const CONFIG_REMEDY: &str = "Name a shipped config, such as \"sized\", or the path of a file. Only directories have \
                             none: build = \"directory:/mnt/data\".";

/// The config of arms that have none: directories.
const NO_CONFIG: &str = "none";

/// What builds and configs are checked against.
pub(crate) struct ArmRules<'r> {
    pub directory: &'r Path,
    pub context: &'r PlanContext<'r>,
}

/// The arms of a plan.
pub(crate) struct Arms {
    /// In order, at least one. An arm with a mistake has something else in place of its build and config.
    pub arms: Vec<Arm>,
    /// The base arm's name.
    pub base: String,
    /// The DBMSs of the arms, each once, as far as they are known.
    pub dbms: Vec<Dbms>,
    /// Those in which there is no mistake, but in the files of their configs.
    pub sound: Vec<Arm>,
    /// The builds in which there is no mistake.
    pub builds: Box<[PlannedBuild]>,
}

/// An arm as it was read, maybe with mistakes.
struct ReadArm {
    arm: Arm,
    at: Range<usize>,
    dbms: Option<Dbms>,
    /// Its build, if there is no mistake in it.
    build: Option<PlannedBuild>,
    /// Whether there is no mistake in it, but in the file of its config.
    is_sound: bool,
    /// Whether its name is known: given, or that of a sound arm.
    is_named: bool,
}

impl ReadArm {
    /// In place of an arm with mistakes: the rest of the plan refers to arms by name and number.
    fn stand_in(dbms: Option<Dbms>, at: Range<usize>) -> Self {
        let arm = Arm::new(BuildSpec::from_path(dbms.unwrap_or(Dbms::Postgres), "/"), "unknown");
        Self { arm, at, dbms, build: None, is_sound: false, is_named: false }
    }
}

/// All arms in order, those of `[[arm]]`, then every build of `[matrix]` with every config; and the base among them.
pub(crate) fn read(top: &Section<'_>, problems: &Problems<'_>, rules: &ArmRules<'_>) -> Arms {
    let before = problems.count();
    let mut arms = read_all(top, problems, rules);
    if arms.is_empty() {
        if problems.count() == before {
            let remedy = "Add [[arm]] with `build` and `config`, or [matrix] with `builds` and `configs`.";
            problems.missing(&(0..0), "[[arm]]", "the plan has no arms", remedy);
        }
        arms.push(ReadArm::stand_in(None, 0..0));
    }
    check_unique(problems, &arms);
    let base = read_base(top, problems, &arms);
    let mut dbms = Vec::new();
    for one in arms.iter().filter_map(|arm| arm.dbms) {
        if !dbms.contains(&one) {
            dbms.push(one);
        }
    }
    let sound = arms.iter().filter(|read| read.is_sound).map(|read| read.arm.clone()).collect();
    let builds = arms.iter().filter_map(|read| read.build.clone()).collect();
    Arms { arms: arms.into_iter().map(|read| read.arm).collect(), base, dbms, sound, builds }
}

fn read_all(top: &Section<'_>, problems: &Problems<'_>, rules: &ArmRules<'_>) -> Vec<ReadArm> {
    let sections = top.tables("arm");
    let matrix = top.table("matrix", "[matrix]");
    // Checked first, since each arm's config is read and the lists multiply.
    let count = sections.len() + matrix.as_ref().map_or(0, count_of_matrix);
    if count > limits::ARMS_MAX {
        let at =
            sections.get(limits::ARMS_MAX).or(matrix.as_ref()).map_or(0..0, |section| section.at.clone());
        let what = format!("{count} arms; a plan has at most {}", limits::ARMS_MAX);
        problems.error(&at, "[[arm]]", what, "Split it into several plans with the same base.");
        return Vec::new();
    }
    let arms = sections.iter().map(|section| read_arm(section, problems, rules));
    let mut arms: Vec<ReadArm> = arms.collect();
    arms.extend(matrix.map(|section| read_matrix(&section, problems, rules)).unwrap_or_default());
    arms
}

/// The base arm's name, by default the first arm's.
fn read_base(top: &Section<'_>, problems: &Problems<'_>, arms: &[ReadArm]) -> String {
    let first = arms.first().map(|read| read.arm.name.clone()).unwrap_or_default();
    let Some(Found { value, at }) = top.text("base") else {
        return first;
    };
    let named = || arms.iter().filter(|read| read.is_named);
    let names = || named().map(|read| read.arm.name.as_str());
    if names().any(|name| name == value) {
        return value.to_owned();
    }
    let question = did_you_mean(value, names());
    // It may be one whose name depends on a build or a config with a mistake.
    if question.is_some() || named().count() == arms.len() {
        let all = || format!("The arms are: {}.", names().collect::<Vec<_>>().join(", "));
        let what = format!("no arm is named \"{value}\"");
        problems.error(&at, "base", what, question.unwrap_or_else(all));
    }
    first
}

fn read_arm(section: &Section<'_>, problems: &Problems<'_>, rules: &ArmRules<'_>) -> ReadArm {
    section.check_keys(&ARM_KEYS, |_| None);
    let before = problems.count();
    let require = |key: &str, remedy: &str| match section.node(key) {
        Some((_, node)) => Some(node),
        None => {
            problems.missing(&section.at, section.place_of(key), "missing", remedy);
            None
        }
    };
    let build =
        require("build", BUILD_REMEDY).and_then(|node| read_build(section, "build", node, problems, rules));
    let (build, planned) = build.unzip();
    let dbms: Vec<Dbms> = build.iter().map(|build| build.dbms).collect();
    // Of a wrong build at least its beginning may tell the DBMS.
    let begins = section.node("build").and_then(|(_, node)| node.get_ref().as_str()).unwrap_or_default();
    let named = begins.split(['-', ':', '+']).next().and_then(|name| name.parse().ok());
    let before_config = problems.count();
    let config = match dbms.as_slice() {
        [] if section.node("config").is_none() && section.node("build").is_some() => None,
        [Dbms::Directory] if section.node("config").is_none() => Some(NO_CONFIG.to_owned()),
        _ => require("config", CONFIG_REMEDY)
            .and_then(|node| read_config(section, "config", node, problems, rules, &dbms)),
    };
    let in_file = config.as_ref().map_or(0, |config| mistakes_in_file(config, problems, before_config));
    let is_sound = problems.count() - in_file == before;
    let name = section.text("name");
    if let Some(Found { value, at }) = &name {
        check_folder_name(problems, &section.place_of("name"), value, at);
    }
    let at = name.as_ref().map_or(section.at.clone(), |name| name.at.clone());
    let dbms = dbms.first().copied().or(named);
    let mut read = match (build, config) {
        (Some(build), Some(config)) => {
            let is_named = is_sound && section.node("name").is_none();
            ReadArm { arm: Arm::new(build, config), at, dbms, build: None, is_sound, is_named }
        }
        _ => ReadArm::stand_in(dbms, at),
    };
    read.build = planned.flatten();
    if let Some(name) = name {
        read.arm.name = name.value.to_owned();
        read.is_named = true;
    }
    read.arm.control = section.boolean("control").is_some_and(|found| found.value);
    read.arm.own_load = section.boolean("own_load").is_some_and(|found| found.value);
    read.arm.env = read_env(section, problems);
    read.arm.after_load = read_after_load(section, problems);
    read
}

/// The environment of the arm's server: names as shells allow them, values as they are.
fn read_env(section: &Section<'_>, problems: &Problems<'_>) -> BTreeMap<String, String> {
    let place = section.place_of("env");
    let Some(table) = section.table("env", &place) else {
        return BTreeMap::new();
    };
    let mut env = BTreeMap::new();
    for (name, at, _) in table.entries() {
        let mut chars = name.chars();
        let starts = chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        if !starts || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            let what = format!("\"{name}\" is not a valid variable name");
            problems.error(&at, &place, what, "Use letters, digits and _, and do not begin with a digit.");
        } else if let Some(value) = table.text(name) {
            env.insert(name.to_owned(), value.value.to_owned());
        }
    }
    env
}

/// Statements for this arm alone.
fn read_after_load(section: &Section<'_>, problems: &Problems<'_>) -> Vec<String> {
    let Some(list) = section.list("after_load", "statements, in quotes") else {
        return Vec::new();
    };
    let statement = |node: &Node<'_>| match node.get_ref() {
        DeValue::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        other => {
            let what = match other {
                DeValue::String(_) => "an empty statement".to_owned(),
                _ => "not a statement in quotes".to_owned(),
            };
            let remedy = "Write SQL in quotes, for example \"DROP INDEX k_1\".";
            problems.error(&node.span(), section.place_of("after_load"), what, remedy);
            None
        }
    };
    list.value.iter().filter_map(statement).collect()
}

/// Adds base a second time, as the control, unless the plan has one.
pub(crate) fn add_control(arms: &mut Vec<Arm>, base: &str) {
    if arms.iter().any(|arm| arm.control) {
        return;
    }
    let Some(at) = arms.iter().position(|arm| arm.name == base) else {
        return;
    };
    let mut control = Arm { control: true, ..arms[at].clone() };
    while arms.iter().any(|arm| arm.name == control.name) {
        control.name.push_str("-again");
    }
    arms.insert(at + 1, control);
}

/// The number of arms from `[matrix]`. A value that is not a list is reported elsewhere; one list that is too long is
/// counted even beside an empty one.
fn count_of_matrix(section: &Section<'_>) -> usize {
    let items = |key: &str| {
        section.node(key).and_then(|(_, node)| node.get_ref().as_array()).map_or(0, |list| list.len())
    };
    let (builds, configs) = (items("builds"), items("configs"));
    builds.saturating_mul(configs).max(builds).max(configs)
}

fn read_matrix(section: &Section<'_>, problems: &Problems<'_>, rules: &ArmRules<'_>) -> Vec<ReadArm> {
    let before = problems.count();
    section.check_keys(&MATRIX_KEYS, |key| match key {
        "build" | "config" | "name" => Some("[[arm]]; [matrix] has lists, `builds` and `configs`".to_owned()),
        _ => None,
    });
    let items = |key: &str, items: &str| {
        let list = section.list(key, items);
        let is_empty = list.as_ref().is_some_and(|list| list.value.is_empty());
        if section.node(key).is_none() || is_empty {
            let at = list.as_ref().map_or(section.at.clone(), |list| list.at.clone());
            let what = if is_empty { "the list is empty" } else { "missing" };
            problems.missing(&at, section.place_of(key), what, format!("List at least one of the {items}."));
        }
        list.map(|list| list.value).unwrap_or_default()
    };
    let builds: Vec<Found<(BuildSpec, Option<PlannedBuild>)>> = items("builds", "builds")
        .iter()
        .filter_map(|node| {
            let value = read_build(section, "builds", node, problems, rules)?;
            Some(Found { value, at: node.span() })
        })
        .collect();
    let dbms: BTreeSet<Dbms> = builds.iter().map(|build| build.value.0.dbms).collect();
    let dbms: Vec<Dbms> = dbms.into_iter().collect();
    let mut in_files = 0;
    let mut read = |node: &Node<'_>| {
        let before = problems.count();
        let config = read_config(section, "configs", node, problems, rules, &dbms)?;
        in_files += mistakes_in_file(&config, problems, before);
        Some(config)
    };
    let configs: Vec<String> = items("configs", "configs").iter().filter_map(&mut read).collect();
    let is_sound = problems.count() - in_files == before;
    let arms_of = |Found { value: (build, planned), at }: &Found<(BuildSpec, Option<PlannedBuild>)>| {
        let arm = |config: &String| ReadArm {
            arm: Arm::new(build.clone(), config),
            at: at.clone(),
            dbms: Some(build.dbms),
            build: planned.clone(),
            is_sound,
            is_named: is_sound,
        };
        configs.iter().map(arm).collect::<Vec<_>>()
    };
    let lost = (!is_sound).then(|| ReadArm::stand_in(None, section.at.clone()));
    builds.iter().flat_map(arms_of).chain(lost).collect()
}

/// A build from a string or `{ path = "..", dbms = ".." }`; directories become absolute. With its place if there is no
/// mistake in it.
fn read_build(
    section: &Section<'_>,
    key: &str,
    node: &Node<'_>,
    problems: &Problems<'_>,
    rules: &ArmRules<'_>,
) -> Option<(BuildSpec, Option<PlannedBuild>)> {
    let place = section.place_of(key);
    let at = node.span();
    let mut spec = match node.get_ref() {
        DeValue::String(text) => match text.parse::<BuildSpec>() {
            Ok(spec) => spec,
            Err(error) => {
                problems.error(&at, place, error.what(), sentence(&error.remedy()));
                return None;
            }
        },
        DeValue::Table(table) => {
            read_build_table(&Section::new(place.clone(), at.clone(), table, problems), problems)?
        }
        other => {
            section.wrong_type(key, at, other, "a build, such as \"postgres-18.1\"");
            return None;
        }
    };
    match &mut spec.source {
        BuildSource::Version(_) => {}
        BuildSource::Path(path) => *path = absolute(rules.directory, path),
        BuildSource::Source(source) => *source = source.clone().at(rules.directory),
    }
    let remedy = match &spec.source {
        BuildSource::Version(_) | BuildSource::Path(_) => spec.dbms.build_remedy(),
        BuildSource::Source(_) => {
            "Name a directory, a tarball or a git repository, and a flavour.".to_owned()
        }
    };
    if let Err(what) = (rules.context.known_build)(&spec) {
        problems.error(&at, place, what, remedy);
        return Some((spec, None));
    }
    let (line, column) = problems.line_and_column(at.start);
    let planned = PlannedBuild { build: spec.clone(), line, column, place };
    Some((spec, Some(planned)))
}

/// `{ path = "..", dbms = ".." }` or `{ source = "..", ref = "..", flavour = "..", dbms = ".." }`.
fn read_build_table(section: &Section<'_>, problems: &Problems<'_>) -> Option<BuildSpec> {
    let known = Dbms::ALL.map(|dbms| (dbms.name(), dbms));
    let is_source = section.node("source").is_some();
    let keys: &[&str] = if is_source { &SOURCE_KEYS } else { &PATH_KEYS };
    section.check_keys(keys, |_| None);
    let dbms = section.choice("dbms", &known).unwrap_or(Dbms::Postgres);
    if is_source {
        let place = section.text("source")?.value.to_owned();
        let reference = section.text("ref").map(|found| found.value.to_owned());
        let flavour = section.text("flavour").map_or(DEFAULT_FLAVOUR, |found| found.value).to_owned();
        let source = BuildSource::Source(SourceSpec { place, reference, flavour });
        return Some(BuildSpec { dbms, source });
    }
    if section.node("path").is_none() {
        let what = "a build in { } needs `path` or `source`";
        problems.missing(&section.at, section.place.as_str(), what, BUILD_REMEDY);
    }
    Some(BuildSpec::from_path(dbms, section.text("path")?.value))
}

/// The mistakes that were found in a config since there were so many, if it is a file that is there.
fn mistakes_in_file(config: &str, problems: &Problems<'_>, before: usize) -> usize {
    if Path::new(config).is_file() { problems.count() - before } else { 0 }
}

/// A config's name, or the absolute path of its file: text with a `/` or ending in `.conf`, `.cnf` or `.ini` is a path.
/// All of `dbms` must have it; if `dbms` is empty because the build is a mistake, any DBMS will do.
fn read_config(
    section: &Section<'_>,
    key: &str,
    node: &Node<'_>,
    problems: &Problems<'_>,
    rules: &ArmRules<'_>,
    dbms: &[Dbms],
) -> Option<String> {
    let DeValue::String(text) = node.get_ref() else {
        section.wrong_type(
            key,
            node.span(),
            node.get_ref(),
            "a config's name or the path of its file, in quotes",
        );
        return None;
    };
    let is_path = text.contains('/') || [".conf", ".cnf", ".ini"].iter().any(|end| text.ends_with(end));
    let config = if is_path {
        absolute(rules.directory, Path::new(text.as_ref())).to_string_lossy().into_owned()
    } else {
        text.clone().into_owned()
    };
    let known = if config.is_empty() {
        Err("empty".to_owned())
    } else {
        let known = |dbms: &Dbms| (rules.context.known_config)(*dbms, &config);
        match dbms {
            [] if Dbms::ALL.iter().any(|dbms| known(dbms).is_ok()) => Ok(()),
            [] => known(&Dbms::Postgres),
            dbms => dbms.iter().try_for_each(known),
        }
    };
    let remedy = match dbms {
        [Dbms::Directory] => "Remove it.",
        _ if is_path && Path::new(&config).is_file() => "Correct the file.",
        _ => {
            "Name a shipped config of its DBMS, or the path of a file (with a `/`, or ending in .conf, .cnf or .ini) from \
             the plan's folder."
        }
    };
    if let Err(what) = known {
        problems.error(&node.span(), section.place_of(key), what, remedy);
    }
    Some(config)
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let end = if text.ends_with('?') { "" } else { "." };
    chars.next().map_or(String::new(), |first| format!("{}{}{end}", first.to_uppercase(), chars.as_str()))
}

/// The absolute path; unchanged if the working directory is unknown.
fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let joined = directory.join(path);
    std::path::absolute(&joined).unwrap_or(joined)
}

fn check_unique(problems: &Problems<'_>, arms: &[ReadArm]) {
    for (i, read) in arms.iter().enumerate().filter(|(_, read)| read.is_named) {
        let name = &read.arm.name;
        let Some(earlier) = arms[..i].iter().find(|earlier| earlier.is_named && earlier.arm.name == *name)
        else {
            continue;
        };
        let (line, _) = problems.line_and_column(earlier.at.start);
        let what = format!("the arm on line {line} is also named \"{name}\"");
        let remedy = format!("Give each its own `name`, for example name = \"{name}-again\".");
        problems.error(&read.at, format!("[[arm]] {}", i + 1), what, remedy);
    }
}
