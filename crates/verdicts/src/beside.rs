//! Which windows of passes were measured beside base's. In each step of a pass the arms take turns; what a resume
//! measures of a pass comes after the others' windows, on what may have become another host.

use std::collections::{BTreeMap, BTreeSet};

use rqps_store::{Recorded, Run, Window};

/// An arm that a resume measured in some passes, after base or, as base, after the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterResume {
    pub arm: String,
    pub passes: Vec<u32>,
}

/// Windows that were not measured beside base's.
#[derive(Debug, Default)]
pub struct Apart {
    /// The action numbers of other arms' windows.
    windows: BTreeSet<u32>,
    /// Passes by the arm that came later.
    after_resume: BTreeMap<String, BTreeSet<u32>>,
}

impl Apart {
    /// With base's index in [`Run::arms`].
    pub fn of(run: &Run, base: usize) -> Self {
        let mut apart = Self::default();
        let (Some(base), true) = (run.arms.get(base), run.meta.protocol == "sequence") else {
            return apart;
        };
        let resumes: Vec<i64> =
            run.notes.iter().filter(|note| note.is_resume()).map(|note| note.at_ms).collect();
        if resumes.is_empty() {
            return apart;
        }
        let key = |window: &Recorded<Window>| Some((window.placement?.block, window.action.step.clone()));
        let valid = || run.windows.iter().filter(|window| window.valid());
        let of_base = valid().filter(|window| window.action.arm == base.name);
        let by_key: BTreeMap<_, _> = of_base.filter_map(|one| Some((key(one)?, one))).collect();
        for own in valid().filter(|window| window.action.arm != base.name) {
            let Some((key, other)) = key(own).and_then(|key| by_key.get(&key).map(|other| (key, *other)))
            else {
                continue;
            };
            let mut both = [own, other];
            both.sort_by_key(|window| window.action.started_at_ms);
            let [earlier, later] = both.map(|window| &window.action);
            let between = earlier.finished_at_ms..=later.started_at_ms;
            if resumes.iter().any(|at_ms| between.contains(at_ms)) {
                apart.windows.insert(own.action.seq);
                apart.after_resume.entry(later.arm.clone()).or_default().insert(key.0);
            }
        }
        apart
    }

    /// Whether what the host does to the window's figures may differ from what it did to base's.
    pub fn contains(&self, window: &Recorded<Window>) -> bool {
        self.windows.contains(&window.action.seq)
    }

    /// The arms that came later, with their passes.
    pub fn after_resume(self) -> Vec<AfterResume> {
        let passes_of = |(arm, passes): (String, BTreeSet<u32>)| AfterResume {
            arm,
            passes: passes.into_iter().collect(),
        };
        self.after_resume.into_iter().map(passes_of).collect()
    }
}
