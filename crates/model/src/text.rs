//! Text helpers for messages and labels.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Display;

/// Levenshtein distance in characters.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

/// The longest word to compare with others: distances take time proportional to both lengths.
const WORD_BYTES_MAX: usize = 200;

/// The known word nearest to the written one, if it is near enough to be a typo, or the only one that this begins or
/// shortens.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let is_word = |text: &str| text.len() <= WORD_BYTES_MAX;
    if !is_word(written) {
        return None;
    }
    let written = written.to_lowercase();
    let known: Vec<&str> = known.into_iter().filter(|word| is_word(word)).collect();
    let typo = known
        .iter()
        .filter_map(|word| Some((typos(&written, &word.to_lowercase())?, *word)))
        .min_by_key(|(distance, _)| *distance);
    let only = |is_meant: fn(&str, &str) -> bool| {
        let meant = known.iter().copied().filter(|word| is_meant(&written, &word.to_lowercase()));
        match *meant.collect::<Vec<_>>().as_slice() {
            [only] => Some(only),
            _ => None,
        }
    };
    match typo {
        Some((0 | 1, word)) => Some(word),
        typo => only(begins).or(typo.map(|(_, word)| word)).or_else(|| only(shortens)),
    }
}

/// Whether a word goes on where the written one ends, which may be a plural: `lats` of `latency`.
fn begins(written: &str, word: &str) -> bool {
    const LETTERS_MIN: usize = 3;
    let start = written.strip_suffix('s').unwrap_or(written);
    start.len() >= LETTERS_MIN && word.starts_with(start)
}

/// How many letters differ, if few enough for typos: in all, and in each part between `_`. `query_cache_size` is no
/// typo of `host_cache_size`.
fn typos(written: &str, word: &str) -> Option<usize> {
    let allowed = 1 + written.chars().count() / 4;
    let distance = Some(edit_distance(written, word)).filter(|distance| *distance <= allowed)?;
    let parts = || written.split('_').zip(word.split('_'));
    let has_as_many = written.matches('_').count() == word.matches('_').count();
    // Two exchanged letters are two.
    let are_near = parts().all(|(a, b)| edit_distance(a, b) <= 2 + a.chars().count() / 4);
    (!has_as_many || are_near).then_some(distance)
}

/// Whether a word is another one without some letters, at most half of them.
fn shortens(written: &str, word: &str) -> bool {
    const LETTERS_MIN: usize = 4;
    let mut rest = word.chars();
    let is_long = written.len() >= LETTERS_MIN && 2 * written.len() >= word.len();
    is_long
        && word.chars().next() == written.chars().next()
        && written.chars().all(|c| rest.any(|of| of == c))
}

/// Known names that are the written one with more after a `_` are all meant, unless they are more than these.
const LONGER_MAX: usize = 4;

/// What an error adds about an unknown name: a question, if a known name is so near that this may be a typo of it, or
/// if it lacks the end of one: `read-only` of `read-only_range=10`.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let is_longer = |name: &&&str| name.strip_prefix(written).is_some_and(|rest| rest.starts_with('_'));
    let longer: Vec<String> =
        known.iter().filter(is_longer).map(|name| format!("`{name}`")).take(LONGER_MAX + 1).collect();
    match longer.as_slice() {
        [first @ .., last] if !first.is_empty() && longer.len() <= LONGER_MAX && !written.is_empty() => {
            Some(format!("Did you mean {} or {last}?", first.join(", ")))
        }
        _ => nearest(written, known).map(|name| format!("Did you mean `{name}`?")),
    }
}

/// What a message adds at its end about something unknown, if something is meant: `; did you mean auto_explain?`
pub fn if_meant(meant: Option<impl Display>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}

/// The text with a full stop, unless it ends as a sentence does.
pub fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{text}{end}")
}

/// The first 12 digits of a hash in hex: enough to distinguish builds, short enough for a table.
pub fn short_hash(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// A number with a separator between thousands: `1,000,000`.
pub fn grouped(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

/// A number with thousands separators and its noun, in the plural unless it is 1: `1 test`, `1,000 tests that can be
/// decided`.
pub fn counted(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let shown = grouped(number, ',');
    match (number, thing.split_once(' ')) {
        (1, _) => format!("1 {thing}"),
        (_, Some((noun, rest))) => format!("{shown} {} {rest}", plural(noun)),
        (_, None) => format!("{shown} {}", plural(thing)),
    }
}

/// A part of something counted: `3 of 7 verdicts`, `none of 7 verdicts`.
pub fn part_of(part: usize, whole: impl Display) -> String {
    if part == 0 { format!("none of {whole}") } else { format!("{part} of {whole}") }
}

fn plural(noun: &str) -> String {
    format!("{noun}{}", if noun.ends_with('s') { "es" } else { "s" })
}

/// Different numbers of a thing, sorted: `1 client`, `1, 8 and 32 clients`.
pub fn numbers_of(numbers: impl Iterator<Item = u32>, thing: &str) -> String {
    let numbers = numbers.collect::<BTreeSet<u32>>();
    let plural = if numbers.len() == 1 && numbers.contains(&1) { "" } else { "s" };
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let numbers = match &texts[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        all => all.concat(),
    };
    format!("{numbers} {thing}{plural}")
}

/// Replaces every character but ASCII letters, digits, `.` and `_` by `-`.
pub(crate) fn file_name_safe(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' }).collect()
}

/// The first `chars_max` characters, with an ellipsis if the text is longer.
pub fn clipped(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text in at most `width` characters, cut off with `…` if it is longer.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    Cow::Owned(format!("{}…", kept.trim_end()))
}

/// The text in at most `width` characters: its start and its end with `…` between them if it is longer; nothing if so
/// few would tell nothing.
pub fn without_middle(text: &str, width: usize) -> Cow<'_, str> {
    const TELLING: usize = 7;
    let length = text.chars().count();
    if length <= width {
        return Cow::Borrowed(text);
    }
    if width < TELLING {
        return Cow::Borrowed("");
    }
    let ends = width - 1;
    let start: String = text.chars().take(ends.div_ceil(2)).collect();
    let end: String = text.chars().skip(length - ends / 2).collect();
    Cow::Owned(format!("{start}…{end}"))
}

/// The bytes of a size as servers' configs and settings have it, `896MB`, `16kB`, `3G` or `1.5 GB`, in units of 1024;
/// `None` of other text. `without_unit` are the bytes that a number alone counts.
pub fn size_bytes(text: &str, without_unit: Option<u64>) -> Option<u64> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_of_number(c)).unwrap_or(text.len()));
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" => without_unit?,
        "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        _ => return None,
    };
    match number.contains('.') {
        true => number.parse::<f64>().ok().map(|number| (number * factor as f64) as u64),
        false => number.parse::<u64>().ok()?.checked_mul(factor),
    }
}

/// Orders names as people count: `run2` before `run10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (of_a, of_b) = (digits(a), digits(b));
        if of_a > 0 && of_b > 0 {
            let trim = |text: &str| text.trim_start_matches('0').to_owned();
            let (number_a, number_b) = (trim(&a[..of_a]), trim(&b[..of_b]));
            let order = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(&number_b));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[of_a..], &b[of_b..]);
            continue;
        }
        let (mut chars_a, mut chars_b) = (a.chars(), b.chars());
        match (chars_a.next(), chars_b.next()) {
            (None, None) => return Ordering::Equal,
            (of_a, of_b) if of_a != of_b => return of_a.cmp(&of_b),
            _ => (a, b) = (chars_a.as_str(), chars_b.as_str()),
        }
    }
}

/// A text that sorts as people count; those of one number, written differently, by their characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Natural<'a>(pub &'a str);

impl Ord for Natural<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        natural(self.0, other.0).then_with(|| self.0.cmp(other.0))
    }
}

impl PartialOrd for Natural<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["run10.log", "run2.log", "run02b", "run1.log", "a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "run1.log", "run2.log", "run02b", "run10.log"]);
        assert!(Natural("run2") < Natural("run10") && Natural("run2") != Natural("run02"));
    }

    #[test]
    fn what_is_cut_off_ends_with_an_ellipsis() {
        assert_eq!([cut("añb", 3), cut("añbc", 3), cut("a bcd", 3)], ["añb", "añ…", "a…"]);
    }

    #[test]
    fn one_has_no_s() {
        assert_eq!(counted(1_u8, "test"), "1 test");
        assert_eq!(counted(0_usize, "test"), "0 tests");
        assert_eq!(counted(3_u8, "pass"), "3 passes");
        assert_eq!(counted(2_000_u64, "test that can be decided"), "2,000 tests that can be decided");
    }

    #[test]
    fn a_name_without_its_end_may_mean_several() {
        let of = |written| {
            let known = ["read-only_range=10", "read-only_range=100", "read-write_range=10", "scan"];
            did_you_mean(written, known).unwrap_or_default()
        };
        assert_eq!(of("read-only"), "Did you mean `read-only_range=10` or `read-only_range=100`?");
        assert_eq!(of("read-write"), "Did you mean `read-write_range=10`?");
        assert_eq!([of("read"), of("")], [""; 2]);
    }

    #[test]
    fn sizes_have_units_of_any_case_or_none() {
        let bytes = |text| size_bytes(text, None);
        let sizes = ["16kB", "128MB", "3G", "1.5 GB", "2t", "7B"].map(bytes);
        let mib = 1 << 20;
        let expected = [16 << 10, 128 * mib, 3072 * mib, 1536 * mib, 2 << 40, 7];
        assert_eq!(sizes, expected.map(Some));
        assert_eq!(["128", "MB", "-1", "4 MB x", "1.2.3MB", "5min", ""].map(bytes), [None; 7]);
        assert_eq!(
            [size_bytes("16", Some(8192)), size_bytes("99999999999999999999", Some(1))],
            [Some(131_072), None]
        );
    }

    #[test]
    fn nearest_finds_typos_only() {
        let known = ["tables", "rows", "clients", "read_seconds", "write_seconds"];
        assert_eq!(nearest("row", known), Some("rows"));
        assert_eq!(nearest("talbes", known), Some("tables"));
        assert_eq!(nearest("READ_SECOND", known), Some("read_seconds"));
        assert_eq!(nearest("threads", known), None);
        assert_eq!(nearest("xx", known), None);
        assert_eq!(nearest("rdsecs", known), Some("read_seconds"));
        assert_eq!(nearest("lats", ["rates", "loads", "latency", "plans"]), Some("latency"));
        assert_eq!(
            nearest("rate", ["rates", "rate-limit"]),
            Some("rates"),
            "a typo of one letter comes first"
        );
        assert_eq!(nearest("lat", ["latency", "latch"]), None, "which of them?");
        assert_eq!(nearest("la", ["latency"]), None);
        assert_eq!(nearest("wsec", known), None, "less than half");
        assert_eq!(nearest("query_cache_size", ["host_cache_size"]), None, "another word");
        assert_eq!(nearest("host_cahce_size", ["host_cache_size"]), Some("host_cache_size"));
        assert_eq!(nearest("work_mme", ["work_mem"]), Some("work_mem"));
        assert_eq!(nearest("hostcache_size", ["host_cache_size"]), Some("host_cache_size"));
    }
}
