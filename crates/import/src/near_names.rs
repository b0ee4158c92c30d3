//! Tests that may be one: their names differ in nothing but case and signs, and no arm has both. What has two names has
//! no ratio, and its course over versions ends where the name changed.

use std::collections::{BTreeMap, BTreeSet};

use crate::grouped::grouped;
use crate::placed::{Assembled, Doubt, Placed};

/// Names such tests, on the arm that has the second name.
pub fn examine(assembled: &Assembled) -> Vec<Doubt> {
    let arm = |one: &Placed| (&*assembled.steps[one.step].bare, one.arm);
    let arms_of: BTreeMap<&str, BTreeSet<usize>> = grouped(assembled.results.iter().map(arm));
    let alike: BTreeMap<String, Vec<&str>> = grouped(arms_of.keys().map(|name| (without_signs(name), *name)));
    let mut doubts = Vec::new();
    for names in alike.values() {
        for (at, one) in names.iter().enumerate() {
            for other in &names[at + 1..] {
                if arms_of[one].is_disjoint(&arms_of[other]) {
                    doubts.extend(doubt(assembled, (one, &arms_of[one]), (other, &arms_of[other])));
                }
            }
        }
    }
    doubts
}

/// On the arm that comes later.
fn doubt(
    assembled: &Assembled,
    one: (&str, &BTreeSet<usize>),
    other: (&str, &BTreeSet<usize>),
) -> Option<Doubt> {
    let ((before, of_before), (name, arms)) = if one.1 < other.1 { (one, other) } else { (other, one) };
    let (first, arm) = (*of_before.first()?, *arms.first()?);
    let arm_name = |arm: usize| &assembled.arms[arm].name;
    let is_of = |step: &&usize| assembled.steps[**step].bare == name;
    let steps: BTreeSet<usize> =
        assembled.results.iter().filter(|placed| placed.arm == arm).map(|placed| placed.step).collect();
    let text = format!(
        "{name} of {} may be {before} of {}: as their names differ, nothing compares them; name the test alike in all files",
        arm_name(arm),
        arm_name(first)
    );
    Some(Doubt { arm, steps: steps.iter().filter(is_of).copied().collect(), repeat: None, text })
}

/// `point_query` and `Point-Query` are `pointquery`; but `read.1.0` is not `read.10`.
fn without_signs(name: &str) -> String {
    let characters: Vec<char> = name.to_lowercase().chars().collect();
    let is_digit = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(char::is_ascii_digit);
    let is_kept = |(at, one): &(usize, &char)| {
        !matches!(one, '-' | '_' | '.' | ' ') || is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))
    };
    characters.iter().enumerate().filter(is_kept).map(|(_, one)| *one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_between_digits_are_kept() {
        assert_eq!(without_signs("Point_Query"), without_signs("point-query"));
        assert_eq!(without_signs("read only.v2"), without_signs("readonly-v2"));
        assert_ne!(without_signs("read.1.0"), without_signs("read.10"));
    }
}
