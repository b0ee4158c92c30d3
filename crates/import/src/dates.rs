//! Dates as programs print them, in milliseconds since 1970 (UTC).

use std::time::UNIX_EPOCH;

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

#[cfg(test)]
mod tests {
    use super::*;

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
