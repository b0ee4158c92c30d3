//! `export`: runs as flat tables for other tools.

use crate::args::ExportArgs;
use crate::context::{Context, or_value_of};
use crate::listing::{Cell, Column, Listing};
use crate::{Usage, human, out};
use rqps_export::{Exported, Format, Options, Table};
use rqps_report::Format as OutputFormat;
use rqps_store::{Run, RunFolder};
use serde_json::json;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<ExitCode> {
    if args.schema {
        context.require_format(&[OutputFormat::Text, OutputFormat::Markdown], "the schema is Markdown")?;
        out::print_line(rqps_export::schema())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut tables: Vec<&'static Table> = Vec::new();
    for name in &args.tables {
        let table = rqps_export::table(name)?;
        if !tables.iter().any(|known| known.name == table.name) {
            tables.push(table);
        }
    }
    let mut runs = Vec::new();
    for name in &args.runs {
        let known = rqps_export::ALL.iter().map(|table| table.name);
        let path = context.results_path(name).map_err(|error| or_value_of("--table", known, name, error))?;
        runs.push(RunFolder::open(&path)?);
    }
    let Some(dir) = &args.to else {
        return to_standard_output(context, args, &tables, &runs);
    };
    if tables.is_empty() {
        tables = rqps_export::ALL.iter().collect();
    }
    let mut formats = Format::ALL.to_vec();
    formats.retain(|format| match args.formats.is_empty() {
        true => *format == Format::Parquet,
        false => args.formats.contains(format),
    });
    context.catch_signals();
    let options = Options { tables, formats: formats.clone(), replace: args.force, stop: &context.stop };
    let exported = rqps_export::export(&runs, dir, &options)?;
    exported.remarks.iter().for_each(|remark| out::message(remark));
    list(context, &formats, &exported)?;
    out::message(&format!("in {}", dir.display()));
    Ok(ExitCode::SUCCESS)
}

fn to_standard_output(
    context: &Context,
    args: &ExportArgs,
    tables: &[&'static Table],
    runs: &[Run],
) -> anyhow::Result<ExitCode> {
    let ([table], [] | [_]) = (tables, &*args.formats) else {
        return Err(Usage(
            "no destination: --to DIR writes files, `--table windows --as csv` prints one table".to_owned(),
        )
        .into());
    };
    let format = match (args.formats.first(), context.format) {
        (Some(format), _) => *format,
        (None, OutputFormat::Json) => Format::JsonLines,
        (None, OutputFormat::Text | OutputFormat::Csv) => Format::Csv,
        (None, OutputFormat::Markdown) => {
            return Err(Usage(
                "`rqps export` writes csv, jsonl and parquet; `rqps show` writes markdown".to_owned(),
            )
            .into());
        }
    };
    match rqps_export::print(runs, table, format, std::io::stdout().lock()) {
        // The reader closed the pipe, which is not an error.
        Err(error) if error.is_broken_pipe() => {}
        remarks => remarks?.iter().for_each(|remark| out::message(remark)),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context, formats: &[Format], exported: &Exported) -> anyhow::Result<()> {
    let sizes = formats.iter().map(|format| Column::number(format.key()));
    let mut listing =
        Listing::new([Column::text("table"), Column::number("rows")].into_iter().chain(sizes).collect());
    for files in exported.files.chunks(formats.len()) {
        let head = files.iter().take(1).flat_map(|file| [file.table.into(), file.rows.to_string().into()]);
        let sizes = files.iter().map(|file| Cell::with_exact(human::bytes(file.bytes), file.bytes));
        listing.row(head.chain(sizes).collect());
    }
    listing.print(context, || {
        let files = exported.files.iter().map(
            |file| json!({ "path": file.path, "table": file.table, "rows": file.rows, "bytes": file.bytes }),
        );
        Ok(files.collect())
    })
}
