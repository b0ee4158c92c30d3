//! Which functions take another part of an operation's CPU time on two profiles, and which of them only took it over
//! from a neighbour.
//!
//! A function's share p of n samples has the error sqrt(p (1 - p) / n); one more sample is taken to be there than was
//! found, so that none found is not none for certain.
//!
//! Versions split, rename and inline functions. A function's cost changed only if that of the narrowest function
//! around it that both profiles have, with all that it calls, changed along; where that is the same as before, cost
//! moved within it (the cost domains of FBDetect, SOSP 2024).

use std::collections::{BTreeMap, BTreeSet};

use super::stacks::{Function, Stacks, is_named};

/// What takes more than this share of the CPU time is no place in particular: the main loop, the executor.
const PLACE_WIDTH_MAX: f64 = 0.6;
/// Standard errors that a function's change must be beyond: there are thousands of functions.
const ERRORS_MIN: f64 = 4.0;
/// Share of base's CPU time that it must be beyond.
const SHARE_MIN: f64 = 0.005;
/// What is around a function changed along if by this share of the function's own change; it is as before if by less
/// than that share. Between the two nothing is concluded.
const ALONG: f64 = 0.5;
const AS_BEFORE: f64 = 0.3;
/// Samples that a function needs in both profiles for being compared with itself.
const KNOWN_SAMPLES: u64 = 10;
/// Share of a function's samples that have to be below the caller.
const MOSTLY: f64 = 0.8;
/// Share of the change that one function with what it calls has to have to be named as its place. More than all of it
/// is that of a function that was put around others.
const PLACE_SHARE: std::ops::RangeInclusive<f64> = 0.6..=1.3;

/// CPU time per operation on the two arms, with the error of the difference; microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spent {
    pub base_us: f64,
    pub arm_us: f64,
    pub error_us: f64,
}

impl Spent {
    pub(super) fn change_us(&self) -> f64 {
        self.arm_us - self.base_us
    }

    fn is_beyond(&self, errors: f64) -> bool {
        self.change_us().abs() > errors * self.error_us
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub name: String,
    pub spent: Spent,
}

/// Cost that went from some functions to others while what calls them costs the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moved {
    pub within: String,
    pub from: Vec<Changed>,
    pub to: Vec<Changed>,
}

/// Everything that two profiles differ in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changes {
    /// Functions whose own cost changed and did not come from or go to a neighbour; the largest change first.
    pub functions: Vec<Changed>,
    pub moved: Vec<Moved>,
    /// The narrowest function that has, with what it calls, most of the change.
    pub place: Option<Changed>,
    pub kernel: Spent,
}

/// Two profiles and what their samples stand for.
pub(super) struct Pair<'a> {
    pub base: &'a Stacks,
    pub arm: &'a Stacks,
    /// CPU time of sessions per operation, microseconds.
    pub base_us_per_op: f64,
    pub arm_us_per_op: f64,
    /// Whether the stacks reach beyond the innermost frame.
    pub has_callers: bool,
}

impl Pair<'_> {
    pub(super) fn changes(&self) -> Changes {
        let names: BTreeSet<&String> = self.base.functions.keys().chain(self.arm.functions.keys()).collect();
        let mut functions: Vec<Changed> = names
            .iter()
            .map(|name| Changed { name: (**name).clone(), spent: self.spent(name, |function| function.own) })
            .filter(|changed| self.is_change(&changed.spent))
            .collect();
        if !self.has_callers {
            // Nothing tells a new function from one that has another name now.
            functions.retain(|changed| self.is_known(&changed.name));
        }
        let moved = if self.has_callers { self.moved(&mut functions) } else { Vec::new() };
        functions.sort_by(|a, b| b.spent.change_us().abs().total_cmp(&a.spent.change_us().abs()));
        let place = if self.has_callers { self.place(&names) } else { None };
        Changes { functions, moved, place, kernel: self.of_samples(self.base.kernel, self.arm.kernel) }
    }

    fn is_change(&self, spent: &Spent) -> bool {
        spent.is_beyond(ERRORS_MIN) && spent.change_us().abs() >= SHARE_MIN * self.base_us_per_op
    }

    fn spent(&self, name: &str, samples: fn(&Function) -> u64) -> Spent {
        let of = |stacks: &Stacks| stacks.functions.get(name).map_or(0, samples);
        self.of_samples(of(self.base), of(self.arm))
    }

    fn of_samples(&self, base: u64, arm: u64) -> Spent {
        let of = |samples: u64, all: u64, us_per_op: f64| {
            let all = all.max(1) as f64;
            let share = samples as f64 / all;
            let smoothed = ((samples as f64 + 1.0) / (all + 1.0)).min(1.0);
            (share * us_per_op, (smoothed * (1.0 - smoothed) / all).sqrt() * us_per_op)
        };
        let (base_us, base_error) = of(base, self.base.samples, self.base_us_per_op);
        let (arm_us, arm_error) = of(arm, self.arm.samples, self.arm_us_per_op);
        Spent { base_us, arm_us, error_us: base_error.hypot(arm_error) }
    }

    /// Takes out of `functions` those whose surroundings did not change along, and tells which of them moved within.
    fn moved(&self, functions: &mut Vec<Changed>) -> Vec<Moved> {
        let mut moved: BTreeMap<String, (Vec<Changed>, Vec<Changed>)> = BTreeMap::new();
        functions.retain(|changed| {
            // Without anything in common nothing tells it from a function that has another name now.
            let Some(around) = self.around(changed) else { return false };
            let whole = self.spent(around, |function| function.with_called);
            let change = changed.spent.change_us();
            if whole.change_us() / change >= ALONG {
                return true;
            }
            if whole.change_us().abs() <= AS_BEFORE * change.abs() && whole.error_us <= ALONG * change.abs() {
                let (from, to) = moved.entry(around.clone()).or_default();
                (if change > 0.0 { to } else { from }).push(changed.clone());
            }
            false
        });
        let both = moved.into_iter().filter(|(_, (from, to))| !from.is_empty() && !to.is_empty());
        both.map(|(within, (from, to))| Moved { within, from, to }).collect()
    }

    /// Whether both profiles have the function often enough for comparing it with itself.
    fn is_known(&self, name: &str) -> bool {
        let samples = |stacks: &Stacks| stacks.functions.get(name).map_or(0, |its| its.with_called);
        samples(self.base).min(samples(self.arm)) >= KNOWN_SAMPLES
    }

    /// The narrowest function that both profiles have and that most of the function's samples are below, or itself.
    fn around(&self, changed: &Changed) -> Option<&String> {
        let function = self.of_larger(&changed.name, &changed.spent)?;
        let samples = |stacks: &Stacks, name: &str| {
            stacks.functions.get(name).map_or(0, |function| function.with_called)
        };
        let is_around = |name: &str, below: u64| {
            below as f64 >= MOSTLY * function.own as f64 && is_named(name) && self.is_known(name)
        };
        function
            .below
            .iter()
            .filter(|(name, below)| is_around(name, **below))
            .map(|(name, _)| name)
            .min_by_key(|name| samples(self.base, name) + samples(self.arm, name))
    }

    /// The function in the profile in which it costs more.
    fn of_larger(&self, name: &str, spent: &Spent) -> Option<&Function> {
        let stacks = if spent.change_us() > 0.0 { self.arm } else { self.base };
        stacks.functions.get(name)
    }

    /// The function that has most of the change and least else.
    fn place(&self, names: &BTreeSet<&String>) -> Option<Changed> {
        let change = self.arm_us_per_op - self.base_us_per_op;
        let larger = |spent: &Spent| spent.base_us.max(spent.arm_us);
        let widest_us = PLACE_WIDTH_MAX * self.base_us_per_op.max(self.arm_us_per_op);
        let has_most = |spent: &Spent| {
            spent.is_beyond(ERRORS_MIN)
                && PLACE_SHARE.contains(&(spent.change_us() / change))
                && larger(spent) <= widest_us
        };
        names
            .iter()
            .filter(|name| is_named(name) && self.is_known(name))
            .map(|name| Changed {
                name: (**name).clone(),
                spent: self.spent(name, |function| function.with_called),
            })
            .filter(|changed| has_most(&changed.spent))
            .min_by(|a, b| larger(&a.spent).total_cmp(&larger(&b.spent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(base: &str, arm: &str, arm_us_per_op: f64) -> Changes {
        let (base, arm) = (Stacks::parse(base), Stacks::parse(arm));
        Pair { base: &base, arm: &arm, base_us_per_op: 100.0, arm_us_per_op, has_callers: true }.changes()
    }

    fn names(changed: &[Changed]) -> Vec<&str> {
        changed.iter().map(|changed| changed.name.as_str()).collect()
    }

    const BASE: &str = "backend;main;exec;scan;hash_search 1000\nbackend;main;exec;scan;compare 2000\n\
                        backend;main;exec;eval 3000\nbackend;main;plan 4000\n";

    #[test]
    fn the_function_that_costs_more_is_found_and_its_neighbours_are_not() {
        // 20 us more in hash_search: every other function's share falls, its cost does not.
        let arm = BASE.replace("hash_search 1000", "hash_search 3000");
        let found = changes(BASE, &arm, 120.0);
        assert_eq!(names(&found.functions), ["hash_search"]);
        let spent = found.functions[0].spent;
        assert!((spent.base_us - 10.0).abs() < 1e-9 && (spent.arm_us - 30.0).abs() < 1e-9, "{spent:?}");
        assert!(found.moved.is_empty());
        assert_eq!(found.place.unwrap().name, "hash_search");
    }

    #[test]
    fn a_change_spread_below_one_function_has_its_place_there() {
        let stacks = |each: u64| -> String {
            let of = |at: usize| format!("backend;main;plan;step{at} {each}\n");
            (0..60).map(of).collect::<String>() + "backend;main;exec 6000\n"
        };
        let found = changes(&stacks(100), &stacks(130), 115.0);
        assert_eq!(found.place.unwrap().name, "plan");
    }

    #[test]
    fn cost_that_moves_below_a_caller_that_stays_the_same_is_no_change() {
        let arm = BASE.replace("scan;hash_search 1000", "scan;lookup 990");
        let found = changes(BASE, &arm, 100.0);
        assert!(found.functions.is_empty(), "{:?}", found.functions);
        let [moved] = &found.moved[..] else { panic!("{:?}", found.moved) };
        assert_eq!(
            (moved.within.as_str(), names(&moved.from), names(&moved.to)),
            ("scan", vec!["hash_search"], vec!["lookup"])
        );
    }

    #[test]
    fn a_callee_that_was_inlined_is_found_in_its_caller() {
        let arm = BASE.replace("scan;hash_search 1000", "scan 1010");
        let found = changes(BASE, &arm, 100.0);
        assert!(found.functions.is_empty());
        assert_eq!(names(&found.moved[0].to), ["scan"]);
    }

    #[test]
    fn what_rises_without_its_caller_staying_the_same_did_not_move() {
        let arm = BASE.replace("scan;hash_search 1000", "scan;lookup 3000");
        let found = changes(BASE, &arm, 120.0);
        assert!(found.moved.is_empty());
        assert_eq!(names(&found.functions), ["lookup"]);
    }

    #[test]
    fn functions_that_were_split_and_renamed_are_not_blamed_for_a_change_elsewhere() {
        // 19 renames a scan and splits it in two; planning takes 20 us more.
        let base = "backend;main;exec;next;block;visible 3000\nbackend;main;exec;next;block 3000\nbackend;main;exec 50\nbackend;main;plan 4000\n";
        let arm = "backend;main;exec;next;stream;visible 3000\nbackend;main;exec;next;stream;buffer 1500\n\
                   backend;main;exec;next;stream 1500\nbackend;main;exec 50\nbackend;main;plan 6000\n";
        let found = changes(base, arm, 120.0);
        assert_eq!(names(&found.functions), ["plan"]);
        assert_eq!(found.place.map(|place| place.name), Some("plan".to_owned()));
        let [moved] = &found.moved[..] else { panic!("{:?}", found.moved) };
        assert_eq!(
            (moved.within.as_str(), names(&moved.from), names(&moved.to)),
            ("next", vec!["block"], vec!["buffer", "stream"])
        );
    }

    #[test]
    fn sampling_alone_changes_nothing() {
        // Shares that differ by two standard errors: 0.1 of 1,000 samples has an error of 0.0095.
        let base = "backend;main;a 100\nbackend;main;b 900\n";
        let arm = "backend;main;a 120\nbackend;main;b 880\n";
        let found = changes(base, arm, 100.0);
        assert_eq!((found.functions.len(), found.moved.len()), (0, 0));
        let rare = changes("backend;main;b 1000\n", "backend;main;a 8\nbackend;main;b 992\n", 100.0);
        assert!(rare.functions.is_empty(), "eight samples are not enough: {:?}", rare.functions);
    }
}
