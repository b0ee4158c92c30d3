//! Options of the user's own configs that builds do not know, found before anything is measured.

use crate::arm::Ingredients;
use crate::error::{Error, Result};
use rqps_builds::Dirs;
use rqps_model::{LeftOut, sentence};
use rqps_plan::{Arm, Plan};
use rqps_servers::{Config, Misspelled, UnknownOption, cannot_be_set, is_file, is_of_a_plugin};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Default)]
struct Unknown {
    /// Arms that do not know the option, by their index in the plan.
    arms: Vec<usize>,
    /// What may be meant.
    question: Option<String>,
    /// Whether the config expects that versions do not know it.
    loose: bool,
    /// Whether nobody can set it.
    read_only: bool,
}

/// Options of a config that a build does not know, so that its arms run without them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Without {
    pub build: String,
    /// The config's file.
    pub path: String,
    pub arms: Vec<String>,
    pub options: BTreeMap<String, Missing>,
}

/// An option that a build does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Where it is set: `my.conf:3`, or a line of a file that this includes.
    pub place: String,
    /// What may be meant, if no build knows it.
    pub question: Option<String>,
}

/// `my.conf:3: postgres-17.11 does not know `io_method` (arm a): measured without it`.
impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { build, path, arms, options } = self;
        let is_one = options.len() == 1;
        let only = options.values().next().filter(|_| is_one);
        f.write_str(only.map_or(path, |one| &one.place))?;
        let (of_plugins, others): (Vec<_>, Vec<_>) =
            options.iter().partition(|(option, _)| is_of_a_plugin(option));
        let [plugins, others] = [of_plugins, others].map(|all| {
            let named = |(option, Missing { place, .. }): (&String, &Missing)| {
                let line = place.strip_prefix(&**path).map(|line| line.trim_start_matches(':'));
                match line {
                    _ if is_one || place == path => format!("`{option}`"),
                    Some(line) => format!("`{option}` (line {line})"),
                    None => format!("`{option}` ({place})"),
                }
            };
            all.into_iter().map(named).collect::<Vec<_>>().join(", ")
        });
        let needs = "a plugin that is missing or not loaded";
        match (others.is_empty(), plugins.is_empty()) {
            (true, _) => write!(f, ": {build} knows {plugins} only with {needs}, if at all")?,
            (false, true) => write!(f, ": {build} does not know {others}")?,
            (false, false) => write!(f, ": {build} does not know {others}, nor, without {needs}, {plugins}")?,
        }
        let (s, them) = (if arms.len() == 1 { "" } else { "s" }, if is_one { "it" } else { "them" });
        write!(f, " (arm{s} {}): measured without {them}", arms.join(", "))?;
        let mut questions = options.iter().filter_map(|(option, one)| Some((option, one.question.as_ref()?)));
        questions.try_for_each(|(option, question)| match is_one {
            true => write!(f, ". {question}"),
            false => write!(f, ". `{option}`: {question}"),
        })
    }
}

/// What is known of the user's own configs before anything is measured.
#[derive(Debug, Default)]
pub struct Examined {
    /// Options that no arm knows, and libraries that none has, with their places and what to do.
    pub mistakes: Vec<String>,
    /// Options that some arms leave out because their builds do not know them.
    pub without: Vec<Without>,
}

/// Options that some arms leave out because their builds do not know them. Builds that are not here may know all.
///
/// # Errors
/// If no arm knows an option of its config, which is probably misspelled unless a release wrote the config, or a build
/// cannot be asked.
pub fn check_own_configs(plan: &Plan, ingredients: &[Ingredients], dirs: &Dirs) -> Result<Vec<Without>> {
    let Examined { mistakes, without } = examine_own_configs((&plan.arms, true), ingredients, dirs)?;
    if mistakes.is_empty() { Ok(without) } else { Err(Error::UnknownOptions(mistakes.join("\nrqps: "))) }
}

/// The same with the mistakes, of some arms of a plan; if they are not all, another may know what has no likeness to a
/// known option.
///
/// # Errors
/// If a build cannot be asked.
pub fn examine_own_configs(
    (arms, are_all): (&[Arm], bool),
    ingredients: &[Ingredients],
    dirs: &Dirs,
) -> Result<Examined> {
    // By config and option.
    let mut unknown: BTreeMap<(&str, String), Unknown> = BTreeMap::new();
    for (arm, (planned, of_arm)) in arms.iter().zip(ingredients).enumerate() {
        // The control has base's build and config.
        if is_file(&planned.config) && !planned.control && of_arm.build.is_here() {
            dirs.create_work()?;
            let Ingredients { build, config, system, .. } = of_arm;
            for UnknownOption { option, question, loose, read_only, .. } in
                system.unknown_options(build, config, &dirs.work)?
            {
                let found = unknown.entry((&config.name, option)).or_default();
                found.arms.push(arm);
                found.question = question.or(found.question.take());
                found.loose |= loose;
                found.read_only |= read_only;
            }
        }
    }
    // By build and config.
    let mut without: BTreeMap<(String, &str), Without> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for ((config, option), Unknown { arms: without_it, question, loose, read_only }) in unknown {
        // A section of one series is not in every arm's config.
        let uses = |(arm, of_arm): &(&Arm, &Ingredients)| {
            of_arm.config.name == config && !arm.control && has(&of_arm.config, &option)
        };
        let users = arms.iter().zip(ingredients).filter(uses).count();
        let user = &ingredients[without_it[0]];
        let is_mistake = without_it.len() == users
            && !user.config.is_of_a_release()
            && !is_known_to_another(&option, user, ingredients, dirs)?;
        if loose && !is_mistake {
            continue;
        }
        let is_mistake = is_mistake && !is_of_a_plugin(&option);
        // The user's file, of which a later arm may have an adapted copy.
        let first = ingredients.iter().position(|of_arm| of_arm.config.name == config);
        let first = first.unwrap_or(without_it[0]);
        let path = &arms[first].config;
        let place = place_of(&ingredients[first].config, path, &option);
        if is_mistake && !loose {
            if read_only {
                mistakes.push(format!("{place}: {}", cannot_be_set(&option)));
                continue;
            }
            if !are_all && question.is_none() {
                continue;
            }
            let remedy = question.unwrap_or_else(|| "Correct it or remove it.".to_owned());
            mistakes.push(format!("{place}: no version measured here knows `{option}`. {remedy}"));
            continue;
        }
        let missing = Missing { place, question: question.filter(|_| is_mistake) };
        for arm in without_it {
            let build = ingredients[arm].build.label();
            let empty = || Without {
                build: build.clone(),
                path: path.clone(),
                arms: Vec::new(),
                options: BTreeMap::new(),
            };
            let without = without.entry((build.clone(), config)).or_insert_with(empty);
            let name = &arms[arm].name;
            if !without.arms.contains(name) {
                without.arms.push(name.clone());
            }
            without.options.insert(option.clone(), missing.clone());
        }
    }
    mistakes.extend(misspelled_in_own_configs(arms, ingredients));
    Ok(Examined { mistakes, without: without.into_values().collect() })
}

/// Parts of values, such as libraries, that are probably misspelled: no arm of the config has them. What an arm has, or
/// resembles nothing, is left out of the others.
fn misspelled_in_own_configs(arms: &[Arm], ingredients: &[Ingredients]) -> Vec<String> {
    let own = || arms.iter().zip(ingredients).filter(|(arm, _)| is_file(&arm.config) && !arm.control);
    // By config, with the number of arms that lack it.
    let mut found: BTreeMap<(&str, Misspelled), usize> = BTreeMap::new();
    for (_, Ingredients { build, config, .. }) in own().filter(|(_, of_arm)| of_arm.build.is_here()) {
        for one in rqps_servers::misspelled(build, config) {
            *found.entry((&config.name, one)).or_default() += 1;
        }
    }
    let mut mistakes = Vec::new();
    for ((config, Misspelled { option, part, meant }), lack) in found {
        let users =
            || own().filter(|(_, of_arm)| of_arm.config.name == config && has(&of_arm.config, &option));
        if let Some((arm, of_arm)) = users().next().filter(|_| users().count() == lack) {
            let place = place_of(&of_arm.config, &arm.config, &option);
            mistakes.push(format!(
                "{place}: `{option}`: no version measured here has `{part}`. Did you mean `{meant}`?"
            ));
        }
    }
    mistakes
}

/// Values in own configs that builds refuse, with their places and what the builds say. Some are refused only when a
/// server starts, and builds that are not here may refuse others.
///
/// # Errors
/// If a build cannot be asked.
pub fn refused_in_own_configs(arms: &[Arm], ingredients: &[Ingredients], dirs: &Dirs) -> Result<Vec<String>> {
    // With the builds that say the same.
    let mut refused: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    for (arm, Ingredients { build, config, .. }) in arms.iter().zip(ingredients) {
        let is_asked = is_file(&arm.config) && build.is_here() && build.dbms.speaks_sql();
        if !is_asked || !asked.insert((&build.hash, &arm.config)) {
            continue;
        }
        dirs.create_work()?;
        for LeftOut { option, value, reason, .. } in rqps_servers::refused_options(build, config, &dirs.work)?
        {
            let said = reason.split_once(": ").map_or("", |(_, said)| said.trim_end_matches('.')).to_owned();
            let place = place_of(config, &arm.config, &option);
            refused.entry((place, option, value, said)).or_default().push(build.label());
        }
    }
    let mut texts = Vec::new();
    for ((place, option, value, said), builds) in &refused {
        let (by, said) = (builds.join(", "), sentence(said));
        texts
            .push(format!("{place}: `{option} = {value}`: refused by {by}: {said} Correct it or remove it."));
    }
    Ok(texts)
}

/// What of own configs this machine or a build lacks, a line for each arm.
///
/// # Errors
/// If a build cannot be asked.
pub fn lacking_in_own_configs(plan: &Plan, ingredients: &[Ingredients], dirs: &Dirs) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (arm, of_arm) in plan.arms.iter().zip(ingredients) {
        let Ingredients { build, config, .. } = of_arm;
        if !is_file(&arm.config) || arm.control || !build.is_here() || !build.dbms.speaks_sql() {
            continue;
        }
        dirs.create_work()?;
        let left = rqps_servers::lacking(build, config, &dirs.work)?;
        let texts: Vec<String> =
            left.iter().map(|left| format!("{} = {} ({})", left.option, left.value, left.reason)).collect();
        if !texts.is_empty() {
            lines.push(format!("left out of {}: {}", arm.name, texts.join(", ")));
        }
    }
    Ok(lines)
}

/// Numbers of own configs in whose place builds use others, a line for each.
///
/// # Errors
/// If a build cannot be asked.
pub fn adjusted_in_own_configs(plan: &Plan, ingredients: &[Ingredients], dirs: &Dirs) -> Result<Vec<String>> {
    let mut used: BTreeMap<_, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (arm, Ingredients { build, config, .. }) in plan.arms.iter().zip(ingredients) {
        if !is_file(&arm.config) || arm.control || !build.is_here() || !build.dbms.speaks_sql() {
            continue;
        }
        dirs.create_work()?;
        for LeftOut { option, value, taken, .. } in rqps_servers::adjusted_options(build, config, &dirs.work)?
        {
            // The user's file, of which a later arm may have an adapted copy.
            let mut all = plan.arms.iter().zip(ingredients);
            let first = all.find(|(_, of_arm)| of_arm.config.name == config.name);
            let (path, first) = first.map_or((&arm.config, config), |(arm, one)| (&arm.config, &one.config));
            let line = format!("{}: `{option} = {value}`", place_of(first, path, &option));
            let builds = used.entry(line).or_default().entry(taken.unwrap_or_default()).or_default();
            builds.push(build.label());
        }
    }
    let of_value = |(value, builds): (&String, &Vec<String>)| {
        format!("{} use{} {value}", builds.join(", "), if builds.len() == 1 { "s" } else { "" })
    };
    let line = |(line, values): (&String, &BTreeMap<_, _>)| {
        format!("{line}: {}", values.iter().map(of_value).collect::<Vec<_>>().join("; "))
    };
    Ok(used.iter().map(line).collect())
}

/// Where the user's config at `path` sets an option, as `bad.ini:12`: it may include the file that does.
pub fn place_of(config: &Config, path: &str, option: &str) -> String {
    config.places.get(option).cloned().unwrap_or_else(|| path.to_owned())
}

fn has(config: &Config, option: &str) -> bool {
    config.options.iter().any(|(name, _)| name == option)
}

/// Whether a build of the plan whose arm lacks the config's option knows it.
fn is_known_to_another(option: &str, user: &Ingredients, all: &[Ingredients], dirs: &Dirs) -> Result<bool> {
    let mut alone = user.config.clone();
    alone.options.retain(|(name, _)| name == option);
    for other in all.iter().filter(|other| other.build.dbms == user.build.dbms && other.build.is_here()) {
        let is_asked = other.build.hash != user.build.hash
            && (other.config.name != user.config.name || !has(&other.config, option));
        if is_asked && other.system.unknown_options(&other.build, &alone, &dirs.work)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
