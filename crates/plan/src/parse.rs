//! Parses a plan file into a [`Plan`], or reports all its mistakes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::arms::{self, ArmRules, Arms};
use crate::driver;
use crate::errors::{PlanErrors, PlannedBuild};
use crate::isolated::fitting_window_seconds;
use crate::limits;
use crate::model::OnServerDeath;
use crate::plan::{Benchmark, BenchmarkParts, Opened, Plan, Reading, section_of_key};
use crate::problem::{Problem, Problems, REPORTED_MAX};
use crate::profile;
use crate::protocol;
use crate::reader::{Found, Node, Section};
use rqps_model::{BuildSpec, Dbms};

/// The table of a plan that every benchmark reads.
const WORKLOAD: &str = "[workload]";

/// Top-level keys of every plan; benchmarks add their own.
const PLAN_KEYS: [&str; 15] = [
    "name",
    "protocol",
    "passes",
    "budget",
    "base",
    "seed",
    "on_server_death",
    "certificate",
    "workload",
    "isolated",
    "verdict",
    "profile",
    "test",
    "arm",
    "matrix",
];

/// Checks of names in a plan that only the caller can do. Each returns the mistake as `Err` for an unknown name.
pub struct PlanContext<'c> {
    /// Whether a config of a DBMS exists: a shipped config's name, or an absolute path.
    pub known_config: &'c dyn Fn(Dbms, &str) -> Result<(), String>,
    /// Whether a build is available: a version, or an absolute path to a directory.
    pub known_build: &'c dyn Fn(&BuildSpec) -> Result<(), String>,
    /// Reads a text file that a plan names.
    pub read_text: &'c dyn Fn(&Path) -> Result<String, String>,
    /// Opens a file of any size that a plan names.
    pub open: &'c dyn Fn(&Path) -> Result<Opened, String>,
    /// All benchmarks; the first is the default.
    pub benchmarks: &'static [&'static dyn Benchmark],
}

impl PlanContext<'static> {
    /// Accepts every build and config: for plans checked before, such as the one in a run folder.
    pub fn trusting(benchmarks: &'static [&'static dyn Benchmark]) -> Self {
        let read_text = &|path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        let open = &|path: &Path| open(path).map_err(|error| error.to_string());
        PlanContext { known_config: &|_, _| Ok(()), known_build: &|_| Ok(()), read_text, open, benchmarks }
    }
}

fn open(path: &Path) -> std::io::Result<Opened> {
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

/// A valid plan and its warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPlan {
    pub plan: Plan,
    /// In the order of the file's lines.
    pub warnings: Vec<Problem>,
    pub builds: Box<[PlannedBuild]>,
}

impl Plan {
    /// Reads a plan. `file` names it in messages; relative paths in the plan start at its directory.
    ///
    /// # Errors
    /// All mistakes of the plan at once.
    pub fn parse(text: &str, file: &str, context: &PlanContext<'_>) -> Result<CheckedPlan, PlanErrors> {
        let problems = Problems::new(text);
        if text.len() > limits::PLAN_BYTES_MAX {
            let what =
                format!("the file has {} bytes; a plan has at most {}", text.len(), limits::PLAN_BYTES_MAX);
            problems.error(&(0..0), "", what, "Is this the right file?");
            let problems = problems.into_errors(&[]);
            return Err(PlanErrors { problems, ..PlanErrors::of(file, (Vec::new(), false), Box::default()) });
        }
        let (document, syntax_errors) = DeTable::parse_recoverable(text);
        let mut broken_lines = Vec::new();
        for error in syntax_errors.iter().take(REPORTED_MAX + 1) {
            let at = error.span().unwrap_or(0..0);
            broken_lines.push(problems.line_and_column(at.start).0);
            problems.error(
                &at,
                "",
                format!("not TOML: {}", error.message().replace('\n', ", ")),
                syntax_remedy(error),
            );
            problems.ignore_missing();
        }
        refuse_nul("", document.get_ref(), &problems);
        let top = Section::new(String::new(), 0..0, document.get_ref(), &problems);
        let directory = Path::new(file).parent().unwrap_or(Path::new(""));
        let arms = arms::read(&top, &problems, &ArmRules { directory, context });
        match read_plan(&top, &problems, (file, directory), context, &arms) {
            Some(plan) if problems.count() == 0 => {
                Ok(CheckedPlan { plan, warnings: problems.into_warnings(), builds: arms.builds })
            }
            rest => {
                let are_all = arms.sound.len() == arms.arms.len();
                let (problems, rest) = (problems.into_errors(&broken_lines), rest.map(Box::new));
                Err(PlanErrors { problems, rest, ..PlanErrors::of(file, (arms.sound, are_all), arms.builds) })
            }
        }
    }
}

/// Reports NUL characters: no server accepts them in a statement, path or variable.
fn refuse_nul(place: &str, table: &DeTable<'_>, problems: &Problems<'_>) {
    for (key, value) in table {
        let key = key.get_ref();
        let place = match value.get_ref() {
            DeValue::Table(_) if place.is_empty() => format!("[{key}]"),
            _ if place.is_empty() => key.to_string(),
            _ => format!("{place} {key}"),
        };
        refuse_nul_in(&place, value, problems);
    }
}

fn refuse_nul_in(place: &str, node: &Node<'_>, problems: &Problems<'_>) {
    match node.get_ref() {
        DeValue::String(text) if text.contains('\0') => {
            problems.error(&node.span(), place, "contains a NUL character", "Remove \\u0000.");
        }
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let is_table = matches!(item.get_ref(), DeValue::Table(_));
                let numbered = format!("[[{place}]] {}", index + 1);
                refuse_nul_in(if is_table { &numbered } else { place }, item, problems);
            }
        }
        DeValue::Table(table) => refuse_nul(place, table, problems),
        _ => {}
    }
}

fn syntax_remedy(error: &toml::de::Error) -> &'static str {
    if error.message().contains("duplicate key") {
        "Keep one of the two."
    } else {
        "A plan has lines such as `rows = 1000`, `name = \"text in quotes\"` and `[workload]`."
    }
}

/// The plan, with defaults in place of mistakes; `None` if it cannot be told what it measures.
fn read_plan(
    top: &Section<'_>,
    problems: &Problems<'_>,
    (file, directory): (&str, &Path),
    context: &PlanContext<'_>,
    read: &Arms,
) -> Option<Plan> {
    let benchmark_tables = context.benchmarks.iter().flat_map(|benchmark| benchmark.plan_tables());
    let keys: Vec<&'static str> = PLAN_KEYS.iter().chain(benchmark_tables).copied().collect();
    top.check_keys(&keys, |key| match key {
        "build" | "config" => Some("[[arm]]".to_owned()),
        "builds" | "configs" => Some("[matrix]".to_owned()),
        "rates" => Some("[verdict], or in [insert] those of paced steps".to_owned()),
        _ => section_of_key(context.benchmarks, key),
    });
    let protocol = protocol::read(top, problems);
    let empty = DeTable::new();
    let nothing = || Section::new(WORKLOAD.to_owned(), 0..0, &empty, problems);
    let workload = match top.node("workload") {
        Some(_) => top.table("workload", WORKLOAD),
        None => Some(nothing()),
    };
    let read_text = |file: &str| (context.read_text)(&directory.join(file));
    let open = |file: &str| {
        // An address of a database is no path.
        let path = if file.contains("://") { file.into() } else { directory.join(file) };
        (context.open)(&path).map(|opened| (path, opened))
    };
    let parts = workload.and_then(|workload| {
        read_benchmark(&Reading {
            top,
            workload: &workload,
            problems,
            protocol: protocol.protocol,
            dbms: &read.dbms,
            plan_keys: &keys,
            directory,
            read_text: &read_text,
            open: &open,
            benchmarks: context.benchmarks,
        })
    });
    let name = read_name(top, problems, file);
    let seed = top.integer("seed", limits::SEED).map_or(1, |found| found.value);
    let on_server_death = top
        .choice("on_server_death", &OnServerDeath::ALL.map(|death| (death.key(), death)))
        .unwrap_or(OnServerDeath::NextArm);
    let certificate = top.boolean("certificate").is_none_or(|found| found.value);
    let (verdict, profile) = (protocol::read_verdict(top), profile::read(top));
    let BenchmarkParts { workload, tests, work } = parts?;
    let (mut arms, base) = (read.arms.clone(), read.base.clone());
    if protocol.control {
        arms::add_control(&mut arms, &base);
    }
    let mut plan = Plan {
        name,
        protocol: protocol.protocol,
        passes: protocol.passes,
        budget: protocol.budget,
        base,
        seed,
        on_server_death,
        certificate,
        workload,
        work,
        isolated: protocol.isolated,
        verdict,
        profile,
        tests,
        arms,
    };
    if protocol.fits_windows {
        let seconds = fitting_window_seconds(&plan);
        plan.isolated.iter_mut().for_each(|isolated| isolated.window_seconds = seconds);
    }
    driver::check(top, problems, &mut plan);
    protocol::check(top, problems, &plan, read.sound.len() == read.arms.len());
    check_profile(top, problems, &plan);
    plan.work.check(top, problems, &plan);
    Some(plan)
}

/// The plan's name; by default the file's without `.toml`.
fn read_name(top: &Section<'_>, problems: &Problems<'_>, file: &str) -> String {
    let stem =
        Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(Found { value, at }) = top.text("name") else {
        return limits::folder_name_from(&stem);
    };
    check_folder_name(problems, &top.place_of("name"), value, &at);
    value.to_owned()
}

/// Reports a name that is not a valid folder name.
pub(crate) fn check_folder_name(
    problems: &Problems<'_>,
    place: &str,
    name: &str,
    at: &std::ops::Range<usize>,
) {
    if limits::is_folder_name(name) {
        return;
    }
    let what = if name.len() > limits::NAME_CHARS_MAX {
        format!("the name has {} characters; at most {} are allowed", name.len(), limits::NAME_CHARS_MAX)
    } else {
        format!(
            "\"{name}\" is not a valid folder name: use letters, digits, `.`, `_`, `-`, and begin with a letter or digit"
        )
    };
    problems.error(at, place, what, format!("Write for example \"{}\".", limits::folder_name_from(name)));
}

/// Lets the plan's benchmark read its part; `None` if no benchmark exists.
fn read_benchmark(plan: &Reading<'_>) -> Option<BenchmarkParts> {
    let words: Vec<_> = plan.benchmarks.iter().map(|benchmark| (benchmark.id(), *benchmark)).collect();
    let chosen = plan.workload.choice("benchmark", &words);
    let has_table =
        |one: &&dyn Benchmark| one.plan_tables().iter().any(|table| plan.top.node(table).is_some());
    // A table of its own tells the benchmark, too.
    let chosen = chosen.or_else(|| plan.benchmarks.iter().copied().find(has_table));
    let is_missing = chosen.is_none() && plan.top.node("workload").is_none();
    let is_unknown = chosen.is_none() && plan.workload.node("benchmark").is_some();
    let benchmark = chosen.or_else(|| plan.benchmarks.first().copied())?;
    for other in plan.benchmarks.iter().filter(|other| other.id() != benchmark.id()) {
        for table in other.plan_tables() {
            if let Some((at, _)) = plan.top.node(table) {
                let what = format!("the plan's benchmark is \"{}\"", benchmark.id());
                let remedy =
                    format!("Write benchmark = \"{}\" in [workload], or remove the table.", other.id());
                plan.problems.error(&at, format!("[{table}]"), what, remedy);
            }
        }
    }
    if is_missing {
        report_missing(plan, benchmark);
    }
    if !is_missing && !is_unknown {
        check_dbms(plan, benchmark);
    }
    if is_missing || is_unknown || chosen.is_none() && has_key_of_another(plan, benchmark) {
        // What it needs is not known.
        plan.problems.ignore_missing();
    }
    // Its mistakes would be those of another benchmark.
    let is_of_another = !plan.dbms.is_empty() && !plan.dbms.iter().any(|dbms| benchmark.runs_on(*dbms));
    (!is_of_another).then(|| benchmark.read(plan))
}

/// Whether a plan that names no benchmark has a key of another than the default one, in the wrong place.
fn has_key_of_another(plan: &Reading<'_>, default: &dyn Benchmark) -> bool {
    let keys = || plan.workload.entries().chain(plan.top.entries()).map(|(key, ..)| key);
    let others = || plan.benchmarks.iter().filter(|other| other.id() != default.id());
    keys().any(|key| {
        default.section_of_key(key).is_none() && others().any(|other| other.section_of_key(key).is_some())
    })
}

/// Reports that there is no `[workload]`, with what it needs.
fn report_missing(plan: &Reading<'_>, default: &dyn Benchmark) {
    let other = plan.dbms.first().filter(|dbms| !default.runs_on(**dbms));
    let needs = match other {
        Some(dbms) => format!("benchmark = {}", benchmarks_of(plan, *dbms)),
        None => "at least `rows`, the rows per table".to_owned(),
    };
    plan.problems.missing(&(0..0), WORKLOAD, "missing", format!("Add [workload] with {needs}."));
}

/// The benchmarks that run on a DBMS, as a plan writes them.
fn benchmarks_of(plan: &Reading<'_>, dbms: Dbms) -> String {
    let known = plan.benchmarks.iter().filter(|benchmark| benchmark.runs_on(dbms));
    known.map(|benchmark| format!("\"{}\"", benchmark.id())).collect::<Vec<_>>().join(" or ")
}

/// Reports arms that the benchmark does not run on.
fn check_dbms(plan: &Reading<'_>, benchmark: &dyn Benchmark) {
    for dbms in plan.dbms.iter().filter(|dbms| !benchmark.runs_on(**dbms)) {
        let what = format!("\"{}\" does not run on {dbms}", benchmark.id());
        let other = if benchmark.runs_on(Dbms::Directory) {
            "name directories as builds: \"directory:/mnt/data\""
        } else {
            "use other builds"
        };
        let remedy = format!("Write benchmark = {} for {dbms}, or {other}.", benchmarks_of(plan, *dbms));
        let at = plan.workload.key_at("benchmark");
        plan.problems.error(&at, plan.workload.place_of("benchmark"), what, remedy);
    }
}

/// Warns of a time for profiles whose steps have their own. Stored plans have the default.
fn check_profile(top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    let is_default = plan.profile.seconds == profile::ProfileOptions::default().seconds;
    if let (false, false, Some(section)) =
        (is_default, plan.work.has_independent_tests(), top.table("profile", "[profile]"))
    {
        let what =
            "has no effect: these steps build on each other, so each is profiled for as long as it lasts";
        problems.warn(&section.key_at("seconds"), section.place_of("seconds"), what, "Remove it.");
    }
}
