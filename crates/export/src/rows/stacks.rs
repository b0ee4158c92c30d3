//! Stacks of CPU profiles, read from files next to the database.

use rqps_store::{Cell, Profile, Run};

use super::{Sink, places};
use crate::error::Result;

/// Whether the file of a profile's stacks exists: it may be missing if someone copied only the database.
pub(crate) fn has_stacks(run: &Run, profile: &Profile) -> bool {
    run.folder.path().join(&profile.file).is_file()
}

pub(super) fn rows(run: &Run, sink: &mut Sink<'_>) -> Result<()> {
    let places = places(run)?;
    for profile in run.profiles.iter().filter(|profile| has_stacks(run, &profile.result)) {
        let Some(place) = places.get(&profile.action.seq) else { continue };
        for line in run.folded(&profile.result)?.lines() {
            let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
            let Ok(samples) = samples.parse::<u32>() else { continue };
            let role = stack.split(';').next().unwrap_or(stack);
            let function = stack.rsplit(';').next().unwrap_or(stack);
            let names = [role, function, stack].map(|name| Cell::from(name.to_owned()));
            let figures = [samples.into(), (f64::from(samples) / profile.result.operations).into()];
            sink(place.iter().cloned().chain(names).chain(figures).collect())?;
        }
    }
    Ok(())
}
