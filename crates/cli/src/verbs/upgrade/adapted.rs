//! The config of an upgrade as the new version accepts it, and what becomes of its options.

use super::{NEW, OLD};
use crate::build_progress::get_build;
use crate::context::Context;
use crate::progress::with_spinner;
use crate::{Usage, out};
use anyhow::Context as _;
use rqps_builds::Build;
use rqps_driver::PrivateDir;
use rqps_executor::place_of;
use rqps_explain::renamed::{self, Replacement};
use rqps_model::{Dbms, LeftOut, natural};
use rqps_plan::Plan;
use rqps_servers::{
    Config, Misspelled, UnknownOption, cannot_be_set, config_with, defaults_of, is_file, is_of_a_plugin,
    known_among, lacking, load_config, misspelled, refused_lines, refused_options, unknown_options,
};
use std::path::{Path, PathBuf};

/// A config that exists until the run has its own copy.
pub(super) struct Adapted {
    pub path: PathBuf,
    _dir: PrivateDir,
}

impl Adapted {
    fn create(work: &Path, name: &str, text: String) -> anyhow::Result<Self> {
        let cannot_write = |path: &Path| format!("cannot write {}", path.display());
        let dir = PrivateDir::create(work, "upgrade")
            .map_err(|(path, error)| anyhow::Error::new(error).context(cannot_write(&path)))?;
        let path = dir.path().join(name).with_extension("conf");
        std::fs::write(&path, text).with_context(|| cannot_write(&path))?;
        Ok(Self { path, _dir: dir })
    }
}

/// What the new version needs of a config.
#[derive(Default)]
pub(super) struct Adaptation {
    /// The config as the new version accepts it; `None` if it accepts the config, or only lacks some of its options.
    pub adapted: Option<Adapted>,
    /// Unknown options of which the user was told.
    pub told: Vec<String>,
    /// What becomes of each option that it does not accept as written, and what is left out since this machine or the
    /// builds lack it.
    pub options: Vec<String>,
}

/// The config as the new version accepts it: with the later names of options that it has renamed, and with other values
/// for those that it refuses, or without. Says what it measures the new version with and without.
pub(super) fn adapted_config(context: &Context, plan: &Plan, config: &str) -> anyhow::Result<Adaptation> {
    let build_of = |name: &str| plan.arms.iter().find(|arm| arm.name == name).map(|arm| &arm.build);
    let (Some(old), Some(new)) = (build_of(OLD), build_of(NEW)) else {
        return Ok(Default::default());
    };
    let (new, old) = (get_build(context, new)?, get_build(context, old)?);
    context.dirs.create_work()?;
    let upgrade = Upgrade {
        config: load_config(new.dbms, &new.version, config)?,
        path: config,
        is_own: is_file(config),
        of_old: load_config(old.dbms, &old.version, config)?,
        old,
        new,
        work: &context.dirs.work,
    };
    let what = format!("asking {} and {} for their options", upgrade.old.label(), upgrade.new.label());
    let changes = context.before_a_run(|| with_spinner(&what, || upgrade.changes()))?;
    let Changes { mut lines, refused, told, options, said, of_both, unusable } = changes;
    let mut mistakes: Vec<String> =
        unusable.iter().map(|(option, why)| format!("{}: {why}", upgrade.place(option))).collect();
    mistakes.sort_by(|one, other| natural(one, other));
    mistakes.extend((!of_both.is_empty()).then(|| both_reject(&upgrade, &of_both)));
    if !mistakes.is_empty() {
        return Err(Usage(mistakes.join("\nrqps: ") + &super::beside(&options)).into());
    }
    said.iter().for_each(|text| out::message(text));
    lines.extend(refused_lines(upgrade.new.dbms, &refused));
    if lines.is_empty() {
        return Ok(Adaptation { adapted: None, told, options });
    }
    let text = config_text(upgrade.new.dbms, &upgrade.config.text, &lines);
    let adapted = Adapted::create(upgrade.work, &upgrade.config.name, text)?;
    Ok(Adaptation { adapted: Some(adapted), told, options })
}

/// A value that both versions reject, each for its reason.
struct Rejected {
    by_new: LeftOut,
    by_old: LeftOut,
}

/// That both versions reject values, with the lines that have them.
fn both_reject(upgrade: &Upgrade<'_>, rejected: &[Rejected]) -> String {
    let (old, new) = (upgrade.old.label(), upgrade.new.label());
    let value = |Rejected { by_new, by_old }: &Rejected| {
        let place = upgrade.place(&by_new.option);
        let [of_new, of_old] = [by_new, by_old].map(|one| one.reason.trim_end_matches('.'));
        let reason = match of_new == of_old {
            true => of_new.to_owned(),
            false => format!("{old}: {of_old}; {new}: {of_new}"),
        };
        format!("{place}: `{} = {}`: {reason}", by_new.option, by_new.value)
    };
    let values: Vec<String> = rejected.iter().map(value).collect();
    format!(
        "both {old} and {new} reject values of config {}, which is unrelated to the upgrade: correct or remove them, or \
         use builds that accept them\n{}",
        upgrade.config.name,
        values.join("\n")
    )
}

struct Upgrade<'a> {
    old: Build,
    new: Build,
    /// As the new version reads it.
    config: Config,
    /// Its file, or its name.
    path: &'a str,
    /// Whether the config is a file of the user's, not a shipped one.
    is_own: bool,
    /// As the old version reads it: without sections of another series.
    of_old: Config,
    work: &'a Path,
}

#[derive(Default)]
struct Changes {
    /// Lines to add to the config.
    lines: Vec<String>,
    /// Options to be left out of it, or to have another value.
    refused: Vec<LeftOut>,
    told: Vec<String>,
    options: Vec<String>,
    /// What the user is told.
    said: Vec<String>,
    of_both: Vec<Rejected>,
    /// Options that neither version knows, values that the old one refuses, and what neither has, with what to do.
    unusable: Vec<(String, String)>,
}

impl Upgrade<'_> {
    fn changes(&self) -> anyhow::Result<Changes> {
        let mut changes = Changes::default();
        self.unknown(&mut changes)?;
        self.refused(&mut changes)?;
        self.refused_by_old(&mut changes)?;
        let misspelled = self.misspelled();
        let left = lacking(&self.new, &self.config, self.work)?;
        let is_missing = |left: &&LeftOut| !misspelled.iter().any(|one| one.option == left.option);
        changes.options.extend(left.iter().filter(is_missing).map(|left| self.fate_of(left)));
        let (old, new) = (self.old.label(), self.new.label());
        changes.unusable.extend(misspelled.into_iter().map(|Misspelled { option, part, meant }| {
            let why = format!("`{option}`: neither {old} nor {new} has `{part}`. Did you mean `{meant}`?");
            (option, why)
        }));
        Ok(changes)
    }

    /// Parts of values, such as libraries, that neither version has.
    fn misspelled(&self) -> Vec<Misspelled> {
        if !self.is_own {
            return Vec::new();
        }
        let of_old = misspelled(&self.old, &self.of_old);
        let of_new = misspelled(&self.new, &self.config).into_iter();
        let is_of_both =
            |one: &Misspelled| of_old.iter().any(|old| (&old.option, &old.part) == (&one.option, &one.part));
        of_new.filter(is_of_both).collect()
    }

    /// Where the config sets an option.
    fn place(&self, option: &str) -> String {
        place_of(&self.config, self.path, option)
    }

    /// What becomes of an option of the config.
    fn fate_of(&self, LeftOut { option, value, reason, .. }: &LeftOut) -> String {
        format!("{}: {option} = {value}: {reason}", self.place(option))
    }

    fn value(&self, name: &str) -> Option<String> {
        self.config.options.iter().find(|(option, _)| option == name).map(|(_, value)| value.clone())
    }

    /// A version need not know what is written with `loose_`.
    fn unknown_to(&self, build: &Build) -> anyhow::Result<Vec<UnknownOption>> {
        let mut unknown = unknown_options(build, &self.config, self.work)?;
        unknown.retain(|one| !one.loose);
        Ok(unknown)
    }

    fn unknown(&self, changes: &mut Changes) -> anyhow::Result<()> {
        let unknown = self.unknown_to(&self.new)?;
        let unknown_to_old = self.unknown_to(&self.old)?;
        let is_of_new_alone = |one: &&UnknownOption| {
            let is_given = self.of_old.options.iter().any(|(name, _)| *name == one.option);
            is_given && !unknown.iter().any(|new| new.option == one.option)
        };
        let of_new_alone = unknown_to_old.iter().filter(is_of_new_alone).map(|one| {
            format!(
                "{}: {}: in effect; {} is measured without it ({})",
                self.place(&one.option),
                one.option,
                self.old.label(),
                one.why.reason
            )
        });
        changes.options.extend(of_new_alone);
        if unknown.is_empty() {
            return Ok(());
        }
        let later: Vec<String> = unknown.iter().flat_map(|one| renamed::later_names(&one.option)).collect();
        let known = known_among(&self.new, &self.config, &later, self.work)?;
        let known_to_old = known_among(&self.old, &self.config, &later, self.work)?;
        let is_known = |name: &str| known.iter().any(|one| one == name) && self.value(name).is_none();
        let new = self.new.label();
        for one in &unknown {
            let option = &one.option;
            let written = self.value(option).unwrap_or_default();
            let replacement = renamed::replacement((option, &written), |name| self.value(name), is_known);
            let instead = one.why.instead.clone().or(replacement.as_ref().map(Replacement::text));
            let remedy = match &instead {
                Some(instead) => format!("use {instead}"),
                None => "remove it".to_owned(),
            };
            let becomes = format!("{option}: {}; {remedy}", one.why.reason);
            let line = replacement.as_ref().and_then(Replacement::line);
            let is_known_to_old = !unknown_to_old.iter().any(|old| old.option == *option);
            if !is_known_to_old {
                let is_of_new = !self.of_old.options.iter().any(|(name, _)| name == option);
                let removed = renamed::removed(option);
                if !is_of_new || removed.is_none() && replacement.is_none() {
                    if self.is_own && !self.config.is_of_a_release() && !is_of_a_plugin(option) {
                        let why = self.known_to_neither(one, replacement.as_ref(), &known_to_old);
                        changes.unusable.push((option.clone(), why));
                    } else if instead.is_some() {
                        changes.said.push(format!("{new}: {becomes}"));
                        changes.options.push(format!("{}: {becomes}", self.place(option)));
                    }
                    continue;
                }
                // In a section of the new series alone it would be taken for misspelled.
                changes.refused.push(one.refused(&written, removed));
            }
            changes.options.push(format!("{}: {becomes}", self.place(option)));
            if let Some(line) = line {
                changes.said.push(format!("{new} does not know {option}: measured with {line}"));
                changes.lines.push(line);
                changes.told.push(option.clone());
            }
        }
        Ok(())
    }

    /// That an option is none of either version, and what to do: it was renamed before both, or is misspelled.
    fn known_to_neither(
        &self,
        one: &UnknownOption,
        replacement: Option<&Replacement>,
        known_to_old: &[String],
    ) -> String {
        let (old, new, option) = (self.old.label(), self.new.label(), &one.option);
        if one.read_only {
            return cannot_be_set(option);
        }
        let remedy = match (replacement, renamed::removed(option), &one.question) {
            (Some(later), ..) => {
                let have = match known_to_old.contains(&later.name) {
                    true => "both have",
                    false => &format!("{new} has"),
                };
                let write = match later.value {
                    Some(_) => format!("Write {}", later.text()),
                    None => "Set that".to_owned(),
                };
                format!("It was renamed: {have} {}. {write}", later.name)
            }
            (None, Some(version), _) => format!("{version} removed it: remove it from the config."),
            (None, None, Some(question)) => question.clone(),
            (None, None, None) => "Correct it or remove it.".to_owned(),
        };
        format!("neither {old} nor {new} knows `{option}`. {remedy}")
    }

    /// Values that only the old version refuses, such as of an option that it lets nobody set: it would not start.
    fn refused_by_old(&self, changes: &mut Changes) -> anyhow::Result<()> {
        let old = self.old.label();
        for LeftOut { option, value, reason, without_effect, .. } in
            refused_options(&self.old, &self.of_old, self.work)?
        {
            if !without_effect && !changes.of_both.iter().any(|both| both.by_old.option == option) {
                let reason = reason.trim_end_matches('.');
                let why = format!("`{option} = {value}`: {old}: {reason}. Correct it or remove it.");
                changes.unusable.push((option, why));
            }
        }
        Ok(())
    }

    fn refused(&self, changes: &mut Changes) -> anyhow::Result<()> {
        let mut refused = refused_options(&self.new, &self.config, self.work)?;
        if refused.is_empty() {
            return Ok(());
        }
        let by_old = refused_options(&self.old, &self.config, self.work)?;
        for by_new in std::mem::take(&mut refused) {
            match by_old.iter().find(|old| old.option == by_new.option) {
                Some(by_old) => changes.of_both.push(Rejected { by_new, by_old: by_old.clone() }),
                // The new version starts with it, and its log tells.
                None if by_new.without_effect => changes.options.push(self.fate_of(&by_new)),
                None => refused.push(by_new),
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = refused.iter().map(|one| &*one.option).collect();
        let defaults = defaults_of(&self.new, &self.config, &names, self.work)?;
        for one in &mut refused {
            // A list of switches has all that the build knows.
            let default = defaults.get(&one.option).map_or("", String::as_str);
            one.taken =
                renamed::replaced_value(&one.option, &one.value, default).and_then(|later| later.value);
        }
        let taken = |one: &LeftOut| Some((one.option.clone(), one.taken.clone()?));
        let later: Vec<(String, String)> = refused.iter().filter_map(taken).collect();
        if !later.is_empty() {
            let later: Vec<(&str, &str)> = later.iter().map(|(name, value)| (&**name, &**value)).collect();
            let still = refused_options(&self.new, &config_with(&self.config, &later), self.work)?;
            let is_still = |one: &&mut LeftOut| still.iter().any(|still| still.option == one.option);
            refused.iter_mut().filter(is_still).for_each(|one| one.taken = None);
        }
        let new = self.new.label();
        for left @ LeftOut { option, value, reason, taken, .. } in &refused {
            changes.options.push(self.fate_of(left));
            changes.said.push(match taken {
                Some(taken) => {
                    format!("{new} is measured with {option} = {taken} instead of {value}: {reason}")
                }
                None => format!("{new} is measured without {option} = {value}: {reason}"),
            });
        }
        changes.refused.extend(refused);
        Ok(())
    }
}

/// A config with more lines for the server.
fn config_text(dbms: Dbms, text: &str, lines: &[String]) -> String {
    let section = if dbms == Dbms::Postgres { "" } else { "[mysqld]\n" };
    format!("{text}\n{section}{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_of_a_killed_upgrade_goes_with_the_next_one() {
        let work = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = work.path().join(format!("rqps-upgrade-{}-0", ended.id()));
        let other = work.path().join("rqps-upgrade-notes");
        [&left, &other].into_iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        let adapted = Adapted::create(work.path(), "my", "[mysqld]\n".to_owned()).unwrap();
        assert!(!left.exists() && other.exists() && adapted.path.exists());
        let dir = adapted.path.parent().unwrap().to_owned();
        drop(adapted);
        assert!(!dir.exists());
    }
}
