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
    /// What is wrong in the lines of own configs, with the arm.
    pub wrong: Vec<(String, String)>,
    /// All other mistakes.
    pub mistakes: Vec<String>,
    /// Arms whose builds are not here.
    pub absent: Vec<Arm>,
}

impl Foreseen {
    /// All mistakes, also in versions that were never published, without what of configs is `told` already.
    pub fn all_mistakes(&mut self, dirs: &Dirs, is_told: impl Fn(&str) -> bool) -> Vec<String> {
        self.unchecked.iter().for_each(|text| out::message(text));
        let new = self.wrong.drain(..).filter(|(_, what)| !is_told(what));
        let mut all: Vec<String> = new.map(|(arm, what)| format!("arm {arm}: {what}")).collect();
        all.append(&mut self.mistakes);
        // By file and line.
        all.sort_by(|one, other| natural(one, other));
        all.dedup();
        all.extend(unpublished(&self.absent, dirs));
        all
    }
}

/// Foresees some arms of a plan, or all.
///
/// # Errors
/// If the host has a part in it: a build that does not run.
pub fn foresee((arms, are_all): (&[Arm], bool), limits: &HostLimits, dirs: &Dirs) -> Result<Foreseen, Error> {
    let (mut known, mut ingredients) = (Vec::new(), Vec::new());
    let (mut wrong, mut mistakes) = (Vec::new(), Vec::new());
    for (arm, foreseen) in arms.iter().zip(rqps_executor::foresee(&KIT, arms, limits, dirs)) {
        match foreseen {
            Ok((one, in_config)) => {
                wrong.extend(in_config.map(|error| (arm.name.clone(), error.to_string())));
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
    let unchecked = unchecked_configs(&known, &ingredients);
    let is_absent = |(arm, one): (Arm, &Ingredients)| (!one.build.is_here()).then_some(arm);
    let absent = known.into_iter().zip(&ingredients).filter_map(is_absent).collect();
    Ok(Foreseen { ingredients, without, unchecked, wrong, mistakes, absent })
}

/// Versions of arms that were never published, as a run would find; warns of those for which nobody can be asked.
fn unpublished(arms: &[Arm], dirs: &Dirs) -> Vec<String> {
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
    if let Ok(mut found) = foresee((&errors.arms, errors.has_all_arms), &limits, &context.dirs) {
        let is_told = |what: &str| errors.problems.iter().any(|one| one.what == what);
        let mistakes = found.all_mistakes(&context.dirs, is_told);
        errors.elsewhere.extend(mistakes);
    }
    Usage(errors.to_string())
}

/// Mistakes that a plan `name` has beside those in its file.
pub fn elsewhere(name: &str, plan: &Plan, elsewhere: Vec<String>) -> PlanErrors {
    PlanErrors { elsewhere, ..PlanErrors::of(name, (plan.arms.clone(), true)) }
}
