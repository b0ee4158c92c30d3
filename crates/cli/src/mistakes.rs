//! Mistakes in what a plan names: builds, and the user's own configs as far as their builds are here. They are told
//! together with those of the plan, before anything starts.

use crate::Usage;
use crate::context::Context;
use crate::kit::KIT;
use crate::out;
use crate::progress::with_quiet_spinner;
use rqps_builds::Dirs;
use rqps_executor::{Error, Examined, Ingredients, Without};
use rqps_model::{BuildSource, natural};
use rqps_plan::{Arm, Plan, PlanErrors, PlannedBuild, Problem};
use rqps_servers::HostLimits;
use std::collections::BTreeSet;

/// What is known of arms before their builds are fetched.
pub struct Foreseen {
    /// Arms without mistakes in build and config, except in the lines of the config.
    pub arms: Vec<Arm>,
    /// Of these arms.
    pub ingredients: Vec<Ingredients>,
    /// Options that some arms leave out because their builds do not know them.
    pub without: Vec<Without>,
    /// Which of the user's own configs are not checked, since only the build knows its options.
    pub unchecked: Vec<String>,
    /// What is wrong in the lines of own configs, with the arm.
    pub wrong: Vec<(String, String)>,
    /// All other mistakes.
    pub mistakes: Vec<String>,
}

impl Foreseen {
    /// All mistakes, without what of configs is `told` already.
    pub fn all_mistakes(&mut self, is_told: impl Fn(&str) -> bool) -> Vec<String> {
        self.unchecked.iter().for_each(|text| out::message(text));
        let new = self.wrong.drain(..).filter(|(_, what)| !is_told(what));
        let mut all: Vec<String> = new.map(|(arm, what)| format!("arm {arm}: {what}")).collect();
        all.append(&mut self.mistakes);
        // By file and line.
        all.sort_by(|one, other| natural(one, other));
        all.dedup();
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
    Ok(Foreseen { arms: known, ingredients, without, unchecked, wrong, mistakes })
}

/// Versions in a plan's `file` that were never published, as a run would find; warns of those for which nobody can be
/// asked.
pub fn unpublished(file: &str, builds: &[PlannedBuild], dirs: &Dirs) -> Vec<Problem> {
    let mut mistakes = Vec::new();
    let mut asked = BTreeSet::new();
    for planned in builds {
        let build = &planned.build;
        let is_version = matches!(build.source, BuildSource::Version(_));
        let is_here = || rqps_builds::foresee(dirs, build).is_ok_and(|build| build.is_here());
        if !is_version || !asked.insert(build.to_string()) || is_here() {
            continue;
        }
        match with_quiet_spinner("looking builds up", || rqps_builds::check_published(dirs, build)) {
            Ok(()) => {}
            Err(rqps_builds::Error::Unreachable { dbms, request, reason, .. }) => {
                let what = format!(
                    "whether {dbms} {request} exists is not known, since nobody could be asked: {reason}"
                );
                out::message(&format!("warning: {}", planned.problem(what).display(file)));
            }
            Err(error) => mistakes.push(planned.problem(error.to_string())),
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
    add_named(context, &mut errors);
    Usage(errors.to_string())
}

/// Adds to the mistakes of a plan those in what it names; returns what is foreseen of its arms, unless the host has a
/// part in it, which can wait.
pub fn add_named(context: &Context, errors: &mut PlanErrors) -> Option<Foreseen> {
    let limits = HostLimits::of(&context.dirs.work);
    let mut found = foresee((&errors.arms, errors.has_all_arms), &limits, &context.dirs).ok();
    if let Some(found) = &mut found {
        let is_told = |what: &str| errors.problems.iter().any(|one| one.what == what);
        let mistakes = found.all_mistakes(is_told);
        errors.elsewhere.extend(mistakes);
    }
    errors.add(unpublished(&errors.file, &errors.builds, &context.dirs));
    found
}

/// Mistakes that a plan `name` has beside those in its file.
pub fn elsewhere(
    name: &str,
    (plan, builds): (&Plan, Box<[PlannedBuild]>),
    elsewhere: Vec<String>,
) -> PlanErrors {
    PlanErrors { elsewhere, ..PlanErrors::of(name, (plan.arms.clone(), true), builds) }
}
