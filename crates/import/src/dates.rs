//! Dates as programs print them and names have them, in milliseconds since 1970 (UTC).

use std::path::Path;
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

/// Without dates and times such as `2025-11-08`, `20251108T1405`, `2025-11-08_14:05:31` and `14:05:31`.
pub fn without_dates(text: &str) -> String {
    parts(text).into_iter().filter(|(_, is_date)| !is_date).map(|(part, _)| part).collect()
}

/// The dates in a text, with their times.
pub fn dates(text: &str) -> Vec<&str> {
    // Not times alone.
    let is_date = |part: &&str| part.bytes().take(4).all(|byte| byte.is_ascii_digit());
    parts(text).into_iter().filter(|(_, is_date)| *is_date).map(|(part, _)| part).filter(is_date).collect()
}

/// A text in parts, each with whether it is a date with its time.
pub fn parts(text: &str) -> Vec<(&str, bool)> {
    let bytes = text.as_bytes();
    let digits = |at: usize, count: usize| {
        let part = bytes.get(at..at + count)?;
        part.iter().all(u8::is_ascii_digit).then(|| &text[at..at + count])
    };
    let separator = |at: usize| usize::from(bytes.get(at).is_some_and(|byte| b"-_.:T ".contains(byte)));
    let date = |at: usize| {
        let year = digits(at, 4).filter(|year| year.starts_with("20") || year.starts_with("19"))?;
        let month_at = at + year.len() + separator(at + 4);
        let month = digits(month_at, 2).filter(|month| (1..=12).contains(&month.parse().unwrap_or(0)))?;
        let day_at = month_at + month.len() + separator(month_at + 2);
        digits(day_at, 2).filter(|day| (1..=31).contains(&day.parse().unwrap_or(0)))?;
        let mut end = day_at + 2;
        // Hours, minutes, seconds.
        for _ in 0..3 {
            let next = end + separator(end);
            if digits(next, 2).is_none() || digits(next, 3).is_some() && digits(next, 4).is_none() {
                break;
            }
            end = next + 2;
        }
        Some(end)
    };
    // `10:16:00`, `10:16` or `10h16`.
    let time = |at: usize| {
        let below =
            |at: usize, limit: u32| digits(at, 2).is_some_and(|two| two.parse().unwrap_or(limit) < limit);
        let follows = |at: usize| bytes.get(at).is_some_and(|sign| b":h".contains(sign)) && below(at + 1, 60);
        (below(at, 24) && follows(at + 2)).then(|| if follows(at + 5) { at + 8 } else { at + 5 })
    };
    let date = |at: usize| date(at).or_else(|| time(at));
    let (mut all, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = text[at..].chars().next() {
        let is_start = at == 0 || !bytes[at - 1].is_ascii_digit();
        match date(at).filter(|end| is_start && !bytes.get(*end).is_some_and(u8::is_ascii_digit)) {
            Some(end) => {
                all.extend([(&text[from..at], false), (&text[at..end], true)]);
                (from, at) = (end, end);
            }
            None => at += c.len_utf8(),
        }
    }
    all.push((&text[from..], false));
    all
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
