//! Words of names, and what tells names from one another.

use std::collections::{BTreeMap, BTreeSet};

/// Words that say that the number after them is that of a repeat.
const REPEATS: [&str; 11] =
    ["run", "runs", "rep", "repeat", "iteration", "iter", "round", "trial", "pass", "again", "rerun"];
/// Another one in the names of files: `r1-master`. That of a directory may be an arm's.
const REPEAT_IN_FILE: &str = "r";
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
        classes.iter().map(|class| (class.clone(), trimmed(&last(class)).to_owned())).collect();
    let distinct: BTreeSet<&String> = of_files.values().collect();
    match distinct.len() == of_files.len() {
        true => of_files,
        false => classes.iter().map(|class| (class.clone(), trimmed(class).to_owned())).collect(),
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

/// Whether a word says that the number after it is that of a repeat.
pub fn is_of_repeats(word: &str) -> bool {
    REPEATS.contains(&word)
}

/// Whether a word in the name of a file says that the number after it is that of a repeat.
pub fn is_of_repeats_in_file(word: &str) -> bool {
    is_of_repeats(word) || word == REPEAT_IN_FILE
}

pub fn is_separator(c: char) -> bool {
    !c.is_alphanumeric()
}

/// Without signs around it.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_separator)
}

/// Words with their places.
pub fn placed(text: &str) -> Vec<(usize, &str)> {
    let start = text.as_ptr() as usize;
    words(text).into_iter().map(|word| (word.as_ptr() as usize - start, word)).collect()
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
