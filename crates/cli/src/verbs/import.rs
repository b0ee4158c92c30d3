//! `import`: results of other programs as a run, and published tables recomputed from them.

use crate::args::ImportArgs;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing};
use crate::{EXIT_REGRESSION, out};
use rqps_import::{Assembled, Checked, Choices, Difference, Quirk, Reading};
use rqps_report::Options;
use rqps_store::RunFolder;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let files = rqps_import::files(&args.paths)?;
    if let Some(table) = &args.check {
        let reading = if args.without_quirks { Reading::True } else { Reading::Published };
        let checked = rqps_import::check(table, &files, args.device.as_deref(), reading, args.skip_unknown)?;
        return report_check(context, table, &checked);
    }
    let (loaded, skipped) = rqps_import::load_all(&files, args.read_as, args.skip_unknown)?;
    for path in skipped {
        out::message(&format!("{}: not understood, left out", path.display()));
    }
    let choices = Choices { arms: args.arms.clone(), base: args.base.clone(), cpus: args.cpus };
    let assembled = Assembled::new(loaded, &choices)?;
    let folder = rqps_import::write_run(&assembled, &context.results, &args.name)?;
    let run = RunFolder::open(&folder)?;
    let options = Options { format: context.format, color: context.color, ..Options::default() };
    out::print_line(&rqps_report::show(&run, &options)?)?;
    out::message(&format!("imported into {}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Differences as a list, and how many cells are equal.
fn report_check(context: &Context, table: &Path, checked: &Checked) -> anyhow::Result<ExitCode> {
    let numbers = ["line"].map(Column::number);
    let words = ["row", "column", "published", "computed", "because of"].map(Column::text);
    let mut listing = Listing::new(numbers.into_iter().chain(words).collect());
    for one in &checked.differences {
        let quirk = one.quirk.map_or("", Quirk::key);
        let line = one.line.to_string();
        let cells = [&*line, &one.row, &one.column, &one.published, &one.computed, quirk];
        listing.row(cells.into_iter().map(Cell::from).collect());
    }
    listing.print(context, || {
        let difference = |one: &Difference| {
            json!({
                "line": one.line, "row": one.row, "column": one.column,
                "published": one.published, "computed": one.computed, "quirk": one.quirk,
            })
        };
        Ok(json!({
            "cells": checked.cells, "equal": checked.equal, "without_source": checked.without_source,
            "differences": checked.differences.iter().map(difference).collect::<Vec<_>>(),
        }))
    })?;
    let without = match checked.without_source {
        0 => String::new(),
        cells => format!("; {cells} more have no source among the files"),
    };
    out::message(&format!(
        "{}: {} of {} cells equal{without}",
        table.display(),
        checked.equal,
        checked.cells
    ));
    let is_equal = checked.equal == checked.cells;
    Ok(if is_equal { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REGRESSION) })
}
