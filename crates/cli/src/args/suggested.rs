//! What may be meant by an unknown verb, option, value or word, or by a value that looks like an option.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Command, Error};
use rqps_model::nearest;
use rqps_report::Section;
use std::ffi::OsString;

/// Adds what may be meant: of short verbs, such as `rn`, clap finds none, of others and of options it names some that
/// are not.
pub fn suggested(command: &Command, arguments: &[OsString], error: Error) -> Error {
    let innermost = |command, argument| Command::find_subcommand(command, argument).unwrap_or(command);
    // The verbs of `help` are those of the command that it is a verb of.
    let verbs = arguments.iter().skip(1).filter(|argument| *argument != "help");
    let command = verbs.fold(command, innermost);
    match error.kind() {
        ErrorKind::InvalidSubcommand => with_verb(command, error),
        ErrorKind::InvalidValue => with_value(error),
        ErrorKind::UnknownArgument => match negative(command, arguments, &error) {
            Some(why) => Error::raw(ErrorKind::ValueValidation, why).with_cmd(command),
            None => with_option(command, error),
        },
        _ => error,
    }
}

fn with_verb(command: &Command, mut error: Error) -> Error {
    let verbs = command.get_subcommands().map(Command::get_name);
    if let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) {
        if let Some(verb) = nearest(written, verbs) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb.to_owned()]));
        } else if command.get_name() == "plan" && error.get(ContextKind::SuggestedSubcommand).is_none() {
            let how = format!("to see a plan: rqps plan show {written}");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how.into()]));
        }
    }
    error
}

/// Names the value that is meant as other errors do.
fn with_value(mut error: Error) -> Error {
    if let (Some(ContextValue::String(written)), Some(ContextValue::Strings(known))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
        && let Some(meant) = nearest(written, known.iter().map(String::as_str))
    {
        let meant = ContextValue::String(meant.to_owned());
        error.insert(ContextKind::SuggestedValue, meant);
    }
    error
}

/// A negative value, which is taken for an option: `--budget -5m`. No option has negative ones.
fn negative(command: &Command, arguments: &[OsString], error: &Error) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let digit = unknown.strip_prefix('-')?.chars().next()?;
    let at = arguments
        .iter()
        .position(|argument| argument.to_str().is_some_and(|one| one.starts_with(unknown)))?;
    let (option, value) = (arguments.get(at.checked_sub(1)?)?.to_str()?, arguments[at].to_str()?);
    let name = option.strip_prefix("--")?;
    let known = command.get_arguments().find(|argument| argument.get_long() == Some(name))?;
    let takes_value = matches!(known.get_action(), ArgAction::Set | ArgAction::Append);
    let is_time = known.get_value_names().is_some_and(|names| names.iter().any(|name| name == "TIME"));
    let what = if is_time { "a time is longer than 0, such as 5m" } else { "it cannot be negative" };
    (takes_value && digit.is_ascii_digit()).then(|| format!("{option} {value}: {what}\n"))
}

/// Names the option of the verb that is near an unknown one, or where tests are chosen.
fn with_option(command: &Command, mut error: Error) -> Error {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidArg) else { return error };
    let options: Vec<&str> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
    if !written.starts_with('-') {
        if let Some(how) = of_word(written, &options) {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how.into()]));
        }
        return error;
    }
    let Some(name) = written.strip_prefix("--").map(str::to_owned) else { return error };
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Suggested);
    error.remove(ContextKind::TrailingArg);
    if let Some(option) = nearest(&name, options.iter().copied()) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{option}")));
        return error;
    }
    // It has the option that clap suggests.
    error.remove(ContextKind::Usage);
    if TESTS.contains(&name.as_str()) && options.contains(&"budget") {
        let how = "the plan names its tests: rqps plan print PLAN > my.toml, edit `steps`, rqps run my.toml";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how.into()]));
    }
    error
}

/// What a word too many may be meant for: it may be a section, a test or an option without its dashes.
fn of_word(written: &str, options: &[&str]) -> Option<String> {
    let has = |option| options.contains(&option);
    if has(SECTION)
        && let Some(section) = nearest(written, Section::ALL.map(Section::key))
    {
        return Some(format!("a section is chosen with an option: --section {section}"));
    }
    if let Some(option) = nearest(written, options.iter().copied()) {
        return Some(format!("an option begins with two dashes: --{option}"));
    }
    let test = TESTS.into_iter().find(|option| has(option))?;
    let sections = if has(SECTION) { ", sections with --section SECTION" } else { "" };
    Some(format!("tests are chosen with --{test} TEST{sections}"))
}

const SECTION: &str = "section";

/// How users call the option for tests that some verbs have.
const TESTS: [&str; 4] = ["test", "tests", "step", "steps"];

#[cfg(test)]
mod tests {
    use super::super::Cli;

    #[test]
    fn short_verbs_are_suggested_too() {
        let message = |arguments: &[&str]| Cli::from_args(arguments).unwrap_err().to_string();
        let said = message(&["rqps", "rn"]);
        assert!(said.contains("a similar subcommand exists: 'run'"), "{said}");
        let said = message(&["rqps", "plan", "lss"]);
        assert!(said.contains("a similar subcommand exists: 'ls'"), "{said}");
        let said = message(&["rqps", "explian"]);
        assert!(said.contains("a similar subcommand exists: 'explain'"), "the nearest alone: {said}");
        let said = message(&["rqps", "help", "upgrad"]);
        assert!(said.contains("a similar subcommand exists: 'upgrade'"), "{said}");
        let said = message(&["rqps", "plan", "help", "shw"]);
        assert!(said.contains("a similar subcommand exists: 'show'"), "{said}");
        let said = message(&["rqps", "plan", "rn"]);
        assert!(!said.contains("'run'"), "it is no verb of plan: {said}");
        let said = message(&["rqps", "plan", "demo"]);
        assert!(said.contains("rqps plan show demo"), "{said}");
    }

    #[test]
    fn a_word_too_many_gets_the_option_that_it_is_meant_for() {
        let message = |arguments: &[&str]| Cli::from_args(arguments).unwrap_err().to_string();
        for (arguments, told) in [
            (["show", "last", "lats"], "tip: a section is chosen with an option: --section latency"),
            (["show", "last", "per-op"], "--section per-op"),
            (["show", "last", "publishd"], "--section published"),
            (["show", "last", "scan"], "tests are chosen with --test TEST, sections with --section SECTION"),
            (["report", "last", "html"], "tip: an option begins with two dashes: --html"),
        ] {
            let said = message(&[&["rqps"], &arguments[..]].concat());
            assert!(said.contains(told), "{said}");
        }
        let said = message(&["rqps", "report", "last", "scan"]);
        assert!(!said.contains("tip: "), "a report has all tests: {said}");
        let said = message(&["rqps", "show", "--section", "lats"]);
        assert!(said.contains("'latency'"), "{said}");
    }

    #[test]
    fn an_unknown_option_gets_one_that_is_near_or_none() {
        let message = |arguments: &[&str]| Cli::from_args(arguments).unwrap_err().to_string();
        let said = message(&["rqps", "run", "demo", "--tests", "scan"]);
        assert!(said.contains("edit `steps`") && !said.contains("--results"), "{said}");
        let said = message(&["rqps", "run", "demo", "--bugdet", "5m"]);
        assert!(said.contains("a similar argument exists: '--budget'"), "{said}");
        let said = message(&["rqps", "gate", "--test", "scan"]);
        assert!(said.contains("a similar argument exists: '--tests'"), "{said}");
        for verb in [&["run", "demo", "--budget"][..], &["resume", "last", "--more"]] {
            let said = message(&[&["rqps"], verb, &["-5m"]].concat());
            assert!(said.contains(" -5m: a time is longer than 0, such as 5m"), "{said}");
        }
    }
}
