//! `bisect`: which published version, or which commit, brought a change.

use crate::args::BisectArgs;
use crate::bisect::answer::OfTest;
use crate::bisect::commits::Commits;
use crate::bisect::journal::Journal;
use crate::bisect::line::{self, Line};
use crate::bisect::measure::{BAD, FIRST_BLOCKS_MAX, GOOD, Order, measure, plan, resume, seconds};
use crate::bisect::versions::{NothingBetween, Versions};
use crate::build_progress::{get_build, with_build_progress};
use crate::context::Context;
use crate::two_builds::{BuildArg, TwoBuilds};
use crate::{EXIT_INCONCLUSIVE, Usage, out, search};
use anyhow::Context as _;
use rqps_model::counted;
use rqps_model::{BuildSource, BuildSpec, Dbms, SourceSpec};
use rqps_plan::Plan;
use rqps_plan::estimate::duration_text;
use rqps_report::Format;
use rqps_stats::bisect::{Ask, Rules, steps_expected};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The default plan.
const PLAN: &str = "verdicts";
/// How commits are compiled, unless --source says it.
const DEFAULT_FLAVOUR: &str = "o2nofp";
/// Part of a version's name, or a commit's id, in the folder's name.
const FOLDER_CHARS_MAX: usize = 10;
/// What `git bisect log` would print, in the folder.
const GIT_LOG: &str = "git-bisect.log";
/// Most measurements of one bisection: noise that needs more is not worth it.
const MEASUREMENTS_MAX: usize = 100;

pub fn run(context: &Context, args: &BisectArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "an answer is not a table")?;
    let budget = search::budget(args.budget.as_deref())?;
    if let Some(source) = &args.source {
        return of_commits(context, args, source, budget);
    }
    let (dbms, good) = version("--good", &args.good)?;
    let (other, bad) = version("--bad", &args.bad)?;
    if dbms != other {
        return Err(
            Usage(format!("--good is {dbms}, --bad is {other}: name two versions of one DBMS")).into()
        );
    }
    let releases = rqps_builds::releases(&context.dirs, dbms, &good, &bad)?;
    let listed: BTreeSet<String> = releases.iter().map(|release| release.version.clone()).collect();
    let versions = Versions::between(dbms, releases, &good, &bad).map_err(|why| {
        Usage(match why {
            NothingBetween::Same(version) => {
                format!("--good and --bad both mean {version}: name two versions")
            }
            NothingBetween::WrongWay { good, bad } => {
                format!("{good} is not older than {bad}: --good names the older version, --bad the newer one")
            }
            NothingBetween::Unknown(unknown) => {
                let argument = if unknown == good { "--good" } else { "--bad" };
                format!(
                    "{argument}: no published version {unknown} of {}; `rqps install` lists versions",
                    dbms.title()
                )
            }
        })
    })?;
    // Only a version that is not in the list may not exist.
    let ends = [("--good", versions.good()), ("--bad", versions.bad())];
    for (argument, end) in ends.into_iter().filter(|(_, end)| !listed.contains(*end)) {
        get_build(context, &versions.build(end)).with_context(|| argument.to_owned())?;
    }
    search(context, args, &versions, None, budget)
}

/// What `--source` names, which may also be the bare name of a directory.
fn repository(source: &str) -> Result<BuildSpec, Usage> {
    let is_directory = Path::new(source).is_dir();
    // git would take it for a host's name.
    if let Some((name, (_, place))) =
        source.split_once('+').and_then(|(name, rest)| Some((name, rest.split_once(':')?)))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !place.starts_with("//")
    {
        name.parse::<Dbms>().map_err(|error| Usage(format!("--source: {error}")))?;
    }
    let spec: BuildSpec = match source.parse() {
        Err(_) if is_directory => format!("./{source}").parse(),
        Err(_) if !source.contains(':') => {
            return Err(Usage(format!(
                "--source: there is no directory {source}; name a git repository, such as postgres+o2nofp:/src/postgres"
            )));
        }
        parsed => parsed,
    }
    .map_err(|error| Usage(format!("--source: {error}")))?;
    if let BuildSource::Source(_) = &spec.source {
        rqps_builds::check_known(&spec).map_err(|error| Usage(format!("--source: {error}")))?;
    }
    Ok(spec)
}

/// Searches the commits of a repository.
fn of_commits(
    context: &Context,
    args: &BisectArgs,
    source: &str,
    budget: Option<Duration>,
) -> anyhow::Result<ExitCode> {
    let spec = repository(source)?;
    let here = std::env::current_dir()?;
    let source = match spec.source {
        BuildSource::Source(source) => source,
        BuildSource::Path(path) => SourceSpec::parse(&path.to_string_lossy(), DEFAULT_FLAVOUR),
        BuildSource::Version(_) => {
            let like = "name a git repository, such as postgres+o2nofp:/src/postgres";
            return Err(Usage(format!("--source {source} is a published version: {like}")).into());
        }
    };
    let source = source.at(&here);
    if let Some(reference) = &source.reference {
        return Err(Usage(format!(
            "--source: remove `@{reference}`; --good and --bad name the commits of {}",
            source.place
        ))
        .into());
    }
    let commits = with_build_progress(context, "listing the commits", None, |watch| {
        rqps_builds::commits(&context.dirs, &source, &args.good, &args.bad, watch)
    })?;
    let line = Commits { dbms: spec.dbms, source, commits };
    search(context, args, &line, Some(&line), budget)
}

fn search(
    context: &Context,
    args: &BisectArgs,
    line: &dyn Line,
    commits: Option<&Commits>,
    budget: Option<Duration>,
) -> anyhow::Result<ExitCode> {
    // The newest version of a series is another one next year, as is a branch.
    let exact = [line.good(), line.bad()].map(|version| line.build(version).to_string());
    let template = template(args, (&exact[0], &exact[1]))?;
    let short = |version: &str| version.chars().take(FOLDER_CHARS_MAX).collect::<String>();
    let dbms = template.arms[0].build.dbms;
    let name = format!("bisect-{dbms}-{}-{}", short(line.good()), short(line.bad()));
    let mut journal = Journal::open(&search::folder(context, &name, &template)?)?;
    announce(args, &journal, &template, line)?;
    resume(context, &mut journal)?;
    let search = Search { context, args, template: &template, line, commits, rules: Rules::default() };
    journal.keep_skipped_if(|journal| search.next(journal).is_none());
    search.run(&mut journal, budget)?;
    journal.keep_skipped_if(|_| true);
    search.conclude(&journal)
}

struct Search<'a> {
    context: &'a Context,
    args: &'a BisectArgs,
    template: &'a Plan,
    line: &'a dyn Line,
    commits: Option<&'a Commits>,
    rules: Rules,
}

impl Search<'_> {
    /// Measures until every test is settled or the budget is used up.
    fn run(&self, journal: &mut Journal, budget: Option<Duration>) -> anyhow::Result<()> {
        let began = Instant::now();
        while journal.measured.len() < MEASUREMENTS_MAX {
            if budget.is_some_and(|budget| began.elapsed() >= budget) {
                search::say_budget_is_over();
                return Ok(());
            }
            let Some((version, tests, blocks)) = self.next(journal) else {
                return Ok(());
            };
            let measured = journal.measured.len();
            out::message(&format!(
                "\nmeasurement {}: {} beside {}, {}",
                measured + 1,
                self.line.title(&version),
                self.line.title(self.line.good()),
                blocks.map_or_else(
                    || "until a change is decided".to_owned(),
                    |blocks| counted(blocks, "block")
                )
            ));
            let (title, build) = (self.line.title(&version), self.line.build(&version));
            let order = Order { version: &version, title, build, tests, blocks };
            measure(self.context, journal, self.template, &order)?;
            // The last answer is printed as the result.
            let is_result = self.context.format == Format::Text && self.next(journal).is_none();
            if journal.measured.len() > measured && !is_result {
                self.found(journal).iter().for_each(|one| out::message(&one.sentence(journal, self.line)));
            }
        }
        Ok(())
    }

    /// The version to measure next, the tests that are not settled, and the blocks.
    fn next(&self, journal: &Journal) -> Option<(String, Vec<String>, Option<usize>)> {
        if journal.measured.is_empty() {
            return Some((self.line.bad().to_owned(), self.args.tests.clone(), None));
        }
        let open: Vec<(String, String, usize)> = self
            .found(journal)
            .into_iter()
            .filter_map(|one| {
                let (_, found) = one.found?;
                let Ask { version, blocks } = found.answer.next?;
                Some((one.test, found.row.versions[version].clone(), blocks))
            })
            .collect();
        let version = open.first()?.1.clone();
        let blocks = open.iter().filter(|one| one.1 == version).map(|one| one.2).max();
        Some((version, open.into_iter().map(|one| one.0).collect(), blocks))
    }

    fn found(&self, journal: &Journal) -> Vec<OfTest> {
        let skipped = journal.skipped();
        let of = |test: &String| {
            let found = journal.metric(test).map(|metric| {
                (metric, line::search(self.line, &journal.blocks(test, metric), &skipped, &self.rules))
            });
            let plan = self.args.plan.iter().map(|plan| format!(" --plan {plan}"));
            let config = self.args.config.iter().map(|config| format!(" --config {config}"));
            let is_capped = self.template.blocks().blocks_max as usize <= FIRST_BLOCKS_MAX;
            OfTest { test: test.clone(), found, options: plan.chain(config).collect(), is_capped }
        };
        self.args.tests.iter().map(of).collect()
    }

    /// Writes the log of the same search by git, if one commit brought the change; returns its path.
    fn git_log(&self, journal: &Journal, all: &[OfTest]) -> anyhow::Result<Option<String>> {
        let steps: Vec<&str> = all.iter().filter_map(OfTest::only_step).collect();
        let (Some(commits), [step]) = (self.commits, steps.as_slice()) else {
            return Ok(None);
        };
        let measured = journal.measured.iter().map(|step| step.version.clone()).collect();
        let path = journal.folder().join(GIT_LOG);
        out::write_file(&path, commits.git_log(&measured, &journal.skipped(), step))?;
        Ok(Some(path.display().to_string()))
    }

    /// Prints the course and the answers; the exit code says whether all are settled.
    fn conclude(&self, journal: &Journal) -> anyhow::Result<ExitCode> {
        let all = self.found(journal);
        let folder = journal.folder().display().to_string();
        if self.context.format == Format::Json {
            let tests: Vec<_> = all.iter().map(|one| one.json(journal)).collect();
            let value = json!({
                "good": self.line.good(),
                "bad": self.line.bad(),
                "tests": tests,
                "skipped": journal.skipped,
                "folder": folder,
            });
            out::print_line(&serde_json::to_string_pretty(&value)?)?;
        } else {
            for one in &all {
                if let Some(table) = one.table(journal, self.line) {
                    table.print(self.context, || Ok(serde_json::Value::Null))?;
                }
                out::print_line(&format!("{}\n", one.sentence(journal, self.line)))?;
            }
            out::message(&format!("runs        {folder}"));
            if let Some(log) = self.git_log(journal, &all)? {
                out::message(&format!("git         git bisect replay {log}"));
            }
        }
        let is_settled = |one: &OfTest| match &one.found {
            Some((_, found)) => found.answer.is_settled,
            None => one.is_same(journal),
        };
        Ok(if all.iter().all(is_settled) { ExitCode::SUCCESS } else { ExitCode::from(EXIT_INCONCLUSIVE) })
    }
}

/// The DBMS and the version, or series, that an argument names.
fn version(argument: &str, build: &str) -> anyhow::Result<(Dbms, String)> {
    let spec: BuildSpec = build.parse().map_err(|error| {
        Usage(format!("{argument}: {error}; to search commits, name their repository with --source"))
    })?;
    match &spec.source {
        BuildSource::Version(version) => {
            rqps_builds::check_known(&spec).map_err(|error| Usage(format!("{argument}: {error}")))?;
            Ok((spec.dbms, version.clone()))
        }
        _ => Err(Usage(format!(
            "{argument} {build} is not a published version: bisect searches the versions between two such as \
             postgres-16 and postgres-17; `rqps gate` compares any two builds"
        ))
        .into()),
    }
}

fn template(args: &BisectArgs, (good, bad): (&str, &str)) -> anyhow::Result<Plan> {
    let arm = |argument, arm, build| BuildArg { argument, arm, build };
    TwoBuilds {
        name: "bisect",
        plan: args.plan.as_deref().unwrap_or(PLAN),
        arms: [arm("--good", GOOD, good), arm("--bad", BAD, bad)],
        config: args.config.as_deref(),
        tests: &args.tests,
        tests_argument: "--test",
        budget: None,
    }
    .plan()
}

/// Says what will be measured and about how long that takes.
fn announce(args: &BisectArgs, journal: &Journal, template: &Plan, line: &dyn Line) -> anyhow::Result<()> {
    let known = journal.measured.len();
    if known > 0 {
        let folder = journal.folder().display();
        out::message(&format!("continuing {folder}: {} done", counted(known, "measurement")));
        return Ok(());
    }
    let coarse = line.coarse();
    let (version, tests) = (line.bad(), template.workload.steps.clone());
    let order =
        Order { version, title: line.title(version), build: line.build(version), tests, blocks: None };
    let one = seconds(&plan(template, &order)?);
    let steps = steps_expected(coarse.places());
    let is_refined = line.refined(&coarse, &(0..coarse.places()).collect()).places() > coarse.places();
    out::message(&format!(
        "{}\nneeds       about {} for each of about {steps} measurements{}{}; noise takes more. Ctrl-C stops, the same \
         command continues",
        line.announcement(),
        duration_text(one),
        if args.source.is_some() { ", plus the time to compile each commit" } else { "" },
        if is_refined { ", and as many again in the part where the change is" } else { "" },
    ));
    Ok(())
}
