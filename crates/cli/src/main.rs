//! The command line: parses arguments, runs one verb, returns an exit code. Every verb is a file in `verbs/`.

mod args;
mod bisect;
mod build_progress;
mod busy;
mod complete;
mod context;
mod cut_off;
mod database;
mod human;
mod json_flag;
mod kit;
mod listing;
mod mistakes;
mod noise;
mod order;
mod out;
mod progress;
mod search;
mod series;
mod server_address;
mod site_folder;
mod two_builds;
mod verbs;

use args::{Cli, Verb};
use context::Context;
use std::process::ExitCode;

/// A test got slower or more expensive; a published table is not what its results give.
const EXIT_REGRESSION: u8 = 1;
/// Usage or plan error.
const EXIT_USAGE: u8 = 2;
const EXIT_FAILED: u8 = 3;
/// Required verdicts are missing.
const EXIT_INCONCLUSIVE: u8 = 4;
const EXIT_INTERRUPTED: u8 = 130;

/// A mistake of the user: a plan with mistakes, an unknown run.
#[derive(Debug)]
struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn main() -> ExitCode {
    rqps_builds::run_shim_if_asked();
    if let Some(code) = rqps_rocksdb_engine::run_if_asked(rqps_builds::rocksdb::ENGINE_ARGUMENT) {
        return ExitCode::from(code);
    }
    noise::make_if_asked();
    complete::answer_if_asked();
    let cli = Cli::read();
    let outcome = Context::new(&cli).and_then(|context| run(&context, cli.verb));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            out::message(&format!("rqps: {}", chain(&error)));
            ExitCode::from(exit_code(&error))
        }
    }
}

fn run(context: &Context, verb: Verb) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Demo(args) => verbs::demo::run(context, &args),
        Verb::Run(args) => verbs::run::run(context, &args),
        Verb::Resume(args) => verbs::resume::run(context, &args),
        Verb::Profile(args) => verbs::profile::run(context, &args),
        Verb::Status(args) => verbs::status::run(context, &args),
        Verb::Clean(args) => verbs::clean::run(context, &args),
        Verb::Ls(args) => verbs::ls::run(context, &args),
        Verb::Show(args) => verbs::show::run(context, &args),
        Verb::Compare(args) => verbs::compare::run(context, &args),
        Verb::Explain(args) => verbs::explain::run(context, &args),
        Verb::Gate(args) => verbs::gate::run(context, &args),
        Verb::Bisect(args) => verbs::bisect::run(context, &args),
        Verb::Series(args) => verbs::series::run(context, &args),
        Verb::Order(args) => verbs::order::run(context, &args),
        Verb::Report(args) => verbs::report::run(context, &args),
        Verb::Site(args) => verbs::site::run(context, &args),
        Verb::Export(args) => verbs::export::run(context, &args),
        Verb::Import(args) => verbs::import::run(context, &args),
        Verb::Calibrate(args) => verbs::calibrate::run(context, &args),
        Verb::Install(args) => verbs::install::run(context, &args),
        Verb::Build(args) => verbs::build::run(context, &args),
        Verb::Builds => verbs::builds::run(context),
        Verb::Configs(args) => verbs::configs::run(context, &args),
        Verb::Host(args) => verbs::host::run(context, &args),
        Verb::Plan(args) => verbs::plan::run(context, &args),
        Verb::Upgrade(args) => verbs::upgrade::run(context, &args),
        Verb::Fleet(args) => verbs::fleet::run(context, &args),
        Verb::Serve(args) => verbs::serve::run(context, &args),
        Verb::Drive(args) => verbs::drive::run(context, &args),
        Verb::Completions { shell } => verbs::completions::run(shell),
        Verb::Man { directory } => verbs::man::run(&directory),
    }
}

/// The error and its causes in one paragraph, without repetitions.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

fn exit_code(error: &anyhow::Error) -> u8 {
    use rqps_executor::Error;
    let is_usage = error.is::<Usage>()
        || error.downcast_ref().is_some_and(rqps_report::Error::is_usage)
        || error.downcast_ref().is_some_and(Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_calibrate::Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_builds::Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_servers::Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_export::Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_import::Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_fleet::Error::is_usage)
        || error.downcast_ref().is_some_and(rqps_store::Error::is_usage);
    if let Some(rqps_export::Error::Stopped) = error.downcast_ref() {
        return EXIT_INTERRUPTED;
    }
    let is_interruption = error.downcast_ref().is_some_and(rqps_builds::Error::is_interruption)
        || error.downcast_ref().is_some_and(rqps_servers::Error::is_interruption);
    if is_interruption {
        return EXIT_INTERRUPTED;
    }
    match error.downcast_ref() {
        Some(Error::Interrupted) => EXIT_INTERRUPTED,
        Some(Error::Builds(error)) if error.is_interruption() => EXIT_INTERRUPTED,
        Some(Error::Servers(error)) if error.is_interruption() => EXIT_INTERRUPTED,
        _ if is_usage => EXIT_USAGE,
        _ => EXIT_FAILED,
    }
}
