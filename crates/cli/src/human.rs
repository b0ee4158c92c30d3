//! Sizes, ages and times in readable form.

use rqps_plan::estimate::duration_text;

/// `5.3 kB`, `17 MB`: two or three digits.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            let decimals = usize::from(unit != "B" && value < 9.95);
            return format!("{value:.decimals$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// How long ago, in the largest unit: `now`, `40 s`, `5 min`, `3 h`, `12 d`.
pub fn age(from_ms: i64, now_ms: i64) -> String {
    let seconds = (now_ms - from_ms) / 1000;
    match seconds {
        ..=1 => "now".to_owned(),
        2..=89 => format!("{seconds} s"),
        90..=5_399 => format!("{} min", (seconds + 30) / 60),
        5_400..=129_599 => format!("{} h", (seconds + 1_800) / 3_600),
        _ => format!("{} d", (seconds + 43_200) / 86_400),
    }
}

/// `2026-11-22 01:14`.
pub fn utc_minute(at_ms: i64) -> String {
    utc(at_ms).chars().take(16).collect()
}

/// `2026-11-22 01:14:36`.
pub fn utc(at_ms: i64) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at_ms.max(0) as u64);
    humantime::format_rfc3339_seconds(at).to_string().replace('T', " ").replace('Z', "")
}

/// The time between two moments: `13 min 38 s`.
pub fn elapsed(from_ms: i64, to_ms: i64) -> String {
    duration_text((to_ms - from_ms) as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_keep_two_digits_or_three() {
        let sizes = [0, 999, 1_000, 9_949, 9_950, 17_400_000, 999_600_000, 3_000_000_000_000].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "17 MB", "1.0 GB", "3.0 TB"]);
        let ages = [0, 45, 600, 7_200, 200_000].map(|seconds| age(0, seconds * 1000));
        assert_eq!(ages, ["now", "45 s", "10 min", "2 h", "2 d"]);
        assert_eq!(
            (utc(1_785_420_903_999), utc_minute(0)),
            ("2026-07-30 14:15:03".into(), "1970-01-01 00:00".into())
        );
    }
}
