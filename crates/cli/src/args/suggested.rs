//! What may be meant by an unknown verb.

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use rqps_model::nearest;
use std::ffi::OsString;

/// Adds the verb that may be meant: of short words, such as `rn`, clap finds none.
pub fn suggested(command: &Command, arguments: &[OsString], mut error: clap::Error) -> clap::Error {
    let innermost = |command, argument| Command::find_subcommand(command, argument).unwrap_or(command);
    // The verbs of `help` are those of the command that it is a verb of.
    let verbs = arguments.iter().skip(1).filter(|argument| *argument != "help");
    let command = verbs.fold(command, innermost);
    let verbs = command.get_subcommands().map(Command::get_name);
    if let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        if let Some(verb) = nearest(written, verbs) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb.to_owned()]));
        } else if command.get_name() == "plan" {
            let how = format!("to see a plan: rqps plan show {written}");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how.into()]));
        }
    }
    error
}

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
        let said = message(&["rqps", "help", "upgrad"]);
        assert!(said.contains("a similar subcommand exists: 'upgrade'"), "{said}");
        let said = message(&["rqps", "plan", "help", "shw"]);
        assert!(said.contains("a similar subcommand exists: 'show'"), "{said}");
        let said = message(&["rqps", "plan", "rn"]);
        assert!(!said.contains("'run'"), "it is no verb of plan: {said}");
        let said = message(&["rqps", "plan", "demo"]);
        assert!(said.contains("rqps plan show demo"), "{said}");
    }
}
