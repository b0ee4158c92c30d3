//! `host`: the facts about this host that a run records, or its certificate.

use crate::args::HostArgs;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::out;
use crate::progress::with_spinner;
use rqps_model::HostFigure;
use rqps_probe::{HostFacts, certify};
use rqps_report::{Format, significant};
use rqps_verdicts::{Answer, DataMount, HostAnswer, WindowOrder, commit_promise, host_answers};
use serde_json::json;
use std::process::ExitCode;

pub fn run(context: &Context, args: &HostArgs) -> anyhow::Result<ExitCode> {
    context.dirs.create_work()?;
    let facts = HostFacts::collect(&context.dirs.work)?;
    match args.certify {
        true => print_certificate(context, &facts)?,
        false => print_facts(context, &facts)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print_facts(context: &Context, facts: &HostFacts) -> anyhow::Result<()> {
    let mut listing = Listing::new(vec![Column::text("fact"), Column::elastic("value")]);
    for (name, value) in facts.key_values() {
        listing.row(vec![name.into(), value.into()]);
    }
    listing.print(context, || Ok(serde_json::to_value(facts)?))
}

fn print_certificate(context: &Context, facts: &HostFacts) -> anyhow::Result<()> {
    let figures = with_spinner("measuring this host", || certify(&context.dirs.work))?;
    let mount =
        DataMount { filesystem: facts.filesystem.as_deref(), options: facts.mount_options.as_deref() };
    let answers = host_answers(&figures, mount, WindowOrder::CouldBeInTurns);
    let columns = ["value", "low", "high"].map(Column::number);
    let mut listing = Listing::new(columns.into_iter().chain(["unit", "figure"].map(Column::text)).collect());
    for figure in &figures {
        let [value, low, high] = [figure.value, figure.low, figure.high]
            .map(|value| Cell::with_exact(significant(value, 4), value));
        listing.row(vec![value, low, high, figure.quantity.unit().into(), figure.quantity.title().into()]);
    }
    listing.print(context, || {
        let figure = |one: &HostFigure| json!({ "quantity": one.quantity, "value": one.value, "low": one.low, "high": one.high });
        Ok(json!({ "figures": figures.iter().map(figure).collect::<Vec<_>>(), "answers": answers }))
    })?;
    if context.format != Format::Text {
        return Ok(());
    }
    out::print_line("")?;
    print_answers(context, &answers)?;
    if let Some(promise) = commit_promise(&figures) {
        out::print_line(&format!(
            "one client that waits for {} at each commit can do {:.0} commits per second ({:.0} to {:.0} by the \
             slices)",
            facts.directory.display(),
            promise.per_s,
            promise.low_per_s,
            promise.high_per_s
        ))?;
    }
    Ok(())
}

fn print_answers(context: &Context, answers: &[HostAnswer]) -> anyhow::Result<()> {
    for HostAnswer { question, answer, text } in answers {
        let tint = match answer {
            Answer::Yes => Tint::Green,
            Answer::No => Tint::Red,
            Answer::Unclear => Tint::Yellow,
        };
        let word = if context.color { tint.paint(answer.key()) } else { answer.key().to_owned() };
        out::print_line(&format!("{}: {word}, {text}", question.title()))?;
    }
    Ok(())
}
