//! Numbers that belong to the word before them, as in `v1`, `patch2`, `lz4`: no repeat's, if something else in the
//! names tells repeats apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::dates::without_dates;
use crate::grouped::grouped;
use crate::path_classes::{PROCESS, counts, is_repeat_label, name_of};
use crate::paths::stem;
use crate::words::{is_of_repeats_in_file, is_separator};

/// Numbers of so many digits are times or processes.
pub const LONG: usize = 5;
/// Of a commit's hash, the fewest characters.
const HASH_MIN: usize = 7;
/// Digits of a patch's number in a series: `v5-0001`.
const OF_PATCH: usize = 4;

/// The words, in lower case, whose numbers are a part of them.
#[derive(Debug, Default)]
pub struct WordNumbers(BTreeSet<String>);

/// A piece of the name of a file.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Text(&'a str),
    /// `v` and `1` of `v1`.
    Attached(&'a str, &'a str),
    /// A number of its own.
    Own(&'a str),
    /// A number after a word for repeats.
    Told,
}

impl WordNumbers {
    /// Of the files of all arms, and of those of one that `paths` are.
    pub fn of(paths: &[&Path], all: &[&Path]) -> Self {
        let [names, own] = [all, paths].map(names);
        let files: Vec<Vec<Token>> = names.iter().map(|name| tokens(name)).collect();
        let of_arm: Vec<Vec<Token>> = own.iter().map(|name| tokens(name)).collect();
        let mut found = among_others(&files);
        found.extend(with_several(all, &files, false));
        found.extend(with_several(paths, &of_arm, true));
        Self(found)
    }

    /// Whether the number after this word is a part of it.
    pub fn has(&self, word: &str) -> bool {
        self.0.contains(&word.to_lowercase())
    }
}

fn names(paths: &[&Path]) -> Vec<String> {
    paths.iter().map(|path| name_of(path).0).collect()
}

/// The length of a text's beginning that is one word whatever digits it has: a commit's hash, or a patch of a series.
pub fn whole_word(text: &str) -> Option<usize> {
    let end = text.find(is_separator).unwrap_or(text.len());
    let hash = text[..end].strip_prefix('g').unwrap_or(&text[..end]);
    let is_hex = hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let has = |is: fn(u8) -> bool| hash.bytes().any(is);
    if hash.len() >= HASH_MIN
        && is_hex
        && has(|byte| byte.is_ascii_digit())
        && has(|byte| byte.is_ascii_alphabetic())
    {
        return Some(end);
    }
    let version = text[..end].strip_prefix(['v', 'V'])?;
    let patch: String = text[end..].chars().skip(1).take_while(|c| c.is_alphanumeric()).collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_patch = is_number(version) && text[end..].starts_with('-') && is_number(&patch);
    (is_patch && patch.len() == OF_PATCH && patch.starts_with("00")).then(|| end + 1 + patch.len())
}

fn tokens(name: &str) -> Vec<Token<'_>> {
    let (mut all, mut rest, mut word, mut is_after_sign) = (Vec::new(), name, "", true);
    while let Some(first) = rest.chars().next() {
        if let Some(length) = whole_word(rest).filter(|_| is_after_sign) {
            let (own, after) = rest.split_at(length);
            (rest, word, is_after_sign) = (after, "", false);
            all.push(Token::Text(own));
            continue;
        }
        let kind = |c: char| (c.is_ascii_digit(), is_separator(c));
        let (own, after) = rest.split_at(rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len()));
        rest = after;
        if is_separator(first) {
            all.push(Token::Text(own));
        } else if !first.is_ascii_digit() {
            word = own;
            all.push(Token::Text(own));
        } else if is_of_repeats_in_file(&std::mem::take(&mut word).to_lowercase()) {
            all.push(Token::Told);
        } else {
            let ends = after.chars().next().is_none_or(is_separator);
            match all.last() {
                _ if !ends => all.push(Token::Text(own)),
                Some(Token::Text(text)) if text.ends_with(char::is_alphabetic) && own.len() < LONG => {
                    let word = *text;
                    all.push(Token::Attached(word, own));
                }
                _ => all.push(Token::Own(own)),
            }
        }
        is_after_sign = is_separator(first);
    }
    all
}

/// The directory of a file without its dates. `in_repeats`: also without directories of repeats.
fn directory(path: &Path, in_repeats: bool) -> String {
    let above = path.parent().unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let name = |name: &str| match in_repeats && is_repeat_label(name) {
        true => String::new(),
        false => without_dates(name),
    };
    above.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// Words with a number of which several files have the same, which then differ in something else that tells repeats.
fn with_several(paths: &[&Path], files: &[Vec<Token>], in_repeats: bool) -> BTreeSet<String> {
    let of_place: BTreeMap<usize, BTreeSet<&str>> =
        grouped(files.iter().flat_map(|file| own_numbers(file).enumerate()));
    let in_all = in_all(files);
    // What lies beside a result, such as figures of the host, is called as it is.
    let mut of_skeleton: BTreeMap<String, (BTreeSet<_>, Vec<&str>)> = BTreeMap::new();
    for (path, file) in paths.iter().zip(files) {
        let (mut skeleton, mut words, mut place) = (directory(path, in_repeats), Vec::new(), 0);
        skeleton.push('/');
        for (at, token) in file.iter().enumerate() {
            match token {
                Token::Text(text) => skeleton.push_str(text),
                Token::Told => skeleton.push('#'),
                Token::Attached(word, _) if in_all.contains(&word.to_lowercase()) => skeleton.push('#'),
                Token::Attached(word, digits) => {
                    words.push(*word);
                    skeleton.push_str(digits);
                }
                Token::Own(digits) => {
                    let is_last = file[at + 1..].iter().all(is_sign);
                    let is_repeat = is_last || digits.len() >= PROCESS || counts(&of_place[&place]);
                    let is_taken = !is_decimal(file, at) && (is_repeat || is_of_time(file, at));
                    skeleton.push_str(if is_taken { "#" } else { digits });
                    place += 1;
                }
            }
        }
        let (known, _) = of_skeleton.entry(skeleton).or_insert((BTreeSet::new(), words));
        known.insert((path.parent(), stem(path)));
    }
    let several = of_skeleton.into_values().filter(|(known, _)| known.len() > 1);
    several.flat_map(|(_, words)| words.into_iter().map(str::to_lowercase)).collect()
}

/// Words that all files have with a number, and not all with the same, while others have numbers in some files only:
/// `try` of `try1-base`, `try1-fix1`, `try2-base`.
fn in_all(files: &[Vec<Token>]) -> BTreeSet<String> {
    let numbered = |file: &Vec<Token>| -> BTreeMap<String, String> {
        let own = file.iter().filter_map(|token| match token {
            Token::Attached(word, digits) => Some((word.to_lowercase(), (*digits).to_owned())),
            _ => None,
        });
        own.collect()
    };
    let all: Vec<BTreeMap<String, String>> = files.iter().map(numbered).collect();
    let is_in_all = |word: &String| all.iter().all(|file| file.contains_key(word));
    let words: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let varies = |word: &String| all.iter().map(|file| &file[word]).collect::<BTreeSet<_>>().len() > 1;
    match words.iter().all(|word| is_in_all(word)) {
        true => BTreeSet::new(),
        false => words.into_iter().filter(|word| is_in_all(word) && varies(word)).cloned().collect(),
    }
}

fn own_numbers<'a>(file: &'a [Token<'a>]) -> impl Iterator<Item = &'a str> {
    file.iter().filter_map(|token| if let Token::Own(digits) = token { Some(*digits) } else { None })
}

fn is_sign(token: &Token) -> bool {
    matches!(token, Token::Text(text) if text.chars().all(is_separator))
}

/// Whether a number is a part of one with points: `8.0.36`.
fn is_decimal(file: &[Token], at: usize) -> bool {
    let is_own = |at: Option<usize>| matches!(at.and_then(|at| file.get(at)), Some(Token::Own(_)));
    let is_point = |at: Option<usize>| at.and_then(|at| file.get(at)) == Some(&Token::Text("."));
    is_point(at.checked_sub(1)) && is_own(at.checked_sub(2)) || is_point(Some(at + 1)) && is_own(Some(at + 2))
}

/// Whether a number is one of the three of a time of day: `10-16-00`.
fn is_of_time(file: &[Token], at: usize) -> bool {
    let is_number = |at: usize| matches!(file.get(at), Some(Token::Own(digits)) if digits.len() == 2);
    let is_time = |start: usize| {
        let signs = [start + 1, start + 3].map(|at| file.get(at));
        (0..3).all(|next| is_number(start + 2 * next)) && signs[0] == signs[1]
    };
    [0, 2, 4].into_iter().filter_map(|before| at.checked_sub(before)).any(is_time)
}

/// Words with one number throughout, beside files without any: `patch1` beside `base`, `lz4` beside `pglz`.
fn among_others(files: &[Vec<Token>]) -> BTreeSet<String> {
    let has_number = |file: &Vec<Token>| file.iter().any(|token| matches!(token, Token::Attached(..)));
    let of_word: BTreeMap<String, BTreeSet<&str>> =
        grouped(files.iter().flatten().filter_map(|token| match token {
            Token::Attached(word, digits) => Some((word.to_lowercase(), *digits)),
            _ => None,
        }));
    let have_others = files.iter().any(|file| !has_number(file));
    of_word
        .into_iter()
        .filter(|(_, numbers)| have_others && numbers.len() == 1)
        .map(|(word, _)| word)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_belongs_to_its_word_if_something_else_is_the_repeat() {
        for (paths, words) in [
            (
                &["1-master.log", "1-v1.log", "1-v2.log", "2-master.log", "2-v1.log", "2-v2.log"][..],
                &["v"][..],
            ),
            (
                &["001-base.log", "002-patch1.log", "003-base.log", "004-patch2.log", "005-patch1.log"],
                &["patch"],
            ),
            (&["20261127-100200-p1.log", "20261127-100400-p2.log", "20261127-100600-p1.log"], &["p"]),
            (&["p1_1026.log", "p2_1052.log", "p1_1078.log", "base_1013.log"], &["p"]),
            (&["p1-10-16-00.log", "p2-10-17-30.log", "p1-10-19-00.log"], &["p"]),
            (&["try1-base.log", "try1-fix1.log", "try2-base.log", "try2-fix1.log"], &["fix"]),
            (&["a/2026-11-21/lz4.log", "a/2026-11-22/lz4.log"], &["lz"]),
            (&["base.log", "patch1.log"], &["patch"]),
            // Nothing else can be the repeat.
            (&["base1.log", "base2.log", "head1.log"], &[]),
            (&["old1.log", "new1.log"], &[]),
            (&["001-base1.log", "002-head1.log", "003-base2.log"], &[]),
            (&["lg1.3587", "lg2.3657", "lg3.3735"], &[]),
            (&["8.0.36-t1.txt", "8.0.36-t2.txt", "8.4.6-t1.txt", "8.4.6-t2.txt"], &[]),
            (&["base.log", "patch1.log", "patch2.log"], &[]),
        ] {
            let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
            let expected: BTreeSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(WordNumbers::of(&paths, &paths).0, expected, "{paths:?}");
        }
    }

    #[test]
    fn hashes_and_patches_are_whole_words() {
        for (text, length) in [
            ("a1b2c3d-1", Some(7)),
            ("f00dcafe.log", Some(8)),
            ("ga1b2c3d4_1", Some(9)),
            ("v5-0001.1", Some(7)),
            ("v5-0001-fix", Some(7)),
            ("1234567", None),
            ("defaced", None),
            ("bench12345", None),
            ("v1-1026", None),
            ("v1-1", None),
        ] {
            assert_eq!(whole_word(text), length, "{text}");
        }
    }
}
