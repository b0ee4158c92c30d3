//! Names that shells complete: plans, runs, configs, tests, builds, DBMSs, versions and flavours.
//!
//! The script of `rqps completions` calls rqps itself for every word, so names are those that exist at that moment.

use crate::args::Cli;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use rqps_builds::{Dirs, list_builds, published, shipped_flavours};
use rqps_model::Dbms;
use rqps_plan::shipped::SHIPPED_PLANS;
use rqps_servers::shipped_configs;
use rqps_store::{RunFolder, RunSummary};
use rqps_workloads::microbenchmarks;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Set by the script when a shell asks.
const VARIABLE: &str = "RQPS_COMPLETE";
const PROGRAM: &str = "rqps";
/// Shells show no more with any use.
const RUNS_MAX: usize = 50;
/// The newest major version of Postgres that is published: its registry is not asked while somebody types.
const POSTGRES_MAJORS: std::ops::RangeInclusive<u32> = 10..=18;

/// Answers a shell that asks for completions, and ends the program.
pub fn answer_if_asked() {
    CompleteEnv::with_factory(Cli::whole_command).var(VARIABLE).complete();
}

/// The script that makes a shell ask; `None` if the shell is unknown.
pub fn script(shell: &str) -> std::io::Result<Option<String>> {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(shell) else { return Ok(None) };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(Some(String::from_utf8_lossy(&script).into_owned()))
}

/// A plan: a shipped one, or a file.
pub fn plans() -> ArgValueCompleter {
    names_or_files(|| {
        let plan = |plan: &rqps_plan::shipped::ShippedPlan| (plan.name.to_owned(), plan.summary().to_owned());
        SHIPPED_PLANS.iter().map(plan).collect()
    })
}

/// A run: `last`, one of the results directory, or a folder.
pub fn runs() -> ArgValueCompleter {
    names_or_files(|| {
        let runs = newest_first(&results());
        let names = runs.iter().take(RUNS_MAX).map(|run| (run.folder.name(), String::new()));
        [("last".to_owned(), "The newest run".to_owned())].into_iter().chain(names).collect()
    })
}

/// A config: a shipped one, or a file.
pub fn configs() -> ArgValueCompleter {
    names_or_files(|| {
        let configs = Dbms::ALL.into_iter().flat_map(shipped_configs);
        configs.map(|config| (config.name, config.summary)).collect()
    })
}

/// A microbenchmark.
pub fn tests() -> ArgValueCompleter {
    names(|| {
        microbenchmarks::tests().iter().map(|test| (test.name.to_owned(), test.about.to_owned())).collect()
    })
}

/// A test of the run whose name was typed before, or else of the newest.
pub fn tests_of_run() -> ArgValueCompleter {
    names(|| {
        let results = results();
        let named = words_before().find_map(|word| {
            let folders = [results.join(&word), Path::new(&word).to_owned()];
            folders.iter().find_map(|folder| RunFolder::open_unchanging(folder).ok())
        });
        let newest = || {
            newest_first(&results).first().and_then(|run| RunFolder::open_unchanging(run.folder.path()).ok())
        };
        let Some(run) = named.or_else(newest) else { return Vec::new() };
        let tests =
            run.steps_once().filter(|step| run.windows.iter().any(|window| window.action.step == step.name));
        tests.map(|step| (step.name.clone(), String::new())).collect()
    })
}

/// A series of Postgres.
pub fn postgres_versions() -> ArgValueCompleter {
    names(|| versions(Dbms::Postgres).into_iter().map(|version| (version, String::new())).collect())
}

/// A DBMS.
pub fn dbms() -> ArgValueCompleter {
    names(|| Dbms::ALL.map(|dbms| (dbms.name().to_owned(), dbms.title().to_owned())).to_vec())
}

/// A published version of the DBMS that was typed before.
pub fn published_versions() -> ArgValueCompleter {
    names(|| {
        let dbms = words_before().find_map(|word| word.parse().ok());
        let versions = dbms.map(versions).unwrap_or_default();
        versions.into_iter().map(|version| (version, String::new())).collect()
    })
}

/// A flavour: a shipped one, or a file.
pub fn flavours() -> ArgValueCompleter {
    names_or_files(|| shipped_flavours().map(|name| (name.to_owned(), String::new())).collect())
}

/// A build: a cached or known one, or a directory.
pub fn builds() -> ArgValueCompleter {
    names_or_files(|| {
        let cached = list_builds(&Dirs::from_env()).unwrap_or_default();
        let cached = cached.iter().map(|build| (build.label(), "Cached".to_owned()));
        cached
            .chain(Dbms::ALL.into_iter().flat_map(|dbms| {
                versions(dbms).into_iter().map(move |version| (format!("{dbms}-{version}"), String::new()))
            }))
            .collect()
    })
}

fn versions(dbms: Dbms) -> Vec<String> {
    match dbms {
        Dbms::Postgres => POSTGRES_MAJORS.map(|major| major.to_string()).collect(),
        _ => {
            let published = published(&Dirs::from_env(), dbms).unwrap_or_default();
            published.into_iter().map(|build| build.version).collect()
        }
    }
}

fn results() -> PathBuf {
    std::env::var_os("RQPS_RESULTS").unwrap_or_else(|| "results".into()).into()
}

fn newest_first(results: &Path) -> Vec<RunSummary> {
    let mut runs = RunFolder::list(results).unwrap_or_default();
    runs.sort_by_key(|run| std::cmp::Reverse(run.created_at_ms));
    runs
}

/// The words of the line that is typed, after the command; the script hands them over after `--`.
fn words_before() -> impl Iterator<Item = String> {
    std::env::args().skip_while(|word| word != "--").skip(3)
}

/// A name with a few words about it, which may be empty.
type Named = (String, String);

fn names(all: impl Fn() -> Vec<Named> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| matching(all(), current))
}

/// Once a word is begun, files follow that begin with it.
fn names_or_files(all: impl Fn() -> Vec<Named> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let mut found = matching(all(), current);
        if found.is_empty() || !current.is_empty() {
            found.extend(PathCompleter::any().complete(current));
        }
        found
    })
}

fn matching(all: Vec<Named>, current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let mut seen = BTreeSet::new();
    all.into_iter()
        .filter(|(name, _)| name.starts_with(&*current) && seen.insert(name.clone()))
        .map(|(name, about)| CompletionCandidate::new(name).help((!about.is_empty()).then(|| about.into())))
        .collect()
}
