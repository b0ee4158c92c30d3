//! Mistakes in what a plan names: builds, and the user's own configs as far as their builds are here. They are told
//! together with those of the plan, before anything starts.

use crate::Usage;
use crate::context::Context;
use crate::kit::KIT;
use crate::out;
use crate::progress::with_quiet_spinner;
use rqps_builds::Dirs;
use rqps_executor::{Error, Examined, Ingredients, Without};
use rqps_model::natural;
use rqps_plan::{Arm, Plan, PlanErrors};
use rqps_servers::HostLimits;
use std::collections::BTreeSet;

/// What is known of arms before their builds are fetched.
pub struct Foreseen {
    /// Of the arms without mistakes in build and config.
    pub ingredients: Vec<Ingredients>,
    /// Options that some arms leave out because their builds do not know them.
    pub without: Vec<Without>,
    /// Which of the user's own configs are not checked, since only the build knows its options.
    pub unchecked: Vec<String>,
    pub mistakes: Vec<String>,
}

/// Foresees some arms of a plan, or all.
///
/// # Errors
/// If the host has a part in it: a build that does not run.
pub fn foresee((arms, are_all): (&[Arm], bool), limits: &HostLimits, dirs: &Dirs) -> Result<Foreseen, Error> {
    let (mut known, mut ingredients, mut mistakes) = (Vec::new(), Vec::new(), Vec::new());
    for (arm, foreseen) in arms.iter().zip(rqps_executor::foresee(&KIT, arms, limits, dirs)) {
        match foreseen {
            Ok((one, wrong)) => {
                mistakes.extend(wrong.map(|error| format!("arm {}: {error}", arm.name)));
                known.push(arm.clone());
                ingredients.push(one);
            }
            Err(error) if error.is_usage() => mistakes.push(format!("arm {}: {error}", arm.name)),
            Err(error) => return Err(error),
        }
    }
    let are_all = are_all && known.len() == arms.len();
    let Examined { mistakes: unknown, without } =
        with_quiet_spinner("checking the options of the configs", || {
            rqps_executor::examine_own_configs((&known, are_all), &ingredients, dirs)
        })?;
    mistakes.extend(unknown);
    mistakes.extend(rqps_executor::refused_in_own_configs(&known, &ingredients, dirs)?);
    // By file and line.
    mistakes.sort_by(|one, other| natural(one, other));
    let unchecked = unchecked_configs(&known, &ingredients);
    Ok(Foreseen { ingredients, without, unchecked, mistakes })
}

/// Versions of arms that were never published, as a run would find; warns of those for which nobody can be asked.
pub fn unpublished(arms: &[Arm], dirs: &Dirs) -> Vec<String> {
    let mut mistakes = Vec::new();
    let mut asked = BTreeSet::new();
    for Arm { name, build, .. } in arms {
        if !asked.insert(build.to_string()) {
            continue;
        }
        match with_quiet_spinner("looking builds up", || rqps_builds::check_published(dirs, build)) {
            Ok(()) => {}
            Err(rqps_builds::Error::Unreachable { dbms, request, reason, .. }) => out::message(&format!(
                "warning: arm {name}: whether {dbms} {request} exists is not known, since nobody could be asked: {reason}"
            )),
            Err(error) => mistakes.push(format!("arm {name}: {error}")),
        }
    }
    mistakes
}

fn unchecked_configs(arms: &[Arm], ingredients: &[Ingredients]) -> Vec<String> {
    let mut texts = Vec::new();
    for (arm, Ingredients { build, .. }) in arms.iter().zip(ingredients) {
        if build.is_here() || !rqps_servers::is_file(&arm.config) {
            continue;
        }
        let text = format!(
            "note: options and values of config {} are not checked for {}, which is not installed: a run checks them when \
             it has the build",
            arm.config, arm.build
        );
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// The mistakes of a plan with those in what it names.
pub fn complete(context: &Context, mut errors: PlanErrors) -> Usage {
    let limits = HostLimits::of(&context.dirs.work);
    // What the host has a part in can wait.
    if let Ok(found) = foresee((&errors.arms, errors.has_all_arms), &limits, &context.dirs) {
        found.unchecked.iter().for_each(|text| out::message(text));
        let is_told = |text: &String| errors.problems.iter().any(|one| text.ends_with(&one.what));
        errors.elsewhere.extend(found.mistakes.into_iter().filter(|text| !is_told(text)));
        errors.elsewhere.extend(unpublished(&errors.arms, &context.dirs));
    }
    Usage(errors.to_string())
}

/// Mistakes that a plan `name` has beside those in its file.
pub fn elsewhere(name: &str, plan: &Plan, elsewhere: Vec<String>) -> PlanErrors {
    PlanErrors { elsewhere, ..PlanErrors::of(name, (plan.arms.clone(), true)) }
}
