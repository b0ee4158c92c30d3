//! `bisect`: which published version brought a change.

use crate::args::BisectArgs;
use crate::bisect::answer::OfTest;
use crate::bisect::journal::Journal;
use crate::bisect::measure::{BAD, GOOD, Order, measure, plan, resume, seconds};
use crate::bisect::versions::Versions;
use crate::context::Context;
use crate::two_builds::{BuildArg, TwoBuilds};
use crate::{EXIT_INCONCLUSIVE, Usage, out, search};
use rqps_model::{BuildSource, BuildSpec, Dbms};
use rqps_plan::estimate::duration_text;
use rqps_plan::{Plan, parse_budget};
use rqps_report::Format;
use rqps_stats::bisect::{Ask, Rules, steps_expected};
use rqps_store::counted;
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The default plan.
const PLAN: &str = "verdicts";
/// Most measurements of one bisection: noise that needs more is not worth it.
const MEASUREMENTS_MAX: usize = 100;

pub fn run(context: &Context, args: &BisectArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "an answer is not a table")?;
    let budget = args.budget.as_deref().map(parse_budget).transpose();
    let budget = budget.map_err(|why| Usage(format!("--budget {why}; write for example --budget 1h")))?;
    let (dbms, good) = version("--good", &args.good)?;
    let (other, bad) = version("--bad", &args.bad)?;
    if dbms != other {
        return Err(
            Usage(format!("--good is {dbms}, --bad is {other}: name two versions of one DBMS")).into()
        );
    }
    let releases = rqps_builds::releases(&context.dirs, dbms, &good, &bad)?;
    let versions = Versions::between(releases, &good, &bad).map_err(Usage)?;
    // The newest version of a series is another one next year.
    let exact = [versions.good(), versions.bad()].map(|version| format!("{dbms}-{version}"));
    let template = template(args, (&exact[0], &exact[1]))?;
    let mut journal = journal(context, &template, &exact)?;
    announce(&journal, &template, &versions)?;
    resume(context, &mut journal)?;
    let search = Search { context, args, template: &template, versions: &versions, rules: Rules::default() };
    search.run(&mut journal, budget)?;
    search.conclude(&journal)
}

struct Search<'a> {
    context: &'a Context,
    args: &'a BisectArgs,
    template: &'a Plan,
    versions: &'a Versions,
    rules: Rules,
}

impl Search<'_> {
    /// Measures until every test is settled or the budget is used up.
    fn run(&self, journal: &mut Journal, budget: Option<Duration>) -> anyhow::Result<()> {
        let began = Instant::now();
        while journal.measured.len() < MEASUREMENTS_MAX {
            if budget.is_some_and(|budget| began.elapsed() >= budget) {
                out::message("the budget is used up; the same command continues");
                return Ok(());
            }
            let Some((version, tests, blocks)) = self.next(journal) else {
                return Ok(());
            };
            let measured = journal.measured.len();
            out::message(&format!(
                "\nmeasurement {}: {version} beside {}, {}",
                measured + 1,
                self.versions.good(),
                blocks.map_or_else(
                    || "until a change is decided".to_owned(),
                    |blocks| counted(blocks, "block")
                )
            ));
            let order = Order { version: &version, tests, blocks };
            measure(self.context, journal, self.template, &order)?;
            if journal.measured.len() > measured {
                self.found(journal).iter().for_each(|one| out::message(&one.sentence(journal)));
            }
        }
        Ok(())
    }

    /// The version to measure next, the tests that are not settled, and the blocks.
    fn next(&self, journal: &Journal) -> Option<(String, Vec<String>, Option<usize>)> {
        if journal.measured.is_empty() {
            return Some((self.versions.bad().to_owned(), self.args.tests.clone(), None));
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
                (metric, self.versions.search(&journal.blocks(test, metric), &skipped, &self.rules))
            });
            OfTest { test: test.clone(), found }
        };
        self.args.tests.iter().map(of).collect()
    }

    /// Prints the course and the answers; the exit code says whether all are settled.
    fn conclude(&self, journal: &Journal) -> anyhow::Result<ExitCode> {
        let all = self.found(journal);
        let folder = journal.folder().display().to_string();
        if self.context.format == Format::Json {
            let tests: Vec<_> = all.iter().map(|one| one.json(journal)).collect();
            let value = json!({
                "good": self.versions.good(),
                "bad": self.versions.bad(),
                "tests": tests,
                "skipped": journal.skipped,
                "folder": folder,
            });
            out::print_line(&serde_json::to_string_pretty(&value)?)?;
        } else {
            for one in &all {
                if let Some(table) = one.table(journal) {
                    table.print(self.context, || Ok(serde_json::Value::Null))?;
                }
                out::print_line(&format!("{}\n", one.sentence(journal)))?;
            }
            out::message(&format!("runs        {folder}"));
        }
        let is_settled = |one: &OfTest| one.found.as_ref().is_some_and(|(_, found)| found.answer.is_settled);
        Ok(if all.iter().all(is_settled) { ExitCode::SUCCESS } else { ExitCode::from(EXIT_INCONCLUSIVE) })
    }
}

/// The DBMS and the version, or series, that an argument names.
fn version(argument: &str, build: &str) -> anyhow::Result<(Dbms, String)> {
    let spec: BuildSpec = build.parse().map_err(|error| Usage(format!("{argument}: {error}")))?;
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
        budget: None,
    }
    .plan()
}

/// The journal of this search.
fn journal(context: &Context, template: &Plan, exact: &[String; 2]) -> anyhow::Result<Journal> {
    let name = format!("bisect-{}-{}", exact[0], exact[1]);
    let folder = search::folder(context, &name, template)?;
    Journal::open(&folder)
}

/// Says what will be measured and about how long that takes.
fn announce(journal: &Journal, template: &Plan, versions: &Versions) -> anyhow::Result<()> {
    let known = journal.measured.len();
    if known > 0 {
        let folder = journal.folder().display();
        out::message(&format!("continuing {folder}: {} done", counted(known, "measurement")));
        return Ok(());
    }
    let majors = versions.majors();
    let order = Order { version: versions.bad(), tests: template.workload.steps.clone(), blocks: None };
    let one = seconds(&plan(template, &order)?);
    let steps = steps_expected(majors.places()) as f64;
    out::message(&format!(
        "{} to {}: major versions first ({}), then the minor ones where the change is\nneeds       about {} for each \
         of about {steps} measurements of major versions and as many of minor ones; noise takes more. Ctrl-C stops, \
         the same command continues",
        versions.good(),
        versions.bad(),
        majors.versions.join(", "),
        duration_text(one)
    ));
    Ok(())
}
