//! Which windows of passes were measured beside base's. In each step of a pass the arms take turns; a resume that
//! makes up for an arm that had failed measures it after the others, on what may have become another host.

use std::collections::{BTreeMap, BTreeSet};

use rqps_store::{Recorded, Run, Window};

/// An arm that was measured alone in some passes, when base, or as base the others, had ended their steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alone {
    pub arm: String,
    pub passes: Vec<u32>,
}

/// Windows that were not measured beside base's.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    /// The action numbers of other arms' windows.
    windows: BTreeSet<u32>,
    /// Passes by the arm that came later.
    alone: BTreeMap<String, BTreeSet<u32>>,
}

impl Apart {
    /// With base's index in [`Run::arms`].
    pub fn of(run: &Run, base: usize) -> Self {
        let mut apart = Self::default();
        let (Some(base), true) = (run.arms.get(base), run.meta.protocol == "sequence") else {
            return apart;
        };
        let mut of_arms: BTreeMap<&str, Vec<&Recorded<Window>>> = BTreeMap::new();
        for window in run.windows.iter().filter(|window| window.valid()) {
            of_arms.entry(&window.action.arm).or_default().push(window);
        }
        let of_base = of_arms.remove(base.name.as_str()).unwrap_or_default();
        let key = |window: &Recorded<Window>| Some((window.placement?.block, window.action.step.clone()));
        let by_key: BTreeMap<_, _> = of_base.iter().filter_map(|one| Some((key(one)?, *one))).collect();
        for (arm, windows) in of_arms {
            for own in &windows {
                let Some((key, other)) = key(own).and_then(|key| by_key.get(&key).map(|other| (key, *other)))
                else {
                    continue;
                };
                let gap = own.action.finished_at_ms.min(other.action.finished_at_ms)
                    ..=own.action.started_at_ms.max(other.action.started_at_ms);
                let is_between = |one: &&Recorded<Window>| {
                    gap.contains(&one.action.started_at_ms) && gap.contains(&one.action.finished_at_ms)
                };
                if !windows.iter().chain(&of_base).any(is_between) {
                    continue;
                }
                apart.windows.insert(own.action.seq);
                let is_later = own.action.started_at_ms > other.action.started_at_ms;
                let later = if is_later { arm } else { &base.name };
                apart.alone.entry(later.to_owned()).or_default().insert(key.0);
            }
        }
        apart
    }

    /// Whether what the host does to the window's figures may differ from what it did to base's.
    pub fn contains(&self, window: &Recorded<Window>) -> bool {
        self.windows.contains(&window.action.seq)
    }

    /// The arms that came later, with their passes.
    pub fn alone(self) -> Vec<Alone> {
        let passes_of =
            |(arm, passes): (String, BTreeSet<u32>)| Alone { arm, passes: passes.into_iter().collect() };
        self.alone.into_iter().map(passes_of).collect()
    }
}
