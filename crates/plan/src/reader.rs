//! Reads typed values from a TOML document and collects their mistakes with their places in the file.
//!
//! A getter returns `None` for a missing and for a wrong key: the mistake is recorded, and the caller continues with
//! its default to find the next one.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::Problems;
use rqps_model::{did_you_mean, grouped};

/// A value and its byte range in the file.
#[derive(Debug, Clone)]
pub struct Found<T> {
    pub value: T,
    pub at: Range<usize>,
}

/// A value of the document, not yet checked.
pub type Node<'d> = Spanned<DeValue<'d>>;

/// One table of the document.
pub struct Section<'d> {
    /// Its name in messages: `[workload]`, empty for the top of the file.
    pub place: String,
    pub at: Range<usize>,
    table: &'d DeTable<'d>,
    problems: &'d Problems<'d>,
}

impl<'d> Section<'d> {
    /// The table itself, called `place` in messages.
    pub fn new(place: String, at: Range<usize>, table: &'d DeTable<'d>, problems: &'d Problems<'d>) -> Self {
        Section { place, at, table, problems }
    }

    /// How messages name one of the keys.
    pub fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{} {key}", self.place) }
    }

    /// Reports every key that is not in `known`; `home` returns the section where it belongs.
    pub fn check_keys(&self, known: &[&'static str], home: impl Fn(&str) -> Option<String>) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            if self.problems.is_full() {
                return;
            }
            // A key of another place is no typo of one here.
            let remedy = match home(name).filter(|section| *section != self.place) {
                Some(section) => format!("It belongs in {section}."),
                None => did_you_mean(name, known.iter().copied()).unwrap_or_else(|| {
                    let mut known = known.to_vec();
                    known.sort_unstable();
                    format!("Remove it. Known keys: {}.", known.join(", "))
                }),
            };
            self.problems.error(&key.span(), self.place_of(name), "unknown key", remedy);
        }
    }

    /// The key's own span and its value, of any type.
    pub fn node(&self, key: &str) -> Option<(Range<usize>, &'d Node<'d>)> {
        let (found, value) = self.table.get_key_value(key)?;
        Some((found.span(), value))
    }

    /// The place of a key, or of the section if it has no such key.
    pub fn key_at(&self, key: &str) -> Range<usize> {
        self.node(key).map_or(self.at.clone(), |(at, _)| at)
    }

    /// All keys with their values, in alphabetical order.
    pub fn entries(&self) -> impl Iterator<Item = (&'d str, Range<usize>, &'d Node<'d>)> {
        self.table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
    }

    /// An integer in `range`.
    pub fn integer(&self, key: &str, range: RangeInclusive<u64>) -> Option<Found<u64>> {
        self.integer_of(key, self.node(key)?.1, range)
    }

    fn integer_of(&self, key: &str, node: &Node<'d>, range: RangeInclusive<u64>) -> Option<Found<u64>> {
        let allowed =
            format!("a whole number from {} to {}", grouped(*range.start(), '_'), grouped(*range.end(), '_'));
        match node.get_ref() {
            DeValue::Integer(written) => {
                let number = i128::from_str_radix(written.as_str(), written.radix()).ok();
                let value = number
                    .and_then(|number| u64::try_from(number).ok())
                    .filter(|value| range.contains(value));
                if value.is_none() {
                    self.out_of_range(key, node, &written.to_string(), &allowed);
                }
                value.map(|value| Found { value, at: node.span() })
            }
            DeValue::Float(written) => {
                let whole = written
                    .as_str()
                    .parse::<f64>()
                    .ok()
                    .filter(|n| n.fract() == 0.0 && (0.0..1e15).contains(n));
                let remedy = match whole {
                    Some(number) => {
                        format!(
                            "Write it without decimal point or exponent: {}.",
                            grouped(number as u64, '_')
                        )
                    }
                    None => format!("Write {allowed}."),
                };
                let what = format!("expected a whole number, found {}", written.as_str());
                self.problems.error(&node.span(), self.place_of(key), what, remedy);
                None
            }
            other => {
                self.wrong_type(key, node.span(), other, &allowed);
                None
            }
        }
    }

    /// A whole number in `range`, or a list of several; empty if there is none.
    pub fn integers(&self, key: &str, range: RangeInclusive<u64>) -> Vec<Found<u64>> {
        let Some((_, node)) = self.node(key) else {
            return Vec::new();
        };
        let of = |node: &Node<'d>| self.integer_of(key, node, range.clone());
        match node.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                let remedy = "Write a number, or several such as [1, 8], or remove the key.";
                self.problems.error(&node.span(), self.place_of(key), "lists nothing", remedy);
                Vec::new()
            }
            DeValue::Array(items) => items.iter().filter_map(of).collect(),
            _ => of(node).into_iter().collect(),
        }
    }

    /// A number in `range`, with or without decimals.
    pub fn number(&self, key: &str, range: RangeInclusive<f64>) -> Option<Found<f64>> {
        let (_, node) = self.node(key)?;
        let allowed = format!("a number from {} to {}", range.start(), range.end());
        let written = match node.get_ref() {
            DeValue::Integer(written) => i128::from_str_radix(written.as_str(), written.radix())
                .ok()
                .map(|number| (written.to_string(), number as f64)),
            DeValue::Float(written) => {
                written.as_str().parse().ok().map(|number| (written.as_str().to_owned(), number))
            }
            other => {
                self.wrong_type(key, node.span(), other, &allowed);
                return None;
            }
        };
        let (text, value) = written.unwrap_or_else(|| ("this".to_owned(), f64::NAN));
        if !range.contains(&value) {
            self.out_of_range(key, node, &text, &allowed);
            return None;
        }
        Some(Found { value, at: node.span() })
    }

    pub fn text(&self, key: &str) -> Option<Found<&'d str>> {
        self.text_expecting(key, "a text in quotes")
    }

    /// The same, called `expected` in messages.
    pub fn text_expecting(&self, key: &str, expected: &str) -> Option<Found<&'d str>> {
        let (_, node) = self.node(key)?;
        match node.get_ref() {
            DeValue::String(value) => Some(Found { value: value.as_ref(), at: node.span() }),
            other => {
                self.wrong_type(key, node.span(), other, expected);
                None
            }
        }
    }

    pub fn boolean(&self, key: &str) -> Option<Found<bool>> {
        let (_, node) = self.node(key)?;
        match node.get_ref() {
            DeValue::Boolean(value) => Some(Found { value: *value, at: node.span() }),
            other => {
                self.wrong_type(key, node.span(), other, "true or false");
                None
            }
        }
    }

    /// One of the words in `choices`.
    pub fn choice<T: Copy>(&self, key: &str, choices: &[(&'static str, T)]) -> Option<T> {
        let words: Vec<String> = choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let Found { value, at } = self.text_expecting(key, &words.join(" or "))?;
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == value) {
            return Some(*choice);
        }
        let remedy = match (words.as_slice(), did_you_mean(value, choices.iter().map(|(word, _)| *word))) {
            (_, Some(question)) => question,
            ([only], None) => format!("Write {only}, the only known value."),
            (_, None) => format!("Write {}.", words.join(" or ")),
        };
        self.problems.error(&at, self.place_of(key), format!("unknown value \"{value}\""), remedy);
        None
    }

    /// The sub-table `key`, called `place` in messages.
    pub fn table(&self, key: &str, place: &str) -> Option<Section<'d>> {
        let (at, node) = self.node(key)?;
        match node.get_ref() {
            DeValue::Table(table) => Some(Section::new(place.to_owned(), at, table, self.problems)),
            other => {
                self.wrong_type(
                    key,
                    node.span(),
                    other,
                    &format!("a table that begins with the line {place}"),
                );
                None
            }
        }
    }

    /// The items of a list. `items` describes them in messages.
    pub fn list(&self, key: &str, items: &str) -> Option<Found<&'d [Node<'d>]>> {
        let (_, node) = self.node(key)?;
        match node.get_ref() {
            DeValue::Array(list) => Some(Found { value: list, at: node.span() }),
            other => {
                self.wrong_type(key, node.span(), other, &format!("a list of {items} in [ ]"));
                None
            }
        }
    }

    /// The tables of an array of tables (`[[key]]`), called `[[key]] 1`, `[[key]] 2` in messages.
    pub fn tables(&self, key: &str) -> Vec<Section<'d>> {
        let Some((_, node)) = self.node(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = node.get_ref() else {
            self.wrong_type(
                key,
                node.span(),
                node.get_ref(),
                &format!("tables that begin with the line [[{key}]]"),
            );
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let place = format!("[[{key}]] {}", i + 1);
            match item.get_ref() {
                DeValue::Table(table) => {
                    sections.push(Section::new(place, item.span(), table, self.problems))
                }
                other => {
                    self.wrong_type(key, item.span(), other, &format!("a table that begins with [[{key}]]"))
                }
            }
        }
        sections
    }

    /// Reports a value of the wrong type, with a hint for common slips.
    pub fn wrong_type(&self, key: &str, at: Range<usize>, found: &DeValue<'_>, expected: &str) {
        let remedy = match found {
            DeValue::String(text) if is_number(text) && expected.contains("number") => {
                format!("Write {text} without the quotes.")
            }
            DeValue::String(text)
                if matches!(text.as_ref(), "true" | "false") && expected.starts_with("true") =>
            {
                format!("Write {text} without the quotes.")
            }
            _ => format!("Write {expected}."),
        };
        let article = if matches!(found, DeValue::Integer(_) | DeValue::Array(_)) { "an" } else { "a" };
        let what = format!("expected {expected}, found {article} {}", found.type_str());
        self.problems.error(&at, self.place_of(key), what, remedy);
    }

    fn out_of_range(&self, key: &str, node: &Node<'_>, written: &str, allowed: &str) {
        let what = format!("{written} is out of range");
        self.problems.error(&node.span(), self.place_of(key), what, format!("Write {allowed}."));
    }
}

fn is_number(text: &str) -> bool {
    text.replace('_', "").parse::<f64>().is_ok_and(f64::is_finite)
}
