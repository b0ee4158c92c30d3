//! The flag `--json` of every verb except `gate`, whose `--json` takes a file. So it cannot be a global option.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::args::GLOBAL;

const JSON: &str = "as-json";

/// Adds the flag to a command and those below it.
pub fn add(command: Command) -> Command {
    let flag = Arg::new(JSON).long("json").action(ArgAction::SetTrue);
    let flag = flag.help("Short for --format json").help_heading(GLOBAL);
    let command = if command.get_name() == "gate" { command } else { command.arg(flag) };
    command.mut_subcommands(add)
}

pub fn is_set(matches: &ArgMatches) -> bool {
    matches.try_get_one(JSON).is_ok_and(|flag| flag == Some(&true))
        || matches.subcommand().is_some_and(|(_, inner)| is_set(inner))
}
