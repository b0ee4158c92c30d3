//! The arguments of every verb.

mod builds;
mod fleet;
mod import;
mod series;
mod suggested;
mod two_builds;

use crate::{complete, json_flag};
pub use builds::{BuildArgs, InstallArgs};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
pub use fleet::{FleetArg, FleetArgs, FleetRunArgs, FleetVerb};
pub use import::ImportArgs;
use rqps_plan::Driver;
use rqps_report::{Format, Section};
pub use series::SeriesArgs;
use std::ffi::OsString;
use std::path::PathBuf;
use suggested::suggested;
use two_builds::label;
pub use two_builds::{AnswerArgs, BisectArgs, GateArgs, UpgradeArgs};

const EXAMPLES: &str = "\
Examples:
  rqps demo                            compare Postgres 16 and 18
  rqps gate --base BUILD --head BUILD  is this patch slower?
  rqps plan print verdicts > my.toml   a plan to edit before an upgrade
  rqps run my.toml                     run it; then: rqps report --html
  rqps explain last                    why tests got slower or faster

BUILD: postgres-18.1, mysql-8.0, a directory,
or source: postgres+o2nofp:/src/postgres@BRANCH";

/// Heading of the options that every verb has.
pub const GLOBAL: &str = "Global options";

/// Did it get slower, by how much, and why? Runs the same workload against several versions or configurations of a
/// database on one machine, and reports relative throughput and what each operation cost.
#[derive(Debug, Parser)]
#[command(name = "rqps", version, term_width = 80, after_help = EXAMPLES, next_help_heading = GLOBAL)]
pub struct Cli {
    /// Results directory
    #[arg(long, global = true, env = "RQPS_RESULTS", default_value = "results", value_name = "DIR")]
    pub results: PathBuf,
    /// Output format [default: text; markdown for `report`]
    #[arg(long, global = true, value_parser = one_of(&FORMATS))]
    pub format: Option<Format>,
    /// When to color text
    #[arg(long, global = true, value_parser = one_of(&COLORS), default_value = "auto", value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub verb: Verb,
}

impl Cli {
    /// Parses the command line; ends the program on a mistake or a request for help.
    pub fn read() -> Self {
        Self::from_args(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    /// With all verbs and options.
    pub fn whole_command() -> Command {
        json_flag::add(Self::command())
    }

    fn from_args(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, clap::Error> {
        let mut command = Self::whole_command();
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let matches = command.try_get_matches_from_mut(&arguments);
        let matches = matches.map_err(|error| suggested(&command, &arguments, error))?;
        let mut cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        if json_flag::is_set(&matches) {
            if let Some(format) = cli.format.filter(|format| *format != Format::Json) {
                let why = format!("--json and --format {format} contradict each other");
                return Err(command.error(clap::error::ErrorKind::ArgumentConflict, why));
            }
            cli.format = Some(Format::Json);
        }
        Ok(cli)
    }
}

/// A parser of one of these values, each with its help.
fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(|name| {
        let value = values.iter().find(|(known, ..)| *known == name).map(|(_, value, _)| *value);
        value.ok_or("unknown")
    })
}

const FORMATS: [(&str, Format, &str); 4] = [
    ("text", Format::Text, "For a terminal"),
    ("markdown", Format::Markdown, "For a page or a pull request"),
    ("csv", Format::Csv, "For a spreadsheet"),
    ("json", Format::Json, "For a program"),
];

/// Whether to colour text; `None`: on a terminal.
pub type Color = Option<bool>;

const COLORS: [(&str, Color, &str); 3] = [
    ("auto", None, "On a terminal, unless NO_COLOR is set"),
    ("always", Some(true), "Always"),
    ("never", Some(false), "Never"),
];

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Compare two Postgres releases, in four to five minutes on a quiet machine
    Demo(DemoArgs),
    /// Run a plan
    Run(RunArgs),
    /// Resume an interrupted run
    Resume(ResumeArgs),
    /// Take CPU profiles of a run's servers, one per test
    Profile(ProfileArgs),
    /// Show a run's progress
    Status(StatusArgs),
    /// Delete leftover data of unfinished runs
    Clean(CleanArgs),
    /// List runs
    Ls(LsArgs),
    /// Show a run's tables
    Show(ShowArgs),
    /// Compare arms across runs
    Compare(CompareArgs),
    /// Explain why tests got slower or faster
    Explain(ExplainArgs),
    /// Pass or fail a change: measure base and head together, or judge an existing run
    Gate(GateArgs),
    /// Find the published version, or the commit, that introduced a change
    Bisect(BisectArgs),
    /// Measure tests across many versions: how each test developed, and which version changed it
    Series(SeriesArgs),
    /// Tell whether a difference comes from a test itself or from the steps before it
    Order(OrderArgs),
    /// Write a run's full report
    Report(ReportArgs),
    /// Make a static site of many runs
    Site(SiteArgs),
    /// Export runs as flat tables: Parquet, CSV, JSON Lines
    Export(ExportArgs),
    /// Import results of other programs as a run, or recompute a published table
    Import(ImportArgs),
    /// Measure how often verdicts are wrong on this host, with known slowdowns
    Calibrate(CalibrateArgs),
    /// Download and cache a build
    Install(InstallArgs),
    /// Compile a database from source (cached)
    Build(BuildArgs),
    /// List cached builds
    Builds,
    /// List the shipped configs, or print one
    Configs(ConfigsArgs),
    /// Show the facts about this host that a run records, or measure what it can do
    Host(HostArgs),
    /// Check a plan, show its steps, list the shipped plans
    Plan(PlanArgs),
    /// Report what an upgrade changes: config options, query plans, and the rate, cost and latency of each test
    Upgrade(UpgradeArgs),
    /// Run a plan on many hosts through Slurm, and join their results
    Fleet(FleetArgs),
    /// Start a temporary server for other tools
    Serve(ServeArgs),
    /// Run one test against a running server
    Drive(DriveArgs),
    /// Print the completion script of a shell
    Completions {
        /// The shell that is to complete rqps' arguments
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a directory
    Man {
        /// Where to write rqps.1 and a page for each command; created if missing
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct OrderArgs {
    /// A plan with protocol = "sequence": a file, or the name of a shipped one
    #[arg(add = complete::plans())]
    pub plan: String,
    /// The test whose difference is to be traced to earlier steps
    #[arg(long, conflicts_with = "shuffle", add = complete::tests())]
    pub test: Option<String>,
    /// Instead of one test: run all steps in this many drawn orders, and show how far each test depends on the order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub shuffle: Option<u32>,
    /// Begin no further measurement after this time (15m, 1h); the same command continues
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Versions to compare; the first is the base
    #[arg(long, value_delimiter = ',', default_value = "16,18", value_name = "V,V,…", add = complete::postgres_versions())]
    pub versions: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A plan file, or the name of a shipped plan (see `rqps plan ls`)
    #[arg(add = complete::plans())]
    pub plan: String,
    /// Name of the run [default: the plan's name]
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub label: Option<String>,
    /// Maximum measuring time (15m, 1h), for a plan with blocks [default: the plan's]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Keep the data directories of finished arms
    #[arg(long)]
    pub keep_data: bool,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run: its folder, its name, or `last`
    #[arg(default_value = "last", add = complete::runs())]
    pub run: String,
    /// Measure for this much longer (20m, 1h); works on finished runs too
    #[arg(long, value_name = "TIME")]
    pub more: Option<String>,
    /// Continue even though the host has changed
    #[arg(long)]
    pub force: bool,
    /// Keep the data directories of finished arms
    #[arg(long)]
    pub keep_data: bool,
}

#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// The run: its folder, its name, or `last`
    #[arg(default_value = "last", add = complete::runs())]
    pub run: String,
    /// Only these tests [default: those that got slower or faster on some arm]
    #[arg(
        long = "test", value_delimiter = ',', value_name = "T,T,…", add = complete::tests(), conflicts_with = "all"
    )]
    pub tests: Vec<String>,
    /// All tests of the run
    #[arg(long)]
    pub all: bool,
    /// Only these arms [default: all but the control]
    #[arg(long = "arm", value_delimiter = ',', value_name = "ARM,…")]
    pub arms: Vec<String>,
    /// Seconds to sample each test on each arm [default: the plan's, 5]
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Samples per second of CPU time [default: the plan's, 997]
    #[arg(long, value_name = "HZ")]
    pub frequency: Option<f64>,
    /// Continue even though the host has changed
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// The build [default: the newest in the cache]
    #[arg(long, value_name = "BUILD", add = complete::builds())]
    pub build: Option<String>,
    /// Its config
    #[arg(long, default_value = "sized_async", value_name = "CONFIG", add = complete::configs())]
    pub config: String,
    /// Time for both runs together
    #[arg(long, default_value = "30m", value_name = "TIME")]
    pub budget: String,
    /// Tests [default: five that read, one that writes]
    #[arg(long, value_delimiter = ',', value_name = "T,T,…", add = complete::tests())]
    pub tests: Vec<String>,
    /// Arms in addition to base and its control; half of them get a slowdown
    #[arg(long, default_value_t = rqps_calibrate::campaign::ARMS_DEFAULT, value_name = "N")]
    pub arms: usize,
    /// Rows of the table
    #[arg(long, default_value_t = 50_000, value_name = "N")]
    pub rows: u64,
    /// Seconds of a window
    #[arg(long, default_value_t = 0.5, value_name = "S")]
    pub window_seconds: f64,
    /// Measure beside this many processes that keep a CPU, memory and the disk busy, in turn; they end with it
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(..=256))]
    pub noise: u32,
    /// Also write the report to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Rebuild the report of a finished campaign: the folder or name of its second run, or `last`
    #[arg(long, value_name = "RUN", add = complete::runs())]
    #[arg(conflicts_with_all = ["build", "budget", "tests", "arms", "rows", "noise"])]
    pub from: Option<String>,
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// The run: its folder (even if deleted), its name, or `last`; without one, all data whose run folder was deleted
    /// from an existing results directory
    #[arg(add = complete::runs())]
    pub run: Option<String>,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The run: its folder, its name, or `last`
    #[arg(default_value = "last", add = complete::runs())]
    pub run: String,
    /// On a terminal: refresh every 2 s until the run ends
    #[arg(long)]
    pub watch: bool,
}

/// What to show of one or more runs.
#[derive(Debug, Args, Default)]
pub struct SectionArgs {
    /// Only these sections, in this order
    #[arg(long = "section", value_name = "SECTION,…", value_delimiter = ',', value_parser = section_parser())]
    pub sections: Vec<Section>,
    /// Every section
    #[arg(long, conflicts_with = "sections")]
    pub all: bool,
    /// Compare with this arm instead of the plan's base; `RUN:ARM` where two runs have it
    #[arg(long, value_name = "ARM")]
    pub base: Option<String>,
    /// Also show the tests that ran before the first write
    #[arg(long)]
    pub pre: bool,
}

/// Accepts all sections; help lists them.
fn section_parser() -> impl TypedValueParser<Value = Section> {
    let names = Section::ALL.map(|section| PossibleValue::new(section.key()).help(section.about()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Section>())
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run: its folder, its name, or `last`
    #[arg(default_value = "last", add = complete::runs())]
    pub run: String,
    /// Only these tests
    #[arg(long = "test", value_name = "TEST,…", value_delimiter = ',', add = complete::tests_of_run())]
    pub tests: Vec<String>,
    /// For an imported run: published figures beside measured ones, like --section published
    #[arg(long, conflicts_with_all = ["sections", "all"])]
    pub published: bool,
    #[command(flatten)]
    pub sections: SectionArgs,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The runs: folders, names, or `last`
    #[arg(required = true, num_args = 1.., add = complete::runs())]
    pub runs: Vec<String>,
    /// Compare even though hosts, data or steps differ; the table says so
    #[arg(long)]
    pub force: bool,
    /// Only these tests
    #[arg(long = "test", value_name = "TEST,…", value_delimiter = ',', add = complete::tests())]
    pub tests: Vec<String>,
    #[command(flatten)]
    pub sections: SectionArgs,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The run: its folder, its name, or `last`
    #[arg(add = complete::runs())]
    pub run: String,
    /// Only these tests, changed or not [default: those that changed or are inconclusive]
    #[arg(value_name = "TEST", add = complete::tests_of_run())]
    pub tests: Vec<String>,
    /// As other commands name tests
    #[arg(long = "test", value_name = "TEST,…", value_delimiter = ',', hide = true, add = complete::tests_of_run())]
    pub more_tests: Vec<String>,
    /// Only these arms; the control may be one of them
    #[arg(long = "arm", value_name = "ARM,…", value_delimiter = ',')]
    pub arms: Vec<String>,
    /// The arm to compare with [default: the plan's base]
    #[arg(long, value_name = "ARM")]
    pub base: Option<String>,
    /// Show the figures behind every change [default: a summary of more than three changes]
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run: its folder, its name, or `last`
    #[arg(default_value = "last", add = complete::runs())]
    pub run: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write one self-contained HTML file with charts [default: report.html in the run's folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "output")]
    pub html: Option<Option<PathBuf>>,
    /// Write each chart as an SVG file into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "html"])]
    pub charts: Option<PathBuf>,
    /// Also write PNG files
    #[arg(long, requires = "charts")]
    pub png: bool,
}

#[derive(Debug, Args)]
pub struct SiteArgs {
    /// The folder to write; files in it that no earlier `site` wrote are left alone
    pub dir: PathBuf,
    /// The runs: folders or names [default: all in the results directory]
    #[arg(add = complete::runs())]
    pub runs: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The runs: folders, names, or `last`
    #[arg(default_value = "last", num_args = 1.., add = complete::runs())]
    pub runs: Vec<String>,
    /// Write files into this directory
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Formats: parquet, csv, jsonl [default: parquet for files, csv for standard output]
    #[arg(long = "as", value_name = "FORMAT,…", value_delimiter = ',')]
    pub formats: Vec<rqps_export::Format>,
    /// Only these tables; a single one goes to standard output without --to
    #[arg(long = "table", value_name = "TABLE,…", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// Overwrite existing files
    #[arg(long, requires = "to")]
    pub force: bool,
    /// Print what each table and column means, instead of exporting
    #[arg(long, conflicts_with_all = ["to", "formats", "tables"])]
    pub schema: bool,
}

#[derive(Debug, Args)]
pub struct LsArgs {
    /// Only runs whose name contains this
    pub name: Option<String>,
    /// Show only the N newest runs
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub newest: Option<u32>,
}

#[derive(Debug, Args)]
pub struct ConfigsArgs {
    /// Print this config as it would be used on this host
    #[arg(add = complete::configs())]
    pub name: Option<String>,
    /// Only configs of this DBMS [default: all; with a name, the first that has one of it]
    #[arg(long, value_name = "DBMS")]
    pub dbms: Option<String>,
}

#[derive(Debug, Args)]
pub struct HostArgs {
    /// Measure CPUs, memory, scheduler and the disk of RQPS_WORK, and say what that means (about 4 s)
    #[arg(long)]
    pub certify: bool,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
pub enum PlanVerb {
    /// Report every mistake, with its line and what to write instead
    Check {
        /// A plan file, or the name of a shipped plan
        #[arg(add = complete::plans())]
        plan: String,
    },
    /// Print the resolved schedule with estimated times
    Show {
        /// A plan file, or the name of a shipped plan
        #[arg(add = complete::plans())]
        plan: String,
        /// Print the resolved plan as TOML instead
        #[arg(long)]
        toml: bool,
    },
    /// List the shipped plans
    Ls,
    /// Print a shipped plan, as a template for your own
    Print {
        /// Its name
        #[arg(add = complete::plans())]
        plan: String,
    },
    /// Print a plan that runs the statements of a slow query log, or of pg_stat_statements as CSV
    Capture {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The build: postgres-18.1, or a directory with bin/postgres
    #[arg(add = complete::builds())]
    pub build: String,
    /// A shipped config's name, or a file
    #[arg(long, default_value = "sized", add = complete::configs())]
    pub config: String,
    /// Load this many tables
    #[arg(long, default_value_t = 0)]
    pub tables: u32,
    /// Rows per table
    #[arg(long, default_value_t = 100_000)]
    pub rows: u64,
    /// Seed of the rows
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of connections to allow for
    #[arg(long, default_value_t = 50)]
    pub clients: u32,
    /// Also listen on loopback TCP
    #[arg(long)]
    pub tcp: bool,
    /// A command to run with PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE and RQPS_SERVER_PID set; the server stops
    /// when it ends. Without one it stops on Ctrl-C
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct DriveArgs {
    /// The test; `load` creates and fills the tables
    #[arg(add = complete::tests())]
    pub test: String,
    /// DBMS of the server [env: RQPS_DBMS] [default: postgres]
    #[arg(long, value_name = "DBMS")]
    pub dbms: Option<String>,
    /// Address, or directory of the Unix socket [env: PGHOST; MYSQL_UNIX_PORT, MYSQL_HOST; RQPS_HOST]
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Port [env: PGPORT; MYSQL_TCP_PORT; RQPS_PORT] [default: 5432 or 3306]
    #[arg(long)]
    pub port: Option<u16>,
    /// User [env: PGUSER; RQPS_USER]
    #[arg(long)]
    pub user: Option<String>,
    /// Password [env: PGPASSWORD; MYSQL_PWD; RQPS_PASSWORD]
    #[arg(long)]
    pub password: Option<String>,
    /// Database [env: PGDATABASE; RQPS_DATABASE] [default: postgres or test]
    #[arg(long)]
    pub database: Option<String>,
    /// Number of tables
    #[arg(long, default_value_t = 1)]
    pub tables: u32,
    /// Rows per table
    #[arg(long, default_value_t = 100_000)]
    pub rows: u64,
    /// Clients
    #[arg(long, default_value_t = 1)]
    pub clients: u32,
    /// Seconds to measure
    #[arg(long, default_value_t = 10.0, conflicts_with = "events")]
    pub seconds: f64,
    /// Events to measure, all clients together
    #[arg(long)]
    pub events: Option<u64>,
    /// Seconds of warm-up
    #[arg(long, default_value_t = 0.0)]
    pub warmup: f64,
    /// Who sends the load: clients of rqps, or the installed sysbench
    #[arg(long, value_parser = one_of(&DRIVERS), default_value = "rqps")]
    pub driver: Driver,
    /// Open loop at this many events per second, all clients together
    #[arg(long, value_name = "PER_SECOND")]
    pub rate: Option<f64>,
    /// Seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// After `load`, VACUUM ANALYZE the tables; ANALYZE them on MySQL and MariaDB
    #[arg(long)]
    pub vacuum: bool,
}

const DRIVERS: [(&str, Driver, &str); 2] = [
    ("rqps", Driver::Rqps, "Clients of rqps"),
    ("sysbench", Driver::Sysbench, "The installed sysbench, 1.0.20 or later"),
];
