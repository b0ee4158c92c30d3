//! `host`: the facts about this host that a run records, or its certificate.

use crate::args::HostArgs;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::progress::with_spinner;
use crate::{EXIT_INTERRUPTED, out};
use rqps_model::HostFigure;
use rqps_probe::{HostFacts, certify};
use rqps_report::{Format, wrapped};
use rqps_verdicts::{
    Answer, CommitPromise, DataMount, HostAnswer, WindowOrder, commit_promise, host_answers,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

pub fn run(context: &Context, args: &HostArgs) -> anyhow::Result<ExitCode> {
    let _made = Made::by(&context.dirs.work);
    context.dirs.create_work()?;
    let facts = HostFacts::collect(&context.dirs.work)?;
    if !args.certify {
        print_facts(context, &facts)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Its file and what was made for it are removed in any case.
    context.catch_signals();
    let figures = with_spinner("measuring this host", || certify(&context.dirs.work))?;
    if context.stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(EXIT_INTERRUPTED));
    }
    print_certificate(context, &facts, &figures)?;
    Ok(ExitCode::SUCCESS)
}

/// Directories that were missing, the deepest first: removed when dropped, if they are empty then.
struct Made(Vec<PathBuf>);

impl Made {
    /// Those that making this directory makes.
    fn by(path: &Path) -> Self {
        Self(path.ancestors().take_while(|above| !above.exists()).map(Path::to_path_buf).collect())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.0 {
            // Fails if something else is in it by now.
            let _ = std::fs::remove_dir(path);
        }
    }
}

fn print_facts(context: &Context, facts: &HostFacts) -> anyhow::Result<()> {
    let mut listing = Listing::new(vec![Column::text("fact"), Column::elastic("value")]);
    for (name, value) in facts.key_values() {
        listing.row(vec![name.into(), value.into()]);
    }
    listing.print(context, || Ok(serde_json::to_value(facts)?))
}

fn print_certificate(context: &Context, facts: &HostFacts, figures: &[HostFigure]) -> anyhow::Result<()> {
    let directory = facts.directory.to_string_lossy();
    let mount = DataMount {
        place: Some(&directory),
        filesystem: facts.filesystem.as_deref(),
        device: facts.device.as_deref(),
        options: facts.mount_options.as_deref(),
    };
    let answers = host_answers(figures, mount, WindowOrder::CouldBeInTurns);
    let promise = commit_promise(figures);
    let columns = ["value", "low", "high"].map(Column::number);
    let mut listing = Listing::new(columns.into_iter().chain(["unit", "figure"].map(Column::text)).collect());
    for figure in figures {
        let [value, low, high] = [figure.value, figure.low, figure.high]
            .map(|value| Cell::with_exact(figure.digits().text(value), value));
        listing.row(vec![value, low, high, figure.quantity.unit().into(), figure.quantity.title().into()]);
    }
    listing.print(context, || {
        let figure = |one: &HostFigure| json!({ "quantity": one.quantity, "value": one.value, "low": one.low, "high": one.high });
        let commits = |one: CommitPromise| {
            json!({
                "per_s": one.per_s,
                "low_per_s": one.low_per_s,
                "high_per_s": one.high_per_s,
                "write_us": one.write_us,
                "sync_us": one.sync_us,
            })
        };
        Ok(json!({
            "directory": facts.directory,
            "filesystem": facts.filesystem,
            "device": facts.device,
            "mount_options": facts.mount_options,
            "figures": figures.iter().map(figure).collect::<Vec<_>>(),
            "answers": answers,
            "commits": promise.map(commits),
        }))
    })?;
    let item = match context.format {
        Format::Text => "",
        Format::Markdown => "- ",
        // A table, and an object that has everything.
        Format::Csv | Format::Json => return Ok(()),
    };
    let mut lines: Vec<String> = answers.iter().map(|answer| answer_line(context, answer)).collect();
    lines.extend(promise.map(|promise| {
        format!(
            "one client that waits for this disk at each commit can do at most {:.0} commits per second ({:.0} to {:.0} by \
             the slowest and the fastest slices)",
            promise.per_s, promise.low_per_s, promise.high_per_s
        )
    }));
    let place = mount.described().unwrap_or_else(|| directory.to_string());
    lines.push(format!("the disk: that of {place}"));
    let width = context.width.filter(|_| context.format == Format::Text);
    out::print_line("")?;
    lines.iter().try_for_each(|line| out::print_line(&wrapped(&format!("{item}{line}"), width)))
}

fn answer_line(context: &Context, HostAnswer { question, answer, text }: &HostAnswer) -> String {
    let tint = match answer {
        Answer::Yes => Tint::Green,
        Answer::No => Tint::Red,
        Answer::Unclear => Tint::Yellow,
    };
    let word = if context.color { tint.paint(answer.key()) } else { answer.key().to_owned() };
    format!("{}: {word}, {text}", question.title())
}
