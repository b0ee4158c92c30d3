//! What the new version's server warns of at its start, compared with what the old one's does.

use rqps_model::{START_WARNING, clipped};
use rqps_store::Arm;

use super::{Upgrade, product};
use crate::document::Block;

/// Warnings that a terminal lists, and their longest text.
const SHORT_MAX: usize = 4;
const SHORT_TEXT_MAX: usize = 150;

/// Warnings of the new version's server.
pub(super) struct StartWarnings {
    old_version: String,
    new_version: String,
    /// Those that the old version's server does not give.
    new: Vec<String>,
    known: Vec<String>,
}

impl Upgrade<'_, '_> {
    pub(super) fn start_warnings(&self) -> StartWarnings {
        let of = |arm: &'_ Arm| -> Vec<String> {
            let warnings = arm.facts.iter().filter(|fact| fact.name == START_WARNING);
            warnings.map(|fact| fact.value.clone()).collect()
        };
        let before = of(self.old_arm());
        let is_known = |warning: &String| before.iter().any(|other| is_same(warning, other));
        let (known, new) = of(self.new_arm()).into_iter().partition(is_known);
        let [old_version, new_version] = [self.old_arm(), self.new_arm()].map(product);
        StartWarnings { old_version, new_version, new, known }
    }
}

impl StartWarnings {
    /// The new ones first.
    pub(super) fn blocks(self) -> Vec<Block> {
        let Self { old_version, new_version, new, known } = self;
        let list = |text: String, items: Vec<String>| match items.is_empty() {
            true => Vec::new(),
            false => vec![Block::Text(text), Block::Items(items)],
        };
        [
            list(format!("{new_version} logs at startup, unlike {old_version}:"), new),
            list(format!("{new_version} logs at startup, as {old_version} does:"), known),
        ]
        .concat()
    }

    /// For a terminal: some of the new ones. `details` says where the rest is.
    pub(super) fn in_short(self, details: &str) -> Vec<Block> {
        let more = self.new.len().saturating_sub(SHORT_MAX);
        let rest = [(more, "more"), (self.known.len(), "that both log")];
        let rest: Vec<String> = { rest.into_iter() }
            .filter(|(count, _)| *count > 0)
            .map(|(count, which)| match count {
                1 => format!("1 warning {which}"),
                _ => format!("{count} warnings {which}"),
            })
            .collect();
        let rest = (!rest.is_empty()).then(|| format!("{}: {details}.", rest.join(", ")));
        let new = self.new.into_iter().take(SHORT_MAX).map(|text| clipped(&text, SHORT_TEXT_MAX)).collect();
        let shown = Self { new, known: Vec::new(), ..self }.blocks();
        shown.into_iter().chain(rest.map(Block::Text)).collect()
    }
}

/// Whether two warnings say the same, whatever paths and numbers they contain. With the same code they do if they are
/// about the same: servers cut long texts.
fn is_same(one: &str, other: &str) -> bool {
    let [(code, text), (other_code, other_text)] = [one, other].map(parts);
    match (code, other_code) {
        (Some(code), Some(other)) if code != other => false,
        (Some(_), Some(_)) if subject(text).is_some() => subject(text) == subject(other_text),
        _ => general(text) == general(other_text),
    }
}

/// MySQL's code, and the text after it.
fn parts(warning: &str) -> (Option<&str>, &str) {
    let code = warning.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    code.map_or((None, warning), |(code, text)| (Some(code), text))
}

/// What a text quotes first, without its directory. An apostrophe within a word is no quote.
fn subject(text: &str) -> Option<&str> {
    let opens = |at: &usize| !text[..*at].ends_with(char::is_alphanumeric);
    let from = text.match_indices('\'').map(|(at, _)| at).find(opens)? + 1;
    let quoted = &text[from..][..text[from..].find('\'')?];
    quoted.rsplit('/').next()
}

/// A text without directories and digits.
fn general(text: &str) -> String {
    let word = |word: &str| match word.rfind('/') {
        Some(at) => word[at..].replace(|c: char| c.is_ascii_digit(), ""),
        None => word.replace(|c: char| c.is_ascii_digit(), ""),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn warnings_are_the_same_in_spite_of_paths_ports_and_where_they_are_cut() {
        let library = |code: &str, dir: &str, end: &str| {
            format!(
                "{code}Can't open shared library '{dir}/a.so' (errno: 0 {dir}/a.so: cannot open shared {end})"
            )
        };
        let (old, new) = ("/var/cache/8.0.31-a0b/lib/plugin", "/var/cache/9.7.4-943/usr/lib/mysql/plugin");
        let code = "[MY-010901] ";
        assert!(is_same(&library(code, old, "object file: No such file"), &library(code, new, "object f")));
        assert!(is_same(&library("", old, "object"), &library(code, new, "object")), "5.7 has no codes");
        assert!(!is_same(&library(code, old, "o"), &library(code, new, "o").replace("a.so", "b.so")));
        let deprecated = |option: &str| format!("[MY-011070] '{option}' is deprecated");
        assert!(!is_same(&deprecated("binlog_format"), &deprecated("sync_frm")));
        assert!(!is_same("[MY-1] 'a' is deprecated", "[MY-2] 'a' was removed"));
        assert!(is_same("port 3306 of pid 17 is open", "port 40001 of pid 8 is open"));
    }
}
