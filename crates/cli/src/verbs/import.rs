//! `import`: results of other programs as a run, and published tables recomputed from them.

use crate::args::ImportArgs;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing};
use crate::{EXIT_REGRESSION, out};
use rqps_import::{
    Assembled, BaseAs, Checked, Choices, Difference, Doubled, Exchanged, LeftOut, OtherBase, Reading,
    Renamed, Why,
};
use rqps_model::clipped;
use rqps_report::Options;
use rqps_store::RunFolder;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let mut files = rqps_import::files(&args.paths)?;
    files.extend(rqps_import::repeats(&args.repeats)?);
    if let Some(table) = &args.check {
        let reading = if args.without_quirks { Reading::True } else { Reading::Published };
        let checked = rqps_import::check(table, &files, args.device.as_deref(), reading, args.skip_unknown)?;
        return report_check(context, table, &checked);
    }
    let (loaded, mut left_out) = rqps_import::load_all(&files, args.read_as, args.skip_unknown)?;
    let choices = Choices { arms: args.arms.clone(), base: args.base.clone(), cpus: args.cpus };
    let mut assembled = Assembled::new(loaded, &choices)?;
    assembled.examine_tables(&left_out, &files);
    left_out.extend(assembled.left_out.iter().cloned());
    report_left_out(&left_out);
    assembled.unpaired.iter().for_each(|(_, text)| out::message(text));
    report_guesses(&assembled);
    let folder = rqps_import::write_run(&assembled, &context.results, &args.name)?;
    let run = RunFolder::open(&folder)?;
    let options = Options { format: context.format, screen: context.screen(), ..Options::default() };
    // First: with another base, faster is slower.
    report_base(&assembled);
    out::print_line(&rqps_report::show(&run, &options)?)?;
    out::message(&format!("imported into {}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Says which arm others are compared with, and how to choose another.
fn report_base(assembled: &Assembled) {
    let why = match assembled.base_as {
        _ if assembled.arms.len() < 2 => return,
        BaseAs::Chosen | BaseAs::Guessed => return,
        BaseAs::Named => "by its name",
        BaseAs::First => "the first arm",
    };
    let base = &assembled.arms[assembled.base].name;
    out::message(&format!("base is {base}, {why}; --base ARM chooses another"));
}

/// Says what no name told, before the results that rest on it: which arm is base, and that there is only one.
fn report_guesses(assembled: &Assembled) {
    let arms: Vec<&str> = assembled.arms.iter().map(|arm| arm.name.as_str()).collect();
    let base = arms[assembled.base];
    let others: Vec<&str> = arms.iter().copied().filter(|arm| *arm != base).collect();
    if assembled.base_as == BaseAs::Guessed
        && let Some(other) = others.first()
    {
        let wrong = match others.len() {
            1 => format!("If it is {other}, all ratios are inverted"),
            _ => format!("If it is one of {}, all ratios are relative to the wrong arm", others.join(", ")),
        };
        let text = format!(
            "base is {base} only because it comes first: names do not tell which arm is base. {wrong}; import again with --base \
             '{other}'"
        );
        out::message(&clipped(&text, 2 * NAMES_CHARS_MAX));
    }
    if !others.is_empty() {
        assembled.taken.iter().for_each(|text| out::message(text));
    }
    if others.is_empty()
        && let Some((taken, remedy)) = rqps_import::taken_for_one(assembled)
    {
        out::message(&format!(
            "{} were taken for repeats or tests of one arm, {base}; if they are arms: rqps import {}",
            clipped(&taken, NAMES_CHARS_MAX),
            clipped(&remedy, NAMES_CHARS_MAX)
        ));
    }
}

/// Of the names in one message.
const NAMES_CHARS_MAX: usize = 300;

/// Files that are no part of the run, with the reason.
fn report_left_out(files: &[LeftOut]) {
    for (why, text) in [
        (Why::NotUnderstood, "not understood"),
        (Why::Quiet, "standard errors without a message"),
        (Why::OwnRun, "runs of rqps, such as previous imports"),
        (Why::Derived, "derived from results that are imported (--check recomputes such tables)"),
    ] {
        let paths: Vec<String> =
            files.iter().filter(|one| one.why == why).map(|one| one.path.display().to_string()).collect();
        if !paths.is_empty() {
            let count = rqps_model::counted(paths.len(), "file");
            out::message(&format!(
                "left out {count}, {text}: {}",
                clipped(&paths.join(", "), NAMES_CHARS_MAX)
            ));
        }
    }
}

/// Differences as a list, and how many cells are equal.
fn report_check(context: &Context, table: &Path, checked: &Checked) -> anyhow::Result<ExitCode> {
    let numbers = ["line"].map(Column::number);
    let words = ["row", "column", "published", "computed", "because of"].map(Column::text);
    let mut listing = Listing::new(numbers.into_iter().chain(words).collect());
    for one in &checked.differences {
        let why = match (one.quirk, one.ratios) {
            (Some(quirk), _) => quirk.key().to_owned(),
            (None, 0) => String::new(),
            (None, ratios) => format!("base of {ratios} ratios"),
        };
        let line = one.line.to_string();
        let cells = [&*line, &one.row, &one.column, &one.published, &one.computed, &*why];
        listing.row(cells.into_iter().map(Cell::from).collect());
    }
    listing.print(context, || {
        let difference = |one: &Difference| {
            json!({
                "line": one.line, "row": one.row, "column": one.column,
                "published": one.published, "computed": one.computed, "quirk": one.quirk, "ratios": one.ratios,
            })
        };
        let renamed = |one: &Renamed<'_>| json!({ "in_table": one.in_table, "in_sources": one.in_sources });
        let exchanged = |one: &Exchanged| json!({ "are_rows": one.are_rows, "names": one.names });
        let doubled = |one: &Doubled| json!({ "row": one.row, "lines": one.lines });
        Ok(json!({
            "cells": checked.cells, "equal": checked.equal, "without_source": checked.without_source,
            "without_source_in": checked.without_source_in(), "lacking": checked.lacking,
            "renamed": checked.renamed().iter().map(renamed).collect::<Vec<_>>(),
            "relative_to": checked.relative_to.as_ref().map(|one| json!({ "fitting": one.fitting, "named": one.named })),
            "exchanged": checked.exchanged.iter().map(exchanged).collect::<Vec<_>>(),
            "doubled": checked.doubled.iter().map(doubled).collect::<Vec<_>>(), "assumed": checked.assumed,
            "differences": checked.differences.iter().map(difference).collect::<Vec<_>>(),
        }))
    })?;
    out::message(&format!("{}: {} of {} cells equal", table.display(), checked.equal, checked.cells));
    if let Some(assumed) = &checked.assumed {
        out::message(&format!("its figures are taken to be {assumed}"));
    }
    for Doubled { row, lines: [first, second] } in &checked.doubled {
        out::message(&format!("{row} is there twice, in lines {first} and {second}: leave out one of them"));
    }
    if let Some(OtherBase { fitting, named }) = &checked.relative_to {
        out::message(&format!(
            "the ratios are relative to {fitting}, not to {named} as the table says; compared so"
        ));
    }
    for Exchanged { are_rows, names: [first, second] } in &checked.exchanged {
        let what = if *are_rows { "rows" } else { "columns" };
        out::message(&format!("{what} look exchanged: {first} and {second} have each other's figures"));
    }
    let bases: Vec<&Difference> = checked.differences.iter().filter(|one| one.ratios > 0).collect();
    if let Some(first) = bases.first() {
        out::message(&format!(
            "a base is wrong, not the ratios to it, which are compared with the base that most of them fit: {} of {}, {} as \
             published, {} by the sources{}",
            first.column,
            first.row,
            first.published,
            first.computed,
            if bases.len() > 1 { format!("; and {} more", bases.len() - 1) } else { String::new() }
        ));
    }
    if checked.without_source > 0 {
        out::message(&format!(
            "only in the table, so not compared: {} of {}",
            rqps_model::counted(checked.without_source, "cell"),
            clipped(&checked.without_source_in().join(", "), NAMES_CHARS_MAX)
        ));
    }
    if !checked.lacking.is_empty() {
        let lacking = clipped(&checked.lacking.join(", "), NAMES_CHARS_MAX);
        out::message(&format!("only in the sources: {lacking}"));
    }
    for Renamed { in_table, in_sources } in checked.renamed() {
        out::message(&format!(
            "{in_table} of the table may be {in_sources} of the sources: write both alike"
        ));
    }
    let is_as_it_says = checked.relative_to.is_none() && checked.doubled.is_empty();
    Ok(if checked.differences.is_empty() && checked.exchanged.is_empty() && is_as_it_says {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_REGRESSION)
    })
}
