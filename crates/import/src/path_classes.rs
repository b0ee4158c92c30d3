//! Which paths name repeats of one result, and what tells the others apart.
//!
//! Paths are alike if they differ in numbers of repeats, dates, or numbers of processes only: `a/ro-1.txt` and
//! `a/ro-2.txt`, but not `a/ro-old.txt` and `a/ro-new.txt`, nor `14/ro/1.txt` and `15/ro/1.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::paths::stem;

/// Words that say that the number after them is that of a repeat.
const REPEATS: [&str; 11] =
    ["run", "runs", "rep", "repeat", "iteration", "iter", "round", "trial", "pass", "again", "rerun"];
/// Letters before the number of a directory of repeats.
const REPEAT_LETTERS: [char; 4] = ['v', 'V', 'r', 'R'];
/// Numbers of so many digits are times or processes.
const LONG: usize = 5;
/// At the end of a name, numbers of so many digits are of processes, shorter ones of repeats.
pub const PROCESS: usize = 3;
/// Options of pgbench before their values: clients, threads, scale, seconds.
const OPTIONS: [&str; 8] = ["c", "j", "s", "t", "C", "J", "S", "T"];

/// A piece of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// A word; repeats' words are empty.
    Text(String),
    Number {
        digits: String,
        /// Whether it counts repeats wherever it stands: at the end of the file's name, as long as a time, or after a
        /// word for repeats.
        is_free: bool,
        /// Whether it follows a word for repeats.
        is_told: bool,
        place: Place,
    },
}

/// Where a number stands: whether it counts repeats if it counts from 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A directory that is called so, or `v1`, `r1`: it does, together with all such directories.
    Directory,
    /// In the name of a directory, or before the number of a repeat in that of a file: it does not.
    Elsewhere,
    /// In the name of a file: it does, together with those in the same place.
    InFile,
}

/// The classes of paths, in their order: paths of one class are alike. `all` are those of all arms: the first repeat
/// may be missing on one.
pub fn classes(paths: &[&Path], all: &[&Path]) -> Vec<String> {
    let pieces: Vec<Vec<Piece>> = paths.iter().map(|path| pieces(path)).collect();
    let shape = |pieces: &[Piece]| -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Number { .. } => "#".to_owned(),
        };
        pieces.iter().map(text).collect()
    };
    let mut of_shape: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, pieces) in pieces.iter().enumerate() {
        of_shape.entry(shape(pieces)).or_default().push(index);
    }
    let of_all: Vec<Vec<Piece>> = all.iter().map(|path| self::pieces(path)).collect();
    let are_counted = counts(&directories_apart(&pieces)) || counts(&directories_apart(&of_all));
    let mut of_files: BTreeMap<(String, usize), BTreeSet<&str>> = BTreeMap::new();
    for pieces in &of_all {
        let file = &pieces[file_at(pieces)..];
        for (at, piece) in file.iter().enumerate() {
            if let Piece::Number { digits, .. } = piece {
                of_files.entry((shape(file), at)).or_default().insert(digits);
            }
        }
    }
    let counts_in_all = |pieces: &[Piece], at: usize| {
        let start = file_at(pieces);
        of_files.get(&(shape(&pieces[start..]), at - start)).is_some_and(counts)
    };
    let are_repeats = are_counted && have_names_in_common(paths);
    let apart = apart(&of_all, shape);
    let mut classes = vec![String::new(); paths.len()];
    for members in of_shape.values() {
        // The numbers in the same place of all.
        let mut values: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for member in members {
            for (at, piece) in pieces[*member].iter().enumerate() {
                if let Piece::Number { digits, .. } = piece {
                    values.entry(at).or_default().insert(digits);
                }
            }
        }
        for member in members {
            for (at, piece) in pieces[*member].iter().enumerate() {
                match piece {
                    Piece::Text(text) => classes[*member].push_str(text),
                    Piece::Number { digits, place: Place::InFile, .. }
                        if are_repeats && ends_word(&pieces[*member][..at], digits) =>
                    {
                        classes[*member].push_str(digits);
                    }
                    Piece::Number { digits, .. } if apart.contains(&(shape(&pieces[*member]), at)) => {
                        classes[*member].push_str(digits);
                    }
                    Piece::Number { is_free: true, .. } => {}
                    Piece::Number { place: Place::Directory, .. } if are_counted => {}
                    Piece::Number { place: Place::InFile, .. }
                        if counts(&values[&at]) || counts_in_all(&pieces[*member], at) => {}
                    Piece::Number { digits, .. } => classes[*member].push_str(digits),
                }
            }
        }
    }
    // Without what only stands around the numbers of repeats.
    let parts = |class: &String| -> Vec<String> { class.split('/').map(trimmed).collect() };
    classes
        .iter()
        .map(|class| parts(class).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
        .collect()
}

/// Numbers of repeats, each with another number of the path.
type Pairs<'a> = BTreeSet<(Vec<&'a str>, &'a str)>;

/// Places of numbers that are no repeat's, since another number of the path is: 1 and 2 of `run1-patch1`,
/// `run1-patch2`, `run2-patch1`, but not those of `run1/ro-1`, `run2/ro-2`.
fn apart(all: &[Vec<Piece>], shape: impl Fn(&[Piece]) -> String) -> BTreeSet<(String, usize)> {
    let mut of_place: BTreeMap<(String, usize), Pairs> = BTreeMap::new();
    for pieces in all {
        let repeat = told(pieces);
        for (at, piece) in pieces.iter().enumerate() {
            if let Piece::Number { digits, is_told: false, place: Place::InFile, .. } = piece
                && digits.len() < LONG
                && !repeat.is_empty()
            {
                of_place.entry((shape(pieces), at)).or_default().insert((repeat.clone(), digits));
            }
        }
    }
    let are_apart = |pairs: &Pairs| {
        let repeats: BTreeSet<&Vec<&str>> = pairs.iter().map(|(repeat, _)| repeat).collect();
        let values: BTreeSet<&str> = pairs.iter().map(|(_, value)| *value).collect();
        // Numbers of processes differ within a repeat, too.
        let may_be_processes = values.iter().any(|value| value.len() >= PROCESS);
        repeats.len() > 1 && (values.len() < pairs.len() || !may_be_processes && repeats.len() < pairs.len())
    };
    of_place.into_iter().filter(|(_, pairs)| are_apart(pairs)).map(|(place, _)| place).collect()
}

/// The numbers after words for repeats.
fn told(pieces: &[Piece]) -> Vec<&str> {
    let number = |piece| match piece {
        &Piece::Number { ref digits, is_told: true, .. } => Some(digits.as_str()),
        _ => None,
    };
    pieces.iter().filter_map(number).collect()
}

/// The numbers of a path that follow words for repeats: 3 of `run3-patch1`.
pub fn numbers_of_repeats(path: &Path) -> Vec<String> {
    told(&pieces(path)).into_iter().map(plain).collect()
}

/// Whether a path tells its repeat elsewhere than at its end.
pub fn tells_repeat_before(path: &Path) -> bool {
    let pieces = pieces(path);
    let is_number = |piece: &&Piece| matches!(piece, Piece::Number { .. });
    let ends = matches!(pieces.iter().rfind(is_number), Some(Piece::Number { is_told: true, .. }));
    !ends && !told(&pieces).is_empty()
}

/// `01` is 1.
fn plain(digits: &str) -> String {
    format!("{:0>1}", digits.trim_start_matches('0'))
}

/// Where the name of the file begins.
fn file_at(pieces: &[Piece]) -> usize {
    let is_end = |piece: &Piece| matches!(piece, Piece::Text(text) if text == "/");
    pieces.iter().rposition(is_end).map_or(0, |at| at + 1)
}

/// Whether directories of repeats have files of the same name.
fn have_names_in_common(paths: &[&Path]) -> bool {
    let parts = |path: &Path| {
        let directory = path.parent().filter(|directory| {
            directory.file_name().is_some_and(|name| is_repeat_label(&name.to_string_lossy()))
        });
        Some((stem(path), directory?.to_owned()))
    };
    let mut directories: BTreeMap<String, BTreeSet<_>> = BTreeMap::new();
    for (stem, directory) in paths.iter().filter_map(|path| parts(path)) {
        directories.entry(stem).or_default().insert(directory);
    }
    directories.values().any(|all| all.len() > 1)
}

/// Whether a number belongs to the word before it, as in `q1`, and is none of a process.
fn ends_word(before: &[Piece], digits: &str) -> bool {
    let is_word = |text: &str| text.ends_with(char::is_alphabetic);
    digits.len() < PROCESS && matches!(before.last(), Some(Piece::Text(text)) if is_word(text))
}

/// The numbers of directories, but for those that all paths have: these are no repeats'.
fn directories_apart(paths: &[Vec<Piece>]) -> BTreeSet<&str> {
    let directories: Vec<BTreeSet<&str>> =
        paths.iter().map(|pieces| numbers_of_directories(pieces)).collect();
    let is_in_all = |digits: &&str| directories.iter().all(|all| all.contains(digits));
    directories.iter().flatten().copied().filter(|digits| !is_in_all(digits)).collect()
}

fn numbers_of_directories<'a>(pieces: &'a [Piece]) -> BTreeSet<&'a str> {
    let digits = |piece: &'a Piece| match piece {
        Piece::Number { digits, place: Place::Directory, .. } => Some(digits.as_str()),
        _ => None,
    };
    pieces.iter().filter_map(digits).collect()
}

/// 1, 2, 3 or 0, 1, 2.
fn counts(values: &BTreeSet<&str>) -> bool {
    let mut numbers: Vec<u32> = values.iter().filter_map(|value| value.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.len() == values.len()
        && numbers.first().is_some_and(|first| *first <= 1)
        && numbers.array_windows().all(|[one, next]| one + 1 == *next)
}

fn pieces(path: &Path) -> Vec<Piece> {
    let directory = path.parent().map(|parent| parent.to_string_lossy().into_owned()).unwrap_or_default();
    let (directory, stem) = (without_dates(&directory), without_dates(&stem(path)));
    let mut pieces = Vec::new();
    for component in directory.split('/').filter(|component| !component.is_empty()) {
        let number = component.strip_prefix(REPEAT_LETTERS).unwrap_or(component);
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        add(component, if is_number { Place::Directory } else { Place::Elsewhere }, &mut pieces);
        pieces.push(Piece::Text("/".to_owned()));
    }
    let (name, options) = without_options(&stem);
    add(&without_total(name), Place::InFile, &mut pieces);
    let last = pieces.iter_mut().rev().find(|piece| !matches!(piece, Piece::Text(text) if is_blank(text)));
    // Before options it counts repeats only if it counts from 0 or 1: `14_c8` is a version.
    if let Some(Piece::Number { is_free, .. }) = last {
        *is_free |= options.is_empty();
    }
    let is_of_repeat = |piece: &Piece| match piece {
        Piece::Number { digits, is_free, place, .. } => {
            *is_free && *place == Place::InFile && digits.len() < PROCESS
        }
        Piece::Text(_) => false,
    };
    let last = pieces.iter().rposition(is_of_repeat).unwrap_or(0);
    for piece in &mut pieces[..last] {
        if let Piece::Number { is_free: false, place: place @ Place::InFile, .. } = piece {
            *place = Place::Elsewhere;
        }
    }
    add(options, Place::Elsewhere, &mut pieces);
    pieces
}

/// `tps_1` and `_c8_j2` of `tps_1_c8_j2`: the number of a repeat may stand before options.
fn without_options(stem: &str) -> (&str, &str) {
    let mut end = stem.len();
    while let Some(at) = stem[..end].rfind(is_separator) {
        let word = stem[at..end].trim_start_matches(is_separator);
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if name.len() == word.len() || !OPTIONS.contains(&name) {
            break;
        }
        end = at;
    }
    let name = stem[..end].trim_end_matches(|c: char| c.is_ascii_digit());
    let has_repeat = name.len() < end && (name.is_empty() || name.ends_with(is_separator));
    stem.split_at(if has_repeat { end } else { stem.len() })
}

/// `1` of `1of5`.
fn without_total(name: &str) -> String {
    let number = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = number.trim_end_matches(is_separator).strip_suffix("of");
    let before = before.map(|before| before.trim_end_matches(is_separator));
    match before.filter(|before| number.len() < name.len() && before.ends_with(|c: char| c.is_ascii_digit()))
    {
        Some(before) => before.to_owned(),
        None => name.to_owned(),
    }
}

fn is_separator(c: char) -> bool {
    !c.is_alphanumeric()
}

fn is_blank(text: &str) -> bool {
    text.chars().all(is_separator)
}

/// Adds the words and numbers of a component, or of a file's name.
fn add(text: &str, place: Place, pieces: &mut Vec<Piece>) {
    let mut rest = text;
    let mut word = String::new();
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let kind = |c: char| (c.is_ascii_digit(), is_separator(c));
        let end = rest.find(|c: char| kind(c) != kind(first)).unwrap_or(rest.len());
        let (own, after) = rest.split_at(end);
        rest = after;
        if is_digit {
            let of_repeat = is_of_repeats(&word);
            let is_free = own.len() >= LONG || of_repeat;
            pieces.push(Piece::Number { digits: own.to_owned(), is_free, is_told: of_repeat, place });
        } else if is_separator(first) {
            pieces.push(Piece::Text(own.to_owned()));
        } else {
            word = own.to_lowercase();
            let text = if is_of_repeats(&word) { String::new() } else { own.to_owned() };
            pieces.push(Piece::Text(text));
        }
    }
}

fn is_of_repeats(word: &str) -> bool {
    REPEATS.contains(&word)
}

/// Whether a directory's name may be that of a repeat: `1`, `run-2`, `v3`, `2025-11-08`.
pub fn is_repeat_label(name: &str) -> bool {
    if is_blank(&without_dates(name)) {
        return true;
    }
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = word.len() < name.len();
    let word = word.trim_end_matches(is_separator).to_lowercase();
    is_numbered && (["", "r", "v"].contains(&word.as_str()) || is_of_repeats(&word))
}

/// Without dates and times such as `2025-11-08`, `20251108T1405` and `2025-11-08_14:05:31`.
pub fn without_dates(text: &str) -> String {
    parts(text).into_iter().filter(|(_, is_date)| !is_date).map(|(part, _)| part).collect()
}

/// The dates in a text, with their times.
pub fn dates(text: &str) -> Vec<&str> {
    parts(text).into_iter().filter(|(_, is_date)| *is_date).map(|(part, _)| part).collect()
}

/// A text in parts, each with whether it is a date with its time.
fn parts(text: &str) -> Vec<(&str, bool)> {
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

/// The numbers and dates of a path in their order, as digits, without those of components of these names.
pub fn numbers(path: &Path, but: [&str; 2]) -> Vec<String> {
    let directory = path.parent().map(|parent| parent.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem(path);
    let components = directory.split('/').filter(|component| !but.contains(component)).chain([&*stem]);
    let mut all = Vec::new();
    for (part, is_date) in components.flat_map(parts) {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        match is_date {
            true => all.push(digits(part)),
            false => all.extend(part.split(|c: char| !c.is_ascii_digit()).map(str::to_owned)),
        }
    }
    all.retain(|digits| !digits.is_empty());
    all.iter().map(|digits| plain(digits)).collect()
}

/// What tells each class from the others, in directories and words of the file's name: `hetz` of `fio/o.ext4.hetz`.
/// Unlike for unlike classes.
pub fn names(classes: &BTreeSet<String>) -> BTreeMap<String, String> {
    let parts = |class: &str| -> (Vec<String>, Vec<String>) {
        let (directories, name) = class.rsplit_once('/').unwrap_or(("", class));
        let owned = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
        (owned(directories.split('/').collect()), owned(words(name)))
    };
    let parts: Vec<_> = classes.iter().map(|class| (class, parts(class))).collect();
    let is_common =
        |word: &&String| parts.iter().all(|(_, (one, other))| one.contains(word) || other.contains(word));
    let names = parts.iter().map(|(class, (directories, words))| {
        let own: Vec<&str> =
            directories.iter().chain(words).filter(|word| !is_common(word)).map(String::as_str).collect();
        let of_name: Vec<&str> = words.iter().filter(|word| !is_common(word)).map(String::as_str).collect();
        let joined =
            Some(of_name).filter(|of_name| of_name.len() == own.len()).and_then(|all| joined(class, &all));
        ((*class).clone(), joined.unwrap_or_else(|| own.join(".")))
    });
    let names: BTreeMap<String, String> = names.collect();
    let distinct: BTreeSet<&String> = names.values().filter(|name| !name.is_empty()).collect();
    if distinct.len() == names.len() {
        return names;
    }
    let last = |class: &String| class.rsplit('/').find(|part| !part.is_empty()).unwrap_or(class).to_owned();
    let of_files: BTreeMap<String, String> =
        classes.iter().map(|class| (class.clone(), trimmed(&last(class)))).collect();
    let distinct: BTreeSet<&String> = of_files.values().collect();
    match distinct.len() == of_files.len() {
        true => of_files,
        false => classes.iter().map(|class| (class.clone(), trimmed(class))).collect(),
    }
}

/// Words that stand side by side in the name of a file, as there: `v1-0001` of `select.v1-0001`.
fn joined(class: &str, own: &[&str]) -> Option<String> {
    let name = class.rsplit('/').next()?;
    let all = words(name);
    let at = (0..all.len()).find(|at| all[*at..].starts_with(own))?;
    let place = |word: &str| word.as_ptr() as usize - name.as_ptr() as usize;
    let (first, last) = (own.first().map(|_| all[at])?, all[at + own.len() - 1]);
    Some(name[place(first)..place(last) + last.len()].to_owned())
}

fn trimmed(text: &str) -> String {
    text.trim_matches(is_separator).to_owned()
}

/// Words of a class; a point between two digits is a part of a number.
pub fn words(class: &str) -> Vec<&str> {
    let bytes = class.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let is_decimal = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    let mut all = Vec::new();
    let mut start = 0;
    for (at, c) in class.char_indices() {
        if is_separator(c) && !(c == '.' && is_decimal(at)) {
            all.push(&class[start..at]);
            start = at + c.len_utf8();
        }
    }
    all.push(&class[start..]);
    all.retain(|word| !word.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(paths: &[&str]) -> Vec<String> {
        let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
        let classes = classes(&paths, &paths);
        let names = names(&classes.iter().cloned().collect());
        classes.iter().map(|class| names[class].clone()).collect()
    }

    #[test]
    fn numbers_of_repeats_dates_and_processes_tell_nothing() {
        for paths in [
            &["a/ro-1.txt", "a/ro-2.txt", "a/ro-5.txt"][..],
            &["a/ro-10.txt", "a/ro-20.txt"],
            &["a/run1/ro.txt", "a/run7/ro.txt"],
            &["a/1/ro.txt", "a/2/ro.txt"],
            &["a/v1/ro.txt", "a/v2/ro.txt"],
            &["7/a/1/ro.txt", "7/a/2/ro.txt", "7/a/3/ro-rerun-1.txt"],
            &["a/ro.txt", "a/ro-rerun.txt"],
            &["a/1-ro.txt", "a/2-ro.txt", "a/3-ro.txt"],
            &["a/2025-11-08/ro.txt", "a/2025-11-15/ro.txt"],
            &["a/ro-20251108T1405.txt", "a/ro-20251109T0912.txt"],
            &["a/2025-11-08_14:05:31-ro.txt", "a/2025-11-15_09:12:00-ro.txt"],
            &["a/pgbench_log.4711", "a/pgbench_log.48110"],
            &["a/lg1.3587", "a/lg2.3657", "a/lg3.3735"],
            &["a/ro-1.txt", "a/ro-1.log.gz"],
            &["a/1/ro-1.txt", "a/1/ro-2.txt", "a/2/ro-1.txt"],
            &["a/1/ro1.txt", "a/2/ro2.txt"],
            &["a/run1/ro1.txt", "a/run2/ro2.txt"],
            &["a/run1-lg.3587", "a/run1-lg.3601", "a/run2-lg.3735"],
            &["run7/ro-1.txt", "run7/ro-2.txt"],
            &["a/ro-1of3.txt", "a/ro-2of3.txt", "a/ro-3of3.txt"],
            &["a/1_of_5.log", "a/4_of_5.log"],
            &["a/tps_1_c8_j2.log", "a/tps_2_c8_j2.log"],
        ] {
            let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
            let found = classes(&paths, &paths);
            assert!(found.iter().all(|class| *class == found[0]), "{found:?}");
        }
    }

    #[test]
    fn directories_of_repeats() {
        for name in ["1", "02", "run-2", "run_3", "v3", "Rep7", "2025-11-08", "20251108T1405"] {
            assert!(is_repeat_label(name), "{name}");
        }
        for name in ["ro", "pg16", "run", "14.2", "x2025-11-08"] {
            assert!(!is_repeat_label(name), "{name}");
        }
    }

    #[test]
    fn other_words_and_numbers_tell_arms() {
        for (paths, expected) in [
            (&["a/old.txt", "a/new.txt"][..], &["old", "new"][..]),
            (&["fio/o.ext4.hetz.secs300.1.gz", "fio/o.xfs.gcpL.secs300.1.gz"], &["ext4.hetz", "xfs.gcpL"]),
            (&["sum.byrx.txt", "sum.iobuf.txt"], &["byrx", "iobuf"]),
            (&["14/ro/1.txt", "15/ro/1.txt"], &["14", "15"]),
            (&["v14/ro.txt", "v15/ro.txt"], &["v14", "v15"]),
            (&["base/1/x.txt", "head/2/x.txt"], &["base", "head"]),
            (&["host-a/ro/1.txt", "host-b/ro/1.txt"], &["host-a", "host-b"]),
            (&["8.0/ro/1.txt", "8.4/ro/1.txt"], &["8.0", "8.4"]),
            (&["host1/ro/1.txt", "host2/ro/1.txt"], &["host1", "host2"]),
            (&["a/ro-4k-1.txt", "a/ro-8k-1.txt"], &["4k", "8k"]),
            (&["a/q1.1.txt", "a/q1.2.txt", "a/q2.1.txt"], &["q1", "q1", "q2"]),
            (&["a/ro1-run1.txt", "a/ro2-run1.txt"], &["ro1", "ro2"]),
            (&["a/1/q1.txt", "a/1/q2.txt", "a/2/q1.txt"], &["q1", "q2", "q1"]),
            (&["a/ro.txt", "a/ro-fast.txt"], &["ro", "ro-fast"]),
            (&["a-1/x/f.txt", "b-1/x/f.txt", "b-2/x/f.txt"], &["a-1", "b-1", "b-2"]),
            (&["a/14_c8.txt", "a/15_c8.txt"], &["14", "15"]),
            (&["a/pg1_c8.txt", "a/pg2_c8.txt"], &["pg1", "pg2"]),
            (
                &[
                    "run1-base.txt",
                    "run1-patch1.txt",
                    "run1-patch2.txt",
                    "run2-patch1.txt",
                    "run2-patch2.txt",
                ],
                &["base", "patch1", "patch2", "patch1", "patch2"],
            ),
            // In turns.
            (
                &["run1-p1.txt", "run2-p2.txt", "run3-p1.txt", "run4-p2.txt", "run4-base.txt"],
                &["p1", "p2", "p1", "p2", "base"],
            ),
            (
                &["rep1/build1.txt", "rep1/build2.txt", "rep2/build1.txt", "rep2/build2.txt"],
                &["build1", "build2", "build1", "build2"],
            ),
        ] {
            assert_eq!(named(paths), expected, "{paths:?}");
        }
    }
}
