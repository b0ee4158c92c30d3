//! One link of a series: a run of blocks with two neighbouring versions and the anchor.

use super::journal::{Journal, Link};
use super::versions::Known;
use crate::context::Context;
use crate::search;
use crate::verbs::plan::check_plan;
use rqps_executor::{Error, Finish};
use rqps_plan::{Arm, Plan};
use rqps_report::SeriesLink;
use rqps_store::{Run, RunFolder};

/// Measures a link; returns why its later version can't be measured, if it can't.
pub fn measure(
    context: &Context,
    journal: &mut Journal,
    template: &Plan,
    anchor: &Known,
    (before, after): (&Known, &Known),
) -> anyhow::Result<Option<String>> {
    let mut plan = plan(template, anchor, before, after)?;
    // One certificate of the host suffices.
    plan.certificate &= journal.done.is_empty();
    let mut execution = crate::verbs::run::begin_in(context, plan, journal.folder())?;
    let folder = execution.folder();
    let run = search::name(&folder);
    journal.running = Some(Link { before: before.version.clone(), after: after.version.clone(), run });
    journal.write()?;
    let finish = search::run(context, &mut execution);
    drop(execution);
    let is_of_after = |error: &&Error| error.faulty_arm() == Some(&*after.version);
    let given_up = match &finish {
        Err(error) => Some(error).filter(is_of_after),
        Ok(Finish::Partly(errors)) => errors.iter().find(is_of_after),
        Ok(_) => None,
    };
    let given_up = given_up.map(Error::short_text);
    if given_up.is_some() {
        journal.running = None;
        journal.write()?;
        rqps_executor::clean(&folder, &context.dirs)?;
        return Ok(given_up);
    }
    match finish? {
        Finish::Partly(errors) => match errors.into_iter().next() {
            Some(error) => Err(error.into()),
            None => record(journal),
        },
        Finish::Ended(ending) => {
            crate::verbs::run::say_ended(&ending);
            record(journal)
        }
        Finish::Complete => record(journal),
    }
    .map(|()| None)
}

/// Ends the link that an earlier call began.
pub fn resume(context: &Context, journal: &mut Journal) -> anyhow::Result<()> {
    let Some(running) = journal.running.clone() else {
        return Ok(());
    };
    let what = format!("{} after {}", running.after, running.before);
    if search::resume(context, &journal.folder().join(&running.run), &what)? {
        return record(journal);
    }
    journal.running = None;
    journal.write()
}

/// The running link is done; writes its page.
fn record(journal: &mut Journal) -> anyhow::Result<()> {
    if let Some(link) = journal.running.take() {
        crate::verbs::run::write_report(&journal.folder().join(&link.run))?;
        journal.done.push(link);
    }
    journal.write()
}

/// The plan of a link. Arms have the names of their versions; base is the earlier one, since verdicts are about what
/// the later one changed.
pub fn plan(template: &Plan, anchor: &Known, before: &Known, after: &Known) -> anyhow::Result<Plan> {
    let mut plan = template.clone();
    let config = plan.arms[plan.base_index()].config.clone();
    let mut arms = vec![before, after];
    if anchor.version != before.version {
        arms.insert(0, anchor);
    }
    let arm = |known: &Known| Arm { name: known.version.clone(), ..Arm::new(known.build.clone(), &config) };
    plan.arms = arms.into_iter().map(arm).collect();
    let mut blocks = plan.blocks();
    // The anchor is measured again and again: what differs between links is noise.
    blocks.control = false;
    plan.isolated = Some(blocks);
    plan.base.clone_from(&before.version);
    "link".clone_into(&mut plan.name);
    // Checked like any other plan.
    Ok(check_plan(&plan.to_toml()?, "the plan of a link")?.plan)
}

/// The measured links, for their report.
pub fn read(journal: &Journal, anchor: &str) -> anyhow::Result<Vec<SeriesLink>> {
    let place = |run: &Run, version: &str| run.arms.iter().position(|arm| arm.build_version == version);
    let mut links = Vec::new();
    for link in &journal.done {
        let run = RunFolder::open(&journal.folder().join(&link.run))?;
        let places = [&*link.before, &*link.after, anchor].map(|version| place(&run, version));
        let [Some(before), Some(after), Some(anchor)] = places else { continue };
        let page = format!("{}/{}", link.run, crate::verbs::run::PAGE_FILE);
        links.push(SeriesLink { run, before, after, anchor, page });
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::plan::read_plan;

    fn known(version: &str) -> Known {
        Known { build: format!("postgres-{version}").parse().unwrap(), version: version.to_owned() }
    }

    #[test]
    fn neighbours_are_measured_beside_the_anchor() {
        let template = read_plan("verdicts").unwrap();
        let (anchor, before, after) = (known("12.22"), known("16.15"), known("17.0"));
        let arms = |plan: &Plan| plan.arms.iter().map(|arm| arm.name.clone()).collect::<Vec<_>>();
        let link = plan(&template, &anchor, &before, &after).unwrap();
        assert_eq!(
            (arms(&link), &*link.base),
            (["12.22", "16.15", "17.0"].map(str::to_owned).to_vec(), "16.15")
        );
        let first = plan(&template, &anchor, &anchor, &before).unwrap();
        assert_eq!((arms(&first), &*first.base), (["12.22", "16.15"].map(str::to_owned).to_vec(), "12.22"));
        assert!(search::first_verdicts_seconds(&link) > search::first_verdicts_seconds(&first));
    }
}
