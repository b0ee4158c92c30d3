//! In which direction a difference moves the causes that it affects.

use super::rule::fits;
use crate::model::Cause;
use crate::settings::TIMES;
use rqps_model::size_bytes;

/// The direction in which causes move if a setting is switched on or raised, or a statement was run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// Either direction: it depends, or is unknown.
    Either,
    /// All increase.
    More,
    /// All decrease.
    Less,
    /// Some increase and some decrease; the rest can go either way.
    Each {
        /// These increase.
        more: &'static [Cause],
        /// These decrease.
        less: &'static [Cause],
    },
}

impl Way {
    /// Whether the arm has more of a cause, given whether the value rose; `None` if either is possible.
    pub fn is_more(self, cause: Cause, rose: Option<bool>) -> Option<bool> {
        let more = match self {
            Way::Either => return None,
            Way::More => true,
            Way::Less => false,
            Way::Each { more, .. } if more.contains(&cause) => true,
            Way::Each { less, .. } if less.contains(&cause) => false,
            Way::Each { .. } => return None,
        };
        rose.map(|rose| rose == more)
    }
}

/// Values in ascending order, for settings that are not simply off before on or small before large.
const ORDERS: [(&str, &[&str]); 8] = [
    ("synchronous_commit", &["off", "local", "remote_write", "on", "remote_apply"]),
    ("innodb_flush_log_at_trx_commit", &["0", "2", "1"]),
    ("session_replication_role", &["origin", "replica"]),
    ("track_functions", &["none", "pl", "all"]),
    ("log_statement", &["none", "ddl", "mod", "all"]),
    ("wal_level", &["minimal", "replica", "logical"]),
    ("*_min_messages", &["error", "warning", "notice", "log", "debug"]),
    ("innodb_doublewrite", &["off", "detect_only", "on"]),
];

/// Settings whose value is an interval: the larger, the rarer. The second field is the value that means
/// never.
const INTERVALS: [(&str, f64); 3] =
    [("log_min_duration_*", -1.0), ("long_query_time", -1.0), ("sync_binlog", 0.0)];

const OFF: [&str; 8] = ["off", "none", "no", "false", "disabled", "minimal", "0", "-1"];

/// Whether a setting was switched on or raised; `None` if unknown.
pub(super) fn rose(setting: &str, before: &str, after: &str) -> Option<bool> {
    if let Some((_, order)) = ORDERS.iter().find(|(pattern, _)| fits(pattern, setting)) {
        let place = |value: &str| {
            let value = value.to_lowercase();
            order.iter().position(|word| value == *word || word.len() > 3 && value.starts_with(word))
        };
        return differs(place(before)?, place(after)?);
    }
    if let Some((_, never)) = INTERVALS.iter().find(|(pattern, _)| fits(pattern, setting)) {
        let often = |value: &str| {
            number(value).map(|number| if number == *never { 0.0 } else { 1.0 / (1.0 + number) })
        };
        return differs(often(before)?, often(after)?);
    }
    match (number(before), number(after)) {
        (Some(before), Some(after)) => differs(before, after),
        _ => differs(!is_off(before), !is_off(after)),
    }
}

/// Whether a value means off.
pub(super) fn is_off(value: &str) -> bool {
    value.is_empty() || OFF.iter().any(|off| value.eq_ignore_ascii_case(off))
}

/// A Postgres timeout in microseconds; `None` if it cannot be parsed. Without a unit it is in milliseconds. A
/// negative limit is never reached.
pub(super) fn limit_us(value: &str) -> Option<f64> {
    match value.parse::<f64>() {
        Ok(ms) if ms < 0.0 => Some(f64::INFINITY),
        Ok(ms) => Some(ms * 1e3),
        Err(_) => number(value),
    }
}

fn differs<T: PartialOrd>(before: T, after: T) -> Option<bool> {
    (before != after).then(|| after > before)
}

fn number(value: &str) -> Option<f64> {
    let plain = value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(number) = plain.or_else(|| size_bytes(value, None).map(|bytes| bytes as f64)) {
        return Some(number);
    }
    let end = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let (_, size) = TIMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    number.trim().parse::<f64>().ok().map(|number| number * *size as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rise_of_a_value_follows_its_meaning() {
        for (setting, before, after, rises) in [
            ("track_commit_timestamp", "off", "on", Some(true)),
            ("track_commit_timestamp", "on", "off", Some(false)),
            ("synchronous_commit", "local", "on", Some(true)),
            ("synchronous_commit", "remote_apply", "on", Some(false)),
            ("innodb_flush_log_at_trx_commit", "2", "1", Some(true)),
            ("sync_binlog", "0", "1", Some(true)),
            ("sync_binlog", "1", "100", Some(false)),
            ("log_min_duration_statement", "-1", "0", Some(true)),
            ("log_min_duration_statement", "60s", "1ms", Some(true)),
            ("log_min_messages", "warning", "debug1", Some(true)),
            ("statement_timeout", "0", "60s", Some(true)),
            ("shared_buffers", "128MB", "1GB", Some(true)),
            ("checkpoint_timeout", "5min", "30s", Some(false)),
            ("wal_compression", "off", "pglz", Some(true)),
            ("wal_compression", "lz4", "pglz", None),
            ("shared_preload_libraries", "", "auto_explain", Some(true)),
            ("log_bin", "ON", "OFF", Some(false)),
        ] {
            assert_eq!(rose(setting, before, after), rises, "{setting}: {before} to {after}");
        }
    }

    #[test]
    fn limits_are_parsed_as_times() {
        assert_eq!(limit_us("60s"), Some(6e7));
        assert_eq!(limit_us("0"), Some(0.0));
        assert_eq!(limit_us("250ms"), Some(250_000.0));
        assert_eq!(limit_us("-1"), Some(f64::INFINITY));
    }
}
