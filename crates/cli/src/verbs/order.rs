//! `order`: does a difference come from a test, or from what the steps before it left?

use crate::args::OrderArgs;
use crate::context::Context;
use crate::order::answer::{OfArm, states};
use crate::order::journal::Journal;
use crate::order::shuffled::{self, Shuffled};
use crate::order::steps::{Sequence, check};
use crate::verbs::plan::read_plan;
use crate::{EXIT_INCONCLUSIVE, Usage, out, search};
use rqps_model::counted;
use rqps_plan::estimate::{duration_text, estimate};
use rqps_plan::{Plan, schedule};
use rqps_report::Format;
use rqps_stats::order::Rules;
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Most runs of one search: noise that needs more is not worth it.
const RUNS_MAX: usize = 200;

pub fn run(context: &Context, args: &OrderArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "it prints an answer beside a table")?;
    let budget = search::budget(args.budget.as_deref())?;
    let template = read_plan(&args.plan)?;
    check(&template, &args.plan)?;
    let until = budget.map(|budget| Instant::now() + budget);
    match (&args.test, args.shuffle) {
        (Some(test), _) => of_test(context, (&template, &args.plan), test, until),
        (None, Some(orders)) => shuffle(context, &template, orders, until),
        (None, None) => {
            Err(Usage("name a test with --test, or draw orders with --shuffle 8".to_owned()).into())
        }
    }
}

/// Searches the steps that a test's difference comes with.
fn of_test(
    context: &Context,
    (template, name): (&Plan, &str),
    test: &str,
    until: Option<Instant>,
) -> anyhow::Result<ExitCode> {
    let sequence = Sequence::before((template, name), test)?;
    let rules = Rules::default();
    let folder = search::folder(context, &format!("order-{}-{test}", template.name), template)?;
    let mut journal = Journal::open(&folder)?;
    let arms: Vec<&str> =
        template.arms.iter().map(|arm| &*arm.name).filter(|name| *name != template.base).collect();
    let found = |journal: &Journal| -> Vec<OfArm> {
        arms.iter().map(|arm| OfArm::new(arm, &sequence, journal, &rules)).collect()
    };
    let whole = plan_seconds(template, &sequence.steps(&(0..sequence.earlier()).collect::<Vec<_>>()));
    announce(
        &journal,
        &format!(
            "{test} in its place, alone, and after parts of the {} before it\nneeds       at most about {} for each \
             run of {}; some {} of them for each step that matters, fewer and shorter if none does",
            counted(sequence.earlier(), "step"),
            duration_text(whole * rules.passes as f64),
            counted(rules.passes, "pass"),
            2 + 2 * sequence.earlier().ilog2(),
        ),
    );
    journal.resume(context)?;
    let mut ended = false;
    while journal.runs().len() < RUNS_MAX {
        let all = found(&journal);
        let Some(variant) = all.iter().find_map(OfArm::next) else { break };
        if is_over(until) {
            ended = true;
            break;
        }
        out::message(&format!("\nrun {}: {}", journal.runs().len() + 1, sequence.text(variant)));
        journal.measure(context, template, sequence.steps(variant), rules.passes)?;
    }
    if ended {
        search::say_budget_is_over();
    }
    let all = found(&journal);
    let states: Vec<Vec<String>> =
        all.iter().map(|one| states(&sequence, &journal, &one.arm)).collect::<anyhow::Result<_>>()?;
    if context.format == Format::Json {
        let arms: Vec<_> = all.iter().zip(&states).map(|(one, states)| one.json(&sequence, states)).collect();
        let value = json!({ "test": test, "base": template.base, "arms": arms, "folder": folder });
        out::print_line(&serde_json::to_string_pretty(&value)?)?;
    } else {
        for (one, states) in all.iter().zip(&states) {
            one.table(&sequence, &rules).print(context, || Ok(serde_json::Value::Null))?;
            out::print_line(&format!("{}\n", one.sentence(&sequence, &template.base, states)))?;
        }
        out::message(&format!("runs        {}", folder.display()));
    }
    Ok(if all.iter().all(OfArm::is_settled) { ExitCode::SUCCESS } else { ExitCode::from(EXIT_INCONCLUSIVE) })
}

/// Runs the whole sequence in drawn orders.
fn shuffle(
    context: &Context,
    template: &Plan,
    orders: u32,
    until: Option<Instant>,
) -> anyhow::Result<ExitCode> {
    let folder = search::folder(context, &format!("shuffle-{}", template.name), template)?;
    let mut journal = Journal::open(&folder)?;
    let seconds = plan_seconds(template, &template.workload.steps) * shuffled::PASSES as f64;
    let left = (orders as usize).saturating_sub(journal.runs().len());
    announce(
        &journal,
        &format!(
            "all steps in {}\nneeds       about {}",
            counted(orders as usize, "order drawn at random"),
            duration_text(seconds * left as f64)
        ),
    );
    journal.resume(context)?;
    while journal.runs().len() < orders as usize {
        if is_over(until) {
            search::say_budget_is_over();
            break;
        }
        let number = journal.runs().len() as u64;
        let steps = shuffled::order(template, number);
        out::message(&format!("\norder {} of {orders}: {}", number + 1, steps.join(", ")));
        journal.measure(context, template, steps, shuffled::PASSES)?;
    }
    let found = Shuffled::new(&journal, template);
    found.table().print(context, || Ok(found.json()))?;
    if context.format == Format::Text {
        out::print_line(&format!(
            "by order, by noise: standard deviation of rQPS between orders, and between passes of one order\n\n{}",
            found.sentence()
        ))?;
    }
    out::message(&format!("runs        {}", folder.display()));
    let is_complete = journal.runs().len() >= orders as usize;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(EXIT_INCONCLUSIVE) })
}

fn announce(journal: &Journal, what: &str) {
    match journal.runs().len() {
        0 => out::message(&format!("{what}. Ctrl-C stops, the same command continues")),
        known => {
            let folder = journal.folder().display();
            out::message(&format!("continuing {folder}: {} done", counted(known, "run")));
        }
    }
}

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| until.saturating_duration_since(Instant::now()) == Duration::ZERO)
}

/// Estimated seconds of one pass of these steps.
fn plan_seconds(template: &Plan, steps: &[String]) -> f64 {
    let mut plan = template.clone();
    plan.workload.steps = steps.to_vec();
    plan.passes = 1;
    estimate(&schedule(&plan), &plan).iter().sum()
}
