//! Dates as programs print them, in milliseconds since 1970 (UTC).

use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::path_classes::dates;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Mon Sep  1 02:15:17 AM UTC 2025`, `Tue Mar  4 22:42:48 2025`: as the command `date` prints. Without a zone it
/// counts as UTC; dates of other zones are unknown.
pub fn of_date_command(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (month, day, time, rest) = match words.as_slice() {
        [_, month, day, time, rest @ ..] => (month, day, time, rest),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| name == month)? + 1;
    let year: u32 = rest.last()?.parse().ok()?;
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (mut hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    match *rest.first()? {
        "AM" => hour %= 12,
        "PM" => hour = hour % 12 + 12,
        _ => {}
    }
    let is_known_zone =
        |word: &&str| matches!(*word, "AM" | "PM" | "UTC" | "GMT") || word.parse::<u32>().is_ok();
    rest.iter().all(is_known_zone).then_some(())?;
    let day: u32 = day.parse().ok()?;
    of_iso(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

/// `2025-12-22T22:23:46`, in UTC.
pub fn of_iso(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches('Z');
    let at = humantime::parse_rfc3339(&format!("{text}Z")).ok()?;
    i64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// The date that a file's name tells, else the nearest directory's: `head-2026-11-09.log`, `20261127_110000/head.log`.
/// Of which zone nobody knows: it only tells what came first.
pub fn of_path(path: &Path) -> Option<i64> {
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let of_name = |name: String| {
        let digits: String = dates(&name).last()?.chars().filter(char::is_ascii_digit).collect();
        let part = |at: usize| digits.get(at..at + 2).unwrap_or("00");
        let (year, month, day) = (digits.get(..4)?, part(4), part(6));
        of_iso(&format!("{year}-{month}-{day}T{}:{}:{}", part(8), part(10), part(12)))
    };
    path.ancestors().filter_map(name).find_map(of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_dates() {
        for (path, date) in [
            ("a/head-2026-11-09.log", Some("2026-11-09T00:00:00")),
            ("2026-10-01/head-20261127_110001.log", Some("2026-11-27T11:00:01")),
            ("2026-11-09_14:05/head.log", Some("2026-11-09T14:05:00")),
            ("a/head-20261345.log", None),
        ] {
            assert_eq!(of_path(Path::new(path)), date.and_then(of_iso), "{path}");
        }
    }

    #[test]
    fn dates_with_twelve_and_twenty_four_hours() {
        assert_eq!(of_date_command("Mon Sep  1 02:15:17 AM UTC 2025"), of_iso("2025-09-01T02:15:17"));
        assert_eq!(of_date_command("Mon Sep  1 12:15:17 AM UTC 2025"), of_iso("2025-09-01T00:15:17"));
        assert_eq!(of_date_command("Mon Sep  1 12:15:17 PM UTC 2025"), of_iso("2025-09-01T12:15:17"));
        assert_eq!(of_date_command("Tue Mar  4 22:42:48 2025"), Some(1_741_128_168_000));
        for text in ["Tue Mar  4 22:42:48 CET 2025", "", "Tue Mar 40 22:42:48 2025", "Tue Foo 4 1:2:3 2025"] {
            assert_eq!(of_date_command(text), None, "{text}");
        }
    }
}
