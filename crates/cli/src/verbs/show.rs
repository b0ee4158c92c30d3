//! `show`: a run's tables.

use crate::args::{SectionArgs, ShowArgs};
use crate::context::{Context, or_value_of};
use crate::out;
use rqps_report::{Options, Section};
use rqps_store::RunFolder;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let path = context.measured_path(&args.run);
    let run =
        RunFolder::open(&path.map_err(|error| or_value_of("--section", sections(), &args.run, error))?)?;
    let mut options = Options { tests: args.tests.clone(), ..options(context, &args.sections) };
    if args.published {
        options.sections = vec![Section::Published];
    }
    out::print_line(&rqps_report::show(&run, &options)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The names of all sections.
pub fn sections() -> impl IntoIterator<Item = &'static str> {
    Section::ALL.map(Section::key)
}

/// The requested sections, in the context's format.
pub fn options(context: &Context, args: &SectionArgs) -> Options {
    let sections = match (args.all, args.sections.is_empty()) {
        (true, _) => Section::ALL.to_vec(),
        (false, false) => args.sections.clone(),
        (false, true) => Vec::new(),
    };
    Options {
        format: context.format,
        screen: context.screen(),
        include_pre: args.pre,
        base: args.base.clone(),
        sections,
        tests: Vec::new(),
    }
}
