//! Options of the user's own configs that builds do not know, found before anything is measured.

use crate::arm::Ingredients;
use crate::error::{Error, Result};
use rqps_builds::Dirs;
use rqps_plan::{Arm, Plan};
use rqps_servers::{UnknownOption, is_file};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Unknown {
    /// Arms that do not know the option, by their index in the plan.
    arms: Vec<usize>,
    /// What may be meant.
    question: Option<String>,
}

/// Warnings about options that some arms leave out because their builds do not know them.
///
/// # Errors
/// If no arm knows an option of its config, which is probably misspelled, or a build cannot be asked.
pub fn check_own_configs(plan: &Plan, ingredients: &[Ingredients], dirs: &Dirs) -> Result<Vec<String>> {
    dirs.create_work()?;
    // By config and option.
    let mut unknown: BTreeMap<(&str, String), Unknown> = BTreeMap::new();
    for (arm, (planned, of_arm)) in plan.arms.iter().zip(ingredients).enumerate() {
        // The control has base's build and config.
        if is_file(&planned.config) && !planned.control {
            let Ingredients { build, config, system } = of_arm;
            for UnknownOption { option, question } in system.unknown_options(build, config, &dirs.work)? {
                let found = unknown.entry((&config.name, option)).or_default();
                found.arms.push(arm);
                found.question = question.or(found.question.take());
            }
        }
    }
    // By build and config.
    let mut without: BTreeMap<(String, &str), BTreeSet<String>> = BTreeMap::new();
    let mut errors = Vec::new();
    for ((config, option), Unknown { arms, question }) in unknown {
        let uses = |(arm, of_arm): &(&Arm, &Ingredients)| of_arm.config.name == config && !arm.control;
        let users = plan.arms.iter().zip(ingredients).filter(uses).count();
        if arms.len() == users {
            let remedy = question.unwrap_or_else(|| "Correct it or remove it.".to_owned());
            errors.push(format!("no version in this plan knows `{option}` of config {config}. {remedy}"));
            continue;
        }
        for arm in arms {
            without
                .entry((ingredients[arm].build.label(), config))
                .or_default()
                .insert(format!("`{option}`"));
        }
    }
    let warnings = without.into_iter().map(|((build, config), options)| {
        let options: Vec<String> = options.into_iter().collect();
        format!("{build} does not know {} of config {config} and runs without", options.join(", "))
    });
    if errors.is_empty() {
        Ok(warnings.collect())
    } else {
        Err(Error::UnknownOptions(errors.join("\nrqps: ")))
    }
}
