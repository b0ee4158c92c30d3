//! Which paths name repeats of one result, and what tells the others apart.
//!
//! Paths are alike if they differ in numbers of repeats, dates, or numbers of processes only: `a/ro-1.txt` and
//! `a/ro-2.txt`, but not `a/ro-old.txt` and `a/ro-new.txt`, nor `14/ro/1.txt` and `15/ro/1.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::arms::version_in_name;
use crate::dates::{parts, without_dates};
use crate::grouped::grouped;
use crate::paths::stem;
use crate::releases::dbms_of_word;
use crate::word_numbers::{LONG, WordNumbers, whole_word};
use crate::words::{is_of_repeats, is_of_repeats_in_file, is_separator, trimmed};

/// Letters before the number of a directory of repeats.
const REPEAT_LETTERS: [char; 4] = ['v', 'V', 'r', 'R'];
/// At the end of a name, numbers of so many digits are of processes, shorter ones of repeats.
pub const PROCESS: usize = 3;
/// Fewer files are hardly counted.
const COUNTED_MIN: usize = 3;
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
    // Without what only stands around the numbers of repeats.
    let parts =
        |class: &String| -> Vec<String> { class.split('/').map(|part| trimmed(part).to_owned()).collect() };
    numberless(paths, all)
        .iter()
        .map(|class| parts(class).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
        .collect()
}

/// The names of files in classes of paths, in their order; that of `a/1.txt` is empty.
pub fn stems(paths: &[&Path], all: &[&Path]) -> Vec<String> {
    let name = |class: &String| {
        let mut name = trimmed(class.rsplit('/').next().unwrap_or(class)).to_owned();
        // One sign around what was taken out.
        let mut was_sign = false;
        name.retain(|c| !(std::mem::replace(&mut was_sign, is_separator(c)) && was_sign));
        name
    };
    numberless(paths, all).iter().map(name).collect()
}

/// Paths without the numbers of repeats.
fn numberless(paths: &[&Path], all: &[&Path]) -> Vec<String> {
    let of_words = WordNumbers::of(paths, all);
    let pieces: Vec<Vec<Piece>> = paths.iter().map(|path| pieces(path, &of_words)).collect();
    let shape = |pieces: &[Piece]| -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Number { .. } => "#".to_owned(),
        };
        pieces.iter().map(text).collect()
    };
    let of_shape: BTreeMap<String, Vec<usize>> = grouped(pieces.iter().map(|one| shape(one)).zip(0..));
    let of_all: Vec<Vec<Piece>> = all.iter().map(|path| self::pieces(path, &of_words)).collect();
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
    let times = times(&of_all, shape);
    let counters = are_counters(&of_all, shape);
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
                    Piece::Number { .. } if counters && at == file_at(&pieces[*member]) => {}
                    Piece::Number { digits, .. } if apart.contains(&(shape(&pieces[*member]), at)) => {
                        classes[*member].push_str(digits);
                    }
                    Piece::Number { .. } if times.contains(&(shape(&pieces[*member]), at)) => {}
                    Piece::Number { is_free: true, .. } => {}
                    Piece::Number { place: Place::Directory, .. } if are_counted => {}
                    Piece::Number { place: Place::InFile, .. }
                        if counts(&values[&at]) || counts_in_all(&pieces[*member], at) => {}
                    Piece::Number { digits, .. } => classes[*member].push_str(digits),
                }
            }
        }
    }
    classes
}

/// Places of times of day, of three numbers of two digits, as all files of a shape have: `base-10-16-00`.
fn times(all: &[Vec<Piece>], shape: impl Fn(&[Piece]) -> String) -> BTreeSet<(String, usize)> {
    let number = |piece: Option<&Piece>, below: u32| match piece {
        Some(Piece::Number { digits, place: Place::InFile | Place::Elsewhere, .. }) => {
            digits.len() == 2 && digits.parse::<u32>().is_ok_and(|number| number < below)
        }
        _ => false,
    };
    let sign = |piece: Option<&Piece>| match piece {
        Some(Piece::Text(text)) => text == "-" || text == "_",
        _ => false,
    };
    let is_time = |pieces: &[Piece], at: usize| {
        let piece = |next: usize| pieces.get(at + next);
        let is_number = number(piece(0), 24) && number(piece(2), 60) && number(piece(4), 60);
        let is_alone = at == 0 || !sign(pieces.get(at - 1)) || !number(pieces.get(at.wrapping_sub(2)), 100);
        at >= file_at(pieces) && is_number && is_alone && sign(piece(1)) && piece(1) == piece(3)
    };
    let of_shape: BTreeMap<String, Vec<&[Piece]>> =
        grouped(all.iter().map(|pieces| (shape(pieces), &**pieces)));
    let mut places = BTreeSet::new();
    for (shape, members) in of_shape.iter().filter(|(_, members)| members.len() > 1) {
        let length = members[0].len();
        for at in (0..length).filter(|at| members.iter().all(|pieces| is_time(pieces, *at))) {
            places.extend([0, 2, 4].map(|next| (shape.clone(), at + next)));
        }
    }
    places
}

/// Whether the numbers that all names of files begin with count all runs of a directory: `001-base`, `002-head`.
fn are_counters(all: &[Vec<Piece>], shape: impl Fn(&[Piece]) -> String) -> bool {
    let mut of_directory: BTreeMap<String, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for pieces in all {
        let (directory, file) = pieces.split_at(file_at(pieces));
        let [Piece::Number { digits, .. }, rest @ ..] = file else { return false };
        let directory = directory.iter().map(|piece| format!("{piece:?}")).collect();
        of_directory.entry(directory).or_default().entry(digits).or_default().insert(shape(rest));
    }
    let has_words = |names: &BTreeSet<String>| names.iter().all(|name| name.contains(char::is_alphabetic));
    of_directory.values().all(|of_number| {
        let numbers: BTreeSet<&str> = of_number.keys().copied().collect();
        numbers.len() >= COUNTED_MIN
            && counts(&numbers)
            && of_number.values().all(|names| names.len() == 1 && has_words(names))
    })
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
    told(&pieces(path, &WordNumbers::default())).into_iter().map(plain).collect()
}

/// Whether a path tells its repeat elsewhere than at its end.
pub fn tells_repeat_before(path: &Path) -> bool {
    let pieces = pieces(path, &WordNumbers::default());
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
    let directories: BTreeMap<String, BTreeSet<_>> = grouped(paths.iter().filter_map(|path| parts(path)));
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
pub fn counts(values: &BTreeSet<&str>) -> bool {
    let mut numbers: Vec<u32> = values.iter().filter_map(|value| value.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.len() == values.len()
        && numbers.first().is_some_and(|first| *first <= 1)
        && numbers.array_windows().all(|[one, next]| one + 1 == *next)
}

/// The name of a file without dates and endings, and the options at its end.
pub fn name_of(path: &Path) -> (String, String) {
    let stem = without_dates(&stem(path));
    let (name, options) = without_options(&stem);
    (without_total(name), options.to_owned())
}

fn pieces(path: &Path, of_words: &WordNumbers) -> Vec<Piece> {
    let directory = path.parent().map(|parent| parent.to_string_lossy().into_owned()).unwrap_or_default();
    let directory = without_dates(&directory);
    let mut pieces = Vec::new();
    for component in directory.split('/').filter(|component| !component.is_empty()) {
        let number = component.strip_prefix(REPEAT_LETTERS).unwrap_or(component);
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let place = if is_number { Place::Directory } else { Place::Elsewhere };
        add(component, place, &WordNumbers::default(), &mut pieces);
        pieces.push(Piece::Text("/".to_owned()));
    }
    let (name, options) = name_of(path);
    add(&name, Place::InFile, of_words, &mut pieces);
    let last = pieces.iter().rposition(|piece| !matches!(piece, Piece::Text(text) if is_blank(text)));
    let is_version = last.is_some_and(|last| ends_version(&pieces[..=last]));
    // Before options it counts repeats only if it counts from 0 or 1: `14_c8` is a version.
    if let Some(Piece::Number { is_free, .. }) = last.and_then(|last| pieces.get_mut(last)) {
        *is_free |= options.is_empty() && !is_version;
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
    add(&options, Place::Elsewhere, of_words, &mut pieces);
    pieces
}

/// Whether a number is the end of a version: `pg17`, `8.0.36`.
fn ends_version(pieces: &[Piece]) -> bool {
    let is_point = |piece: &Piece| matches!(piece, Piece::Text(text) if text == ".");
    match pieces {
        [.., Piece::Number { .. }, first, Piece::Number { .. }, second, Piece::Number { digits, .. }] => {
            is_point(first) && is_point(second) && digits.len() < PROCESS
        }
        [.., Piece::Text(word), Piece::Number { digits, .. }] => {
            dbms_of_word(word).is_some_and(|dbms| version_in_name(&format!("{word}{digits}"), dbms).is_some())
        }
        _ => false,
    }
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

fn is_blank(text: &str) -> bool {
    text.chars().all(is_separator)
}

/// Adds the words and numbers of a component, or of a file's name.
fn add(text: &str, place: Place, of_words: &WordNumbers, pieces: &mut Vec<Piece>) {
    let mut rest = text;
    let mut word = String::new();
    let mut is_after_sign = true;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = whole_word(rest).filter(|_| is_after_sign) {
            let (own, after) = rest.split_at(length);
            pieces.push(Piece::Text(own.to_owned()));
            (rest, is_after_sign) = (after, false);
            word.clear();
            continue;
        }
        let is_digit = first.is_ascii_digit();
        let kind = |c: char| (c.is_ascii_digit(), is_separator(c));
        let end = rest.find(|c: char| kind(c) != kind(first)).unwrap_or(rest.len());
        let (own, after) = rest.split_at(end);
        rest = after;
        let is_own = is_after_sign;
        is_after_sign = is_separator(first);
        if is_digit {
            // Of `run1.16t` only the first.
            let word = std::mem::take(&mut word);
            if let (false, true, Some(Piece::Text(text))) =
                (is_own, own.len() < LONG && of_words.has(&word), pieces.last_mut())
            {
                text.push_str(own);
                continue;
            }
            let of_repeat = match place {
                Place::InFile => is_of_repeats_in_file(&word),
                Place::Directory | Place::Elsewhere => is_of_repeats(&word),
            };
            let is_free = own.len() >= LONG || of_repeat;
            pieces.push(Piece::Number { digits: own.to_owned(), is_free, is_told: of_repeat, place });
        } else if is_separator(first) {
            pieces.push(Piece::Text(own.to_owned()));
        } else {
            word = own.to_lowercase();
            let has_number = rest.starts_with(|c: char| c.is_ascii_digit());
            let is_repeats =
                is_of_repeats(&word) || has_number && place == Place::InFile && is_of_repeats_in_file(&word);
            let text = if is_repeats { String::new() } else { own.to_owned() };
            pieces.push(Piece::Text(text));
        }
    }
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

/// The numbers and dates of a path in their order, as digits, without those of components, or of words of the file's
/// name, that are one of these.
pub fn numbers(path: &Path, but: [&str; 2]) -> Vec<String> {
    let directory = path.parent().map(|parent| parent.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = but.iter().fold(stem(path), |stem, name| without_name(&stem, name));
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

/// Without a name that has letters, where it stands between signs: `1-` of `1-v2`.
fn without_name(stem: &str, name: &str) -> String {
    let is_end = |c: Option<char>| c.is_none_or(is_separator);
    let is_whole = |at: &usize| {
        is_end(stem[..*at].chars().next_back()) && is_end(stem[at + name.len()..].chars().next())
    };
    let is_word = name.contains(char::is_alphabetic);
    let found = stem.match_indices(name).map(|(at, _)| at).find(|at| is_word && is_whole(at));
    found.map_or_else(|| stem.to_owned(), |at| format!("{}{}", &stem[..at], &stem[at + name.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::names;

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
            &["a/tps_1_c8_j2.log", "a/tps_2_c8_j2.log"],
            &["a/run-10:16:00.log", "a/run-10:17:30.log"],
            &["a/run_101600.log", "a/run_101730.log"],
            &["a/ro-10-16-00.log", "a/ro-10-17-30.log"],
            &["a/001-ro.log", "a/002-ro.log", "a/004-ro.log", "a/003-ro.log"],
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
            (&["a/mysql80.txt", "a/mysql84.txt"], &["mysql80", "mysql84"]),
            (&["a/run1.8t.txt", "a/run2.8t.txt", "a/run1.16t.txt"], &["8t", "8t", "16t"]),
            (&["a/8.0.36.txt", "a/8.4.6.txt"], &["8.0.36", "8.4.6"]),
            (&["a/10-16-1.txt", "a/10-32-1.txt", "a/10-16-11.txt"], &["16", "32", "16"]),
            (&["1/master.log", "1/v5-0001.log", "1/v5-0002.log"], &["master", "v5-0001", "v5-0002"]),
            (&["a1b2c3d-1.log", "f00dcafe-1.log", "f00dcafe-2.log"], &["a1b2c3d", "f00dcafe", "f00dcafe"]),
            (
                &["1-base.log", "1-v1.log", "1-v2.log", "2-base.log", "2-v1.log"],
                &["base", "v1", "v2", "base", "v1"],
            ),
            (&["base/1-lz4.log", "base/1-none.log", "base/2-lz4.log"], &["lz4", "none", "lz4"]),
            (
                &["001-base.log", "002-p1.log", "003-base.log", "004-p2.log", "005-base.log", "006-p1.log"],
                &["base", "p1", "base", "p2", "base", "p1"],
            ),
            (
                &["001-base.log", "002-head.log", "003-head.log", "004-base.log"],
                &["base", "head", "head", "base"],
            ),
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
