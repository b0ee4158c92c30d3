//! Which functions take a different part of an operation's CPU time in two profiles, and which only took over
//! time from a neighbour.
//!
//! The standard error of a function's share p of n samples is sqrt(p (1 - p) / n). One sample is added, so
//! that a function without samples still has an error.
//!
//! Versions split, rename and inline functions. A function's cost changed only if the cost of its narrowest
//! enclosing function that both profiles have, callees included, changed too. If that stayed the same, cost
//! moved within it (the cost domains of FBDetect, SOSP 2024).

use std::collections::{BTreeMap, BTreeSet};

use super::stacks::{Function, Stacks, is_kernel, is_named};

/// A function with more than this share of the CPU time is too general to be a place: the main loop, the
/// executor.
const PLACE_WIDTH_MAX: f64 = 0.6;
/// Minimum change of a function in standard errors; high because there are thousands of functions.
const ERRORS_MIN: f64 = 4.0;
/// Minimum change as a share of base's CPU time.
const SHARE_MIN: f64 = 0.005;
/// The enclosing function changed too if by at least this share of the function's change; it is unchanged if
/// by at most that share. In between, nothing is concluded.
const CHANGED_TOO: f64 = 0.5;
const UNCHANGED: f64 = 0.3;
/// Minimum samples in both profiles for a function to be compared.
const COMPARABLE_SAMPLES: u64 = 10;
/// Minimum share of a function's samples that are under an enclosing function.
const MOSTLY: f64 = 0.8;
/// Share of the change that a function, callees included, must have to be named as its place. Above 1.3, the
/// function was wrapped around others.
const PLACE_SHARE: std::ops::RangeInclusive<f64> = 0.6..=1.3;

/// CPU time per operation on the two arms and the standard error of the difference; microseconds.
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

    fn exceeds(&self, errors: f64) -> bool {
        self.change_us().abs() > errors * self.error_us
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub name: String,
    pub spent: Spent,
}

/// Cost that moved between functions whose common caller costs the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moved {
    pub within: String,
    pub from: Vec<Changed>,
    pub to: Vec<Changed>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changes {
    /// Functions whose own cost changed without moving from or to a neighbour; largest change first.
    pub functions: Vec<Changed>,
    pub moved: Vec<Moved>,
    /// The narrowest function that has, callees included, most of the change.
    pub place: Option<Changed>,
    pub kernel: Spent,
}

impl Changes {
    /// Without functions of the kernel: how long it takes to write files and to fill memory differs from one pass
    /// to the next, between equal arms as well.
    pub fn of_programs(mut self) -> Self {
        self.functions.retain(|changed| !is_kernel(&changed.name));
        self
    }
}

/// Two profiles with the CPU time that they represent.
pub(super) struct Pair<'a> {
    pub base: &'a Stacks,
    pub arm: &'a Stacks,
    /// CPU time of sessions per operation, microseconds.
    pub base_us_per_op: f64,
    pub arm_us_per_op: f64,
    /// Whether stacks have more than the innermost frame.
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
            // Without callers, a new function cannot be distinguished from a renamed one.
            functions.retain(|changed| self.is_comparable(&changed.name));
        }
        let moved = if self.has_callers { self.moved(&mut functions) } else { Vec::new() };
        functions.sort_by(|a, b| b.spent.change_us().abs().total_cmp(&a.spent.change_us().abs()));
        let place = if self.has_callers { self.place(&names) } else { None };
        Changes { functions, moved, place, kernel: self.spent_by_samples(self.base.kernel, self.arm.kernel) }
    }

    fn is_change(&self, spent: &Spent) -> bool {
        spent.exceeds(ERRORS_MIN) && spent.change_us().abs() >= SHARE_MIN * self.base_us_per_op
    }

    fn spent(&self, name: &str, samples: fn(&Function) -> u64) -> Spent {
        let of = |stacks: &Stacks| stacks.functions.get(name).map_or(0, samples);
        self.spent_by_samples(of(self.base), of(self.arm))
    }

    fn spent_by_samples(&self, base: u64, arm: u64) -> Spent {
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

    /// Removes from `functions` those whose enclosing function did not change too, and returns those that
    /// moved within it.
    fn moved(&self, functions: &mut Vec<Changed>) -> Vec<Moved> {
        let mut moved: BTreeMap<String, (Vec<Changed>, Vec<Changed>)> = BTreeMap::new();
        functions.retain(|changed| {
            // Without a common enclosing function, a new function cannot be distinguished from a renamed one.
            let Some(enclosing) = self.enclosing(changed) else { return false };
            let whole = self.spent(enclosing, |function| function.with_callees);
            let change = changed.spent.change_us();
            if whole.change_us() / change >= CHANGED_TOO {
                return true;
            }
            // The kernel's functions aren't renamed: what they took less time for did not move out of them.
            let user = self.spent(enclosing, |function| function.in_user_space);
            if !is_kernel(&changed.name) && user.change_us() / change >= CHANGED_TOO {
                return true;
            }
            if whole.change_us().abs() <= UNCHANGED * change.abs()
                && whole.error_us <= CHANGED_TOO * change.abs()
            {
                let (from, to) = moved.entry(enclosing.clone()).or_default();
                (if change > 0.0 { to } else { from }).push(changed.clone());
            }
            false
        });
        let both = moved.into_iter().filter(|(_, (from, to))| !from.is_empty() && !to.is_empty());
        both.map(|(within, (from, to))| Moved { within, from, to }).collect()
    }

    /// Whether both profiles have enough samples of the function to compare them.
    fn is_comparable(&self, name: &str) -> bool {
        total_samples(self.base, name).min(total_samples(self.arm, name)) >= COMPARABLE_SAMPLES
    }

    /// The narrowest function in both profiles that most of the function's samples are under; may be the
    /// function itself.
    fn enclosing(&self, changed: &Changed) -> Option<&String> {
        let function = self.in_costlier_profile(&changed.name, &changed.spent)?;
        let encloses = |name: &str, below: u64| {
            below as f64 >= MOSTLY * function.own as f64 && is_named(name) && self.is_comparable(name)
        };
        function
            .by_caller
            .iter()
            .filter(|(name, below)| encloses(name, **below))
            .map(|(name, _)| name)
            .min_by_key(|name| total_samples(self.base, name) + total_samples(self.arm, name))
    }

    /// The function in the profile in which it costs more.
    fn in_costlier_profile(&self, name: &str, spent: &Spent) -> Option<&Function> {
        let stacks = if spent.change_us() > 0.0 { self.arm } else { self.base };
        stacks.functions.get(name)
    }

    /// The function that has most of the change and the least other cost.
    fn place(&self, names: &BTreeSet<&String>) -> Option<Changed> {
        let change = self.arm_us_per_op - self.base_us_per_op;
        let larger = |spent: &Spent| spent.base_us.max(spent.arm_us);
        let widest_us = PLACE_WIDTH_MAX * self.base_us_per_op.max(self.arm_us_per_op);
        let has_most = |spent: &Spent| {
            spent.exceeds(ERRORS_MIN)
                && PLACE_SHARE.contains(&(spent.change_us() / change))
                && larger(spent) <= widest_us
        };
        names
            .iter()
            .filter(|name| is_named(name) && self.is_comparable(name))
            .map(|name| Changed {
                name: (**name).clone(),
                spent: self.spent(name, |function| function.with_callees),
            })
            .filter(|changed| has_most(&changed.spent))
            .min_by(|a, b| larger(&a.spent).total_cmp(&larger(&b.spent)))
    }
}

/// Samples in a function or its callees.
fn total_samples(stacks: &Stacks, name: &str) -> u64 {
    stacks.functions.get(name).map_or(0, |function| function.with_callees)
}

#[cfg(test)]
mod tests {
    use super::super::stacks::SESSIONS;
    use super::*;

    fn changes(base: &str, arm: &str, arm_us_per_op: f64) -> Changes {
        let (base, arm) = (Stacks::parse(base, &SESSIONS), Stacks::parse(arm, &SESSIONS));
        Pair { base: &base, arm: &arm, base_us_per_op: 100.0, arm_us_per_op, has_callers: true }.changes()
    }

    fn names(changed: &[Changed]) -> Vec<&str> {
        changed.iter().map(|changed| changed.name.as_str()).collect()
    }

    const BASE: &str = "backend;main;exec;scan;hash_search 1000\nbackend;main;exec;scan;compare 2000\n\
                        backend;main;exec;eval 3000\nbackend;main;plan 4000\n";

    #[test]
    fn only_the_function_that_costs_more_is_found() {
        // 20 us more in hash_search: the shares of all other functions fall, their costs do not.
        let arm = BASE.replace("hash_search 1000", "hash_search 3000");
        let found = changes(BASE, &arm, 120.0);
        assert_eq!(names(&found.functions), ["hash_search"]);
        let spent = found.functions[0].spent;
        assert!((spent.base_us - 10.0).abs() < 1e-9 && (spent.arm_us - 30.0).abs() < 1e-9, "{spent:?}");
        assert!(found.moved.is_empty());
        assert_eq!(found.place.unwrap().name, "hash_search");
    }

    #[test]
    fn place_of_a_spread_change_is_the_common_caller() {
        let stacks = |each: u64| -> String {
            let of = |at: usize| format!("backend;main;plan;step{at} {each}\n");
            (0..60).map(of).collect::<String>() + "backend;main;exec 6000\n"
        };
        let found = changes(&stacks(100), &stacks(130), 115.0);
        assert_eq!(found.place.unwrap().name, "plan");
    }

    #[test]
    fn cost_that_moves_within_an_unchanged_caller_is_no_change() {
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
    fn inlined_callee_moves_into_its_caller() {
        let arm = BASE.replace("scan;hash_search 1000", "scan 1010");
        let found = changes(BASE, &arm, 100.0);
        assert!(found.functions.is_empty());
        assert_eq!(names(&found.moved[0].to), ["scan"]);
    }

    #[test]
    fn cost_that_raises_its_caller_did_not_move() {
        let arm = BASE.replace("scan;hash_search 1000", "scan;lookup 3000");
        let found = changes(BASE, &arm, 120.0);
        assert!(found.moved.is_empty());
        assert_eq!(names(&found.functions), ["lookup"]);
    }

    #[test]
    fn what_the_kernel_took_less_time_for_hides_no_new_function() {
        let base =
            "backend;main;flush;write;copy_[k] 2000\nbackend;main;flush;add 3000\nbackend;main;exec 5000\n";
        let arm = "backend;main;flush;write;copy_[k] 900\nbackend;main;flush;add 3000\n\
                   backend;main;flush;compress 1000\nbackend;main;exec 5000\n";
        let found = changes(base, arm, 99.0);
        assert_eq!(names(&found.functions), ["copy_[k]", "compress"]);
        assert!(found.moved.is_empty());
    }

    #[test]
    fn split_and_renamed_functions_do_not_hide_a_change_elsewhere() {
        // Version 19 renames a scan and splits it in two; planning takes 20 us more.
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
    fn sampling_error_is_no_change() {
        // A difference of two standard errors: 0.1 of 1,000 samples has an error of 0.0095.
        let base = "backend;main;a 100\nbackend;main;b 900\n";
        let arm = "backend;main;a 120\nbackend;main;b 880\n";
        let found = changes(base, arm, 100.0);
        assert_eq!((found.functions.len(), found.moved.len()), (0, 0));
        let rare = changes("backend;main;b 1000\n", "backend;main;a 8\nbackend;main;b 992\n", 100.0);
        assert!(rare.functions.is_empty(), "eight samples are not enough: {:?}", rare.functions);
    }
}
