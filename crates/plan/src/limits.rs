//! All limits of plans, with the reason where it is not obvious.

use std::ops::RangeInclusive;

/// Arms in one plan, those of `[matrix]` included.
pub const ARMS_MAX: usize = 64;
/// Clients of one step: one thread and one connection each.
pub const CLIENTS: RangeInclusive<u64> = 1..=5_000;
pub const TABLES: RangeInclusive<u64> = 1..=10_000;
/// Rows per table. `id` is an int4, up to 2,147,483,647; the rest is reserved for rows added by the `insert` test.
/// Below 1,000 rows the 100 fixed keys of `hot-points` and the wider in-lists lose their meaning.
pub const ROWS: RangeInclusive<u64> = 1_000..=2_000_000_000;
/// Seconds of one measured window: at most a week.
pub const WINDOW_SECONDS: RangeInclusive<u64> = 1..=604_800;
/// Seconds of warm-up before a window; zero is allowed.
pub const WARMUP_SECONDS: RangeInclusive<f64> = 0.0..=3_600.0;
/// The cap of a settle step, in seconds: at most a day.
pub const SETTLE_SECONDS: RangeInclusive<u64> = 1..=86_400;
/// Operations of a step with fixed work, all clients together.
pub const EVENTS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Operations per second of a step with a given rate, all clients together.
pub const RATE_PER_SECOND: RangeInclusive<f64> = 0.001..=100_000_000.0;
/// Share of the rows that the `delete` test may remove.
pub const DELETE_SHARE: RangeInclusive<f64> = 0.001..=1.0;
/// Seeds: TOML's integers end at 2^63 - 1.
pub const SEED: RangeInclusive<u64> = 0..=i64::MAX as u64;
pub const PASSES: RangeInclusive<u64> = 1..=100;
/// Windows of a test on an arm in a block.
pub const WINDOWS: RangeInclusive<u64> = 1..=64;
/// Seconds of a window in a block. Below a tenth, reading the counters takes longer than the window.
pub const ISOLATED_WINDOW_SECONDS: RangeInclusive<f64> = 0.1..=3_600.0;
pub const BLOCKS: RangeInclusive<u64> = 1..=1_000;
/// Copies of a build.
pub const COPIES: RangeInclusive<u64> = 1..=16;
/// Seconds of a budget: at most 31 days.
pub const BUDGET_SECONDS: RangeInclusive<u64> = 1..=31 * 86_400;
/// Percent of a change that matters.
pub const MEI_PERCENT: RangeInclusive<f64> = 0.01..=50.0;
/// Seconds of sampling for a CPU profile: beyond ten minutes a profile shows nothing new.
pub const PROFILE_SECONDS: RangeInclusive<f64> = 0.5..=600.0;
/// Samples per second of CPU time. Beyond that, the sampling itself dominates the profile.
pub const PROFILE_FREQUENCY_HZ: RangeInclusive<f64> = 1.0..=10_000.0;
/// Characters of a plan's or an arm's name, which becomes a folder name.
pub const NAME_CHARS_MAX: usize = 100;
pub const STEPS_MAX: usize = 500;
/// Bytes of a plan file.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

/// The default cap of a settle step: 60 s and one more for each million rows, at most 1200 s.
pub fn settle_seconds_default(rows_total: u64) -> u32 {
    let seconds = 60 + rows_total.saturating_add(500_000) / 1_000_000;
    seconds.min(1_200) as u32
}

/// Whether a text is a valid folder name: letters, digits, `.`, `_`, `-`; begins with a letter or digit; not too long.
pub fn is_folder_name(name: &str) -> bool {
    name.len() <= NAME_CHARS_MAX
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The nearest valid folder name, for remedies and default names.
pub fn folder_name_from(text: &str) -> String {
    let safe =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' });
    let safe: String =
        safe.collect::<String>().trim_matches(['-', '.', '_']).chars().take(NAME_CHARS_MAX).collect();
    if safe.is_empty() { "unnamed".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settle_cap_follows_the_rows() {
        assert_eq!(settle_seconds_default(50_000_000), 110);
        assert_eq!(settle_seconds_default(80_000_000), 140);
        assert_eq!(settle_seconds_default(2_000_000_000), 1_200);
        assert_eq!(settle_seconds_default(u64::MAX), 1_200);
    }

    #[test]
    fn folder_names() {
        for good in ["pg17", "postgres-17.7.x10a_c8r32", "9"] {
            assert!(is_folder_name(good), "{good}");
        }
        for bad in ["", ".", "..", "-x", "a b", "a/b", "é", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert!(!is_folder_name(bad), "{bad}");
            assert!(is_folder_name(&folder_name_from(bad)), "{bad}");
        }
    }
}
