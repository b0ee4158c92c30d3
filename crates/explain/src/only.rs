//! The one thing that two arms differ in, where no figure tells how it acts: a fact, and no cause that was seen.

use crate::context::Context;
use crate::model::{Cause, Difference, DifferenceKind, Finding, Word};
use crate::settings::is_in_config;
use std::collections::BTreeSet;

/// Said of builds whose source is known.
const AT_COMMIT: &str = " at commit ";

/// Gives findings that explain nothing the only difference between the arms, if there is exactly one and no other
/// finding. Whether it did.
pub(crate) fn name(cx: &Context<'_>, differences: &[Difference], findings: &mut [Finding]) -> bool {
    let [one] = differences else { return false };
    let is_open = |finding: &Finding| finding.word == Word::NotExplained;
    // Little is known of imported arms.
    if findings.is_empty() || !findings.iter().all(is_open) || cx.run.meta.is_imported() || !is_only(cx, one)
    {
        return false;
    }
    let value = |value: &Option<String>| match value.as_deref() {
        None => "none".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) => value.to_owned(),
    };
    let fact = format!("{}: {} -> {}; no counter tells how", one.name, value(&one.base), value(&one.arm));
    for finding in findings {
        finding.word = Word::OnlyDifference;
        finding.sentence = match finding.cause {
            Cause::Unknown => fact.clone(),
            _ => format!("{fact}; {}", finding.sentence),
        };
    }
    true
}

/// Whether nothing else differs, not even what is not compared.
fn is_only(cx: &Context<'_>, one: &Difference) -> bool {
    let (base, arm) = (cx.base_arm(), cx.candidate());
    match one.kind {
        DifferenceKind::Setting | DifferenceKind::DefaultSetting => {
            base.build_hash == arm.build_hash
                && other_lines(&base.config_text, &arm.config_text, &one.name) == 0
        }
        DifferenceKind::Environment => {
            base.build_hash == arm.build_hash && base.config_hash == arm.config_hash
        }
        DifferenceKind::Build => {
            let words = |value: &Option<String>| value.as_ref().map_or(0, |value| value.split(' ').count());
            base.config_hash == arm.config_hash
                && base.build_origin == arm.build_origin
                && base.build_origin.contains(AT_COMMIT)
                && words(&one.base).max(words(&one.arm)) == 1
        }
        _ => false,
    }
}

/// How many lines only one of two configs has that do not set this option.
fn other_lines(base: &str, arm: &str, option: &str) -> usize {
    let lines = |text| -> BTreeSet<&str> {
        let lines = str::lines(text).map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    };
    let (base, arm) = (lines(base), lines(arm));
    base.symmetric_difference(&arm).filter(|line| !is_in_config(line, option)).count()
}

#[cfg(test)]
mod tests {
    use super::other_lines;

    #[test]
    fn a_line_of_another_option_is_another_difference() {
        let base = "# Config a\nfsync = on\nwork_mem = 4MB";
        let arm = "# Config b\nwork_mem = 8MB\nfsync = on";
        assert_eq!(other_lines(base, arm, "work_mem"), 0);
        assert_eq!(other_lines(base, &format!("{arm}\nport = 5"), "work_mem"), 1);
    }
}
