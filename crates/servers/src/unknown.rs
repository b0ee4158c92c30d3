//! Options of a config that a build does not know, or whose values it refuses: found before any data is loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rqps_builds::{Build, server_user};
use rqps_model::LeftOut;

use crate::applied;
use crate::config::Config;
use crate::data_dir::make_private_dir;
use crate::error::{Error, Result};
use crate::option::REFUSED;
use crate::process::exists;
use crate::system::Known;
use crate::systems;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownOption {
    pub option: String,
    /// Asks for an option of the build that may be meant.
    pub question: Option<String>,
    /// Whether the config expects that some versions do not know it: MySQL's prefix `loose_`.
    pub loose: bool,
    /// Why the build leaves it out, and what to write instead if it tells.
    pub why: LeftOut,
    /// Whether servers have it as a variable that nobody can set.
    pub read_only: bool,
}

/// What is wrong with an option that is [`UnknownOption::read_only`].
pub fn cannot_be_set(option: &str) -> String {
    format!("`{option}` cannot be set: it is a read-only variable of the server. Remove it.")
}

impl UnknownOption {
    /// The option as left out of a config for the build, see [`crate::refused_lines`].
    pub fn refused(&self, value: &str, since: Option<&str>) -> LeftOut {
        let since = since.map(|version| format!("; {version} removed it")).unwrap_or_default();
        LeftOut {
            option: self.option.clone(),
            value: value.to_owned(),
            reason: format!("{REFUSED}{}{since}", self.why.reason),
            refused: true,
            ..LeftOut::default()
        }
    }
}

/// The options of a config that the build does not know, without those of shipped configs that it includes, which are
/// for several versions. `scratch` is an existing directory that the servers' user can enter.
///
/// # Errors
/// If the build's server program cannot be asked.
pub fn unknown_options(build: &Build, config: &Config, scratch: &Path) -> Result<Vec<UnknownOption>> {
    let options: Vec<&str> = config
        .options
        .iter()
        .map(|(option, _)| option.as_str())
        .filter(|option| !config.shipped.contains(*option))
        .collect();
    if options.is_empty() {
        return Ok(Vec::new());
    }
    ask((build, config), scratch, |known| {
        let value = |name: &str| {
            let found = config.options.iter().find(|(option, _)| option == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let unknown = known.unknown(&options)?.into_iter().map(|option| {
            let question = known.question(&option);
            let loose = config.loose.contains(&option);
            let why = known.why_unknown((&option, value(&option)))?.unwrap_or_else(applied::unknown_option);
            let read_only = known.is_read_only(&option);
            Ok(UnknownOption { option, question, loose, why, read_only })
        });
        unknown.collect()
    })
}

/// Those of some options that the build knows beside a config.
///
/// # Errors
/// As of [`unknown_options`].
pub fn known_among(
    build: &Build,
    config: &Config,
    options: &[String],
    scratch: &Path,
) -> Result<Vec<String>> {
    ask((build, config), scratch, |known| {
        let mut found = Vec::new();
        for option in options {
            if known.has(option)? {
                found.push(option.clone());
            }
        }
        Ok(found)
    })
}

/// The values of some options if nothing sets them, those that the build lists.
///
/// # Errors
/// As of [`unknown_options`].
pub fn defaults_of(
    build: &Build,
    config: &Config,
    options: &[&str],
    scratch: &Path,
) -> Result<BTreeMap<String, String>> {
    ask((build, config), scratch, |known| {
        let default = |option: &&str| Some(((*option).to_owned(), known.default_of(option)?.to_owned()));
        Ok(options.iter().filter_map(default).collect())
    })
}

/// The options of a config that the build knows and whose values it refuses, with its messages; those with which its
/// server starts all the same, as if they were not set, are without effect.
///
/// # Errors
/// As of [`unknown_options`].
pub fn refused_options(build: &Build, config: &Config, scratch: &Path) -> Result<Vec<LeftOut>> {
    ask((build, config), scratch, |known| {
        let mut options = given_to(build, config, known)?;
        let mut refused = Vec::new();
        // Each question starts the build's program.
        if known.refusal(&options)?.is_some() {
            let mut accepted = Vec::new();
            refused = refused_beside(known, &mut accepted, options)?;
            if !accepted.is_empty() && !refused.is_empty() {
                // An option may need one that comes later, as a collation its character set.
                let again = refused.into_iter().map(|(one, _)| one).collect();
                refused = refused_beside(known, &mut accepted, again)?;
            }
            options = accepted;
        }
        let mut left_out: Vec<LeftOut> =
            refused.into_iter().map(|(one, message)| refused_value(one, &message)).collect();
        left_out.extend(known.refused_at_start(&options)?);
        Ok(left_out)
    })
}

/// The options of a config for whose numbers the build uses others, with both.
///
/// # Errors
/// As of [`unknown_options`].
pub fn adjusted_options(build: &Build, config: &Config, scratch: &Path) -> Result<Vec<LeftOut>> {
    ask((build, config), scratch, |known| known.adjusted(&given_to(build, config, known)?))
}

/// The options of a config that a build knows, without those that rqps sets, with their values for its version.
fn given_to<'c>(build: &Build, config: &'c Config, known: &dyn Known) -> Result<Vec<NameAndValue<'c>>> {
    let own = systems::get(build.dbms).own_options();
    let mut options = Vec::new();
    for (option, value) in config.options.iter().filter(|(option, _)| !own.contains(&option.as_str())) {
        let value = config.value_before(build, option).map_or(value, |before| &before.value);
        if known.has(option)? {
            options.push((option.as_str(), value.as_str()));
        }
    }
    Ok(options)
}

/// An option whose value a build does not take, with its message.
pub(crate) fn refused_value((option, value): NameAndValue<'_>, message: &str) -> LeftOut {
    LeftOut {
        option: option.to_owned(),
        value: value.to_owned(),
        reason: format!("{REFUSED}{}", one_line(message)),
        refused: true,
        ..LeftOut::default()
    }
}

/// What of the values of a config's options this machine or the build lacks: libraries, locales, time zones. They are
/// left out.
///
/// # Errors
/// As of [`unknown_options`].
pub fn lacking(build: &Build, config: &Config, scratch: &Path) -> Result<Vec<LeftOut>> {
    ask((build, config), scratch, |known| {
        let lacking = |(option, value): &(String, String)| known.lacking(config, (option, value)).transpose();
        config.options.iter().filter_map(lacking).collect()
    })
}

/// A part of an option's value that a build does not have, and that it has in its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Misspelled {
    pub option: String,
    pub part: String,
    pub meant: String,
}

/// Parts of values of a config, such as libraries, that are probably misspelled.
pub fn misspelled(build: &Build, config: &Config) -> Vec<Misspelled> {
    let of_option = |(option, value): &(String, String)| {
        let found = systems::get(build.dbms).misspelled(build, (option, value));
        let named = |(part, meant)| Misspelled { option: option.clone(), part, meant };
        found.into_iter().map(named).collect::<Vec<_>>()
    };
    config.options.iter().flat_map(of_option).collect()
}

type NameAndValue<'o> = (&'o str, &'o str);

/// Those of some options that a build refuses beside the accepted ones, with its messages. Adds the others to these.
fn refused_beside<'o>(
    known: &dyn Known,
    accepted: &mut Vec<NameAndValue<'o>>,
    options: Vec<NameAndValue<'o>>,
) -> Result<Vec<(NameAndValue<'o>, String)>> {
    let mut refused = Vec::new();
    for one in options {
        accepted.push(one);
        if let Some(message) = known.refusal(accepted)? {
            accepted.pop();
            refused.push((one, message));
        }
    }
    Ok(refused)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Beginning of the names of directories in which builds are asked, before the process that asks.
const ASKED: &str = "options-";

/// Removes the directories of processes that were ended while they asked. What cannot be removed is another user's.
fn remove_left(scratch: &Path) {
    for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(ASKED)?.parse::<u32>().ok());
        if process.is_some_and(|process| !exists(process)) {
            let _ended = fs::remove_dir_all(entry.path());
        }
    }
}

fn ask<T>(
    (build, config): (&Build, &Config),
    scratch: &Path,
    question: impl FnOnce(&dyn Known) -> Result<T>,
) -> Result<T> {
    let user = server_user()?;
    remove_left(scratch);
    let place = scratch.join(format!("{ASKED}{}", std::process::id()));
    make_private_dir(&place, &user)?;
    let answer = systems::get(build.dbms)
        .known_options(build, config, &user, &place)
        .and_then(|known| question(&*known));
    fs::remove_dir_all(&place).map_err(Error::file("remove", &place))?;
    answer
}
