//! Literals of statements: statements of one kind differ in these only, and in the lengths of IN-lists.

use std::collections::BTreeMap;

use rqps_model::random::Stream;

use super::super::pieces::{Piece, is_word};
use super::times::{self, Time};

/// A number, a text, or a `$1` in its place.
pub(super) struct Literal {
    /// Its bytes in the statement.
    pub from: usize,
    pub to: usize,
    /// Its value, if it is a number without an exponent.
    pub number: Option<Number>,
    pub is_parameter: bool,
    /// Of a parameter that is a time: what it is.
    pub time: Option<Time>,
    /// Whether it is a text that an expression can stand for.
    pub is_text: bool,
    /// Its place in the kind: that of all values of a list is the same.
    pub slot: usize,
    /// The column that it is compared with.
    pub column: Option<String>,
}

/// A number with decimals: `12.34` has the digits 1234 and 2 decimals.
#[derive(Clone, Copy)]
pub(super) struct Number {
    digits: i64,
    decimals: u32,
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { digits, decimals: fraction.len() as u32 })
    }

    /// The digits with more decimals.
    fn digits_with(self, decimals: u32) -> Option<i64> {
        self.digits.checked_mul(10i64.checked_pow(decimals - self.decimals)?)
    }
}

pub(super) struct Shape {
    /// The statement without blanks that do not matter, with [`LITERAL`] in place of literals.
    pub form: String,
    /// The same with one literal in place of all of an IN-list.
    pub key: String,
    pub literals: Vec<Literal>,
}

/// In place of a literal; no statement has it.
const LITERAL: char = '\u{1}';
/// Words after which a text must be written as such.
const BEFORE_TEXTS: [&str; 8] =
    ["DATE", "TIME", "TIMESTAMP", "INTERVAL", "SEPARATOR", "ESCAPE", "AS", "COLLATE"];
/// Texts that are kept of a place.
const TEXTS_MAX: usize = 20;
/// Longer texts stay as the first statement has them.
const TEXT_BYTES_MAX: usize = 200;

/// What was seen in a place of a kind's statements.
#[derive(Default)]
pub(super) struct Seen {
    /// The digits of the least and the greatest value, if all are numbers; all with so many decimals.
    pub range: Option<(i64, i64)>,
    pub decimals: u32,
    /// If all are texts, a random sample of them, with their quotes.
    sample: Vec<String>,
    /// How often each text came, while they are few.
    counts: BTreeMap<String, u64>,
    count: u64,
}

impl Seen {
    pub fn add(&mut self, literal: &Literal, text: &str) {
        self.count += 1;
        let first = self.count == 1;
        self.range = literal.number.and_then(|number| self.range_with(number, first));
        if !literal.is_text || text.len() > TEXT_BYTES_MAX {
            self.sample.clear();
            self.counts.clear();
            return;
        }
        *self.counts.entry(text.to_owned()).or_default() += 1;
        if self.counts.len() > TEXTS_MAX {
            self.counts.clear();
        }
        if self.sample.len() < TEXTS_MAX && self.count == self.sample.len() as u64 + 1 {
            self.sample.push(text.to_owned());
        } else if !self.sample.is_empty() {
            let at = Stream::new(&[self.count]).key(self.count) as usize - 1;
            self.sample.get_mut(at).into_iter().for_each(|kept| text.clone_into(kept));
        }
    }

    /// Texts to draw from, if all are texts: each as often as in proportion, or of many a sample.
    pub fn texts(&self) -> Vec<&str> {
        if self.counts.values().sum::<u64>() < self.count {
            return self.sample.iter().map(String::as_str).collect();
        }
        let share = |count: u64| ((count * TEXTS_MAX as u64 + self.count / 2) / self.count).max(1);
        let divisor = self.counts.values().map(|count| share(*count)).fold(0, gcd);
        let times = |count: u64| 0..share(count) / divisor;
        self.counts.iter().flat_map(|(text, count)| times(*count).map(move |_| text.as_str())).collect()
    }

    /// The range with one more number.
    fn range_with(&mut self, number: Number, first: bool) -> Option<(i64, i64)> {
        let before = self.decimals;
        self.decimals = before.max(number.decimals);
        let digits = number.digits_with(self.decimals)?;
        let Some((low, high)) = self.range else { return first.then_some((digits, digits)) };
        let widened = |digits| Number { digits, decimals: before }.digits_with(self.decimals);
        Some((widened(low)?.min(digits), widened(high)?.max(digits)))
    }
}

/// The greatest common divisor.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub(super) fn shape(piece: &Piece) -> Shape {
    let text = piece.text.as_str();
    let (mut form, mut literals, mut at) = (String::new(), Vec::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let before = text[..at].chars().next_back();
        if let Some((_, to)) = piece.quoted().iter().find(|(from, _)| *from == at) {
            // Names in quotes and hints are no literals.
            if c == '\'' {
                let (is_text, column) = (is_plain_text(&text[..at]), column_before(&text[..at]));
                let number = None;
                literals.push(Literal {
                    from: at,
                    to: *to,
                    number,
                    is_parameter: false,
                    time: None,
                    is_text,
                    slot: 0,
                    column,
                });
                form.push(LITERAL);
            } else {
                form.push_str(&text[at..*to]);
            }
            at = *to;
        } else if (c.is_ascii_digit() || c == '$') && !before.is_some_and(|c| is_word(c) || ".$@".contains(c))
        {
            let rest = &text[at + 1..];
            let to = at + 1 + rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len());
            let is_parameter = c == '$';
            let named = times::named_before(&text[..at]).filter(|_| is_parameter);
            // The words of a typed literal, `DATE $1`, go with it.
            let from = named.map_or(at, |(from, _)| from);
            let cast = || times::cast_to(&text[..at], &text[to..]).filter(|_| is_parameter);
            let time = named.map(|(_, time)| time).or_else(cast);
            let (number, column) = (Number::parse(&text[at..to]), column_before(&text[..from]));
            literals.push(Literal { from, to, number, is_parameter, time, is_text: false, slot: 0, column });
            form.push(LITERAL);
            at = to;
        } else {
            if !c.is_whitespace() {
                form.push(c);
            } else if !form.ends_with(' ') {
                form.push(' ');
            }
            at += c.len_utf8();
        }
    }
    let key = without_lists(&form, &mut literals);
    Shape { form, key, literals }
}

/// The form with one literal in place of all of an IN-list; gives the literals their slots.
fn without_lists(form: &str, literals: &mut [Literal]) -> String {
    let (mut key, mut slot, mut literals) = (String::new(), 0, literals.iter_mut());
    let mut rest = form;
    while let Some(c) = rest.chars().next() {
        let list = (c == LITERAL && is_in_list(&key))
            .then(|| rest.find(')'))
            .flatten()
            .filter(|end| rest[..*end].chars().all(|c| c == LITERAL || c == ',' || c == ' '));
        let length = list.unwrap_or(c.len_utf8());
        let count = rest[..length].matches(LITERAL).count();
        literals.by_ref().take(count).for_each(|literal| literal.slot = slot);
        slot += usize::from(count > 0);
        key.push(c);
        rest = &rest[length..];
    }
    key
}

/// Whether a list begins: `… IN (`.
fn is_in_list(before: &str) -> bool {
    let Some(word) = before.trim_end().strip_suffix('(').map(str::trim_end) else { return false };
    let last = word.rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
    last.eq_ignore_ascii_case("IN")
}

/// Whether an expression can stand for the text that follows: not for the end of a literal such as `DATE '…'` or
/// `x'…'`.
fn is_plain_text(before: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
    !before.ends_with(is_word) && !BEFORE_TEXTS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The lengths of the lists in each place, of those places that have several values.
pub(super) fn list_lengths(literals: &[Literal]) -> BTreeMap<usize, usize> {
    let mut lengths = BTreeMap::new();
    literals.iter().for_each(|literal| *lengths.entry(literal.slot).or_default() += 1);
    lengths
}

/// The name before a comparison: of `WHERE o.id >= `, `id`.
fn column_before(text: &str) -> Option<String> {
    let left = text.trim_end();
    let left = left.strip_suffix(['=', '<', '>'])?.trim_end_matches(['=', '<', '>', '!']).trim_end();
    let left = left.strip_suffix(['`', '"']).unwrap_or(left);
    let start = left.char_indices().rev().take_while(|(_, c)| is_word(*c)).last()?.0;
    let name = &left[start..];
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| name.to_ascii_lowercase())
}
