//! Literals of statements: statements of one kind differ in these only.

use super::super::script::{Piece, is_word};

/// A number, a text, or a `$1` in its place.
pub(super) struct Literal {
    /// Its bytes in the statement.
    pub from: usize,
    pub to: usize,
    /// Its value, if it is a whole number.
    pub number: Option<i64>,
    pub is_parameter: bool,
    /// The column that it is compared with.
    pub column: Option<String>,
}

pub(super) struct Shape {
    /// The statement without blanks that do not matter, and with `?` in place of literals.
    pub key: String,
    pub literals: Vec<Literal>,
}

pub(super) fn shape(piece: &Piece) -> Shape {
    let text = piece.text.as_str();
    let (mut key, mut literals, mut at) = (String::new(), Vec::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let before = text[..at].chars().next_back();
        if let Some((_, to)) = piece.quoted().iter().find(|(from, _)| *from == at) {
            // Names in quotes and hints are no literals.
            if c == '\'' {
                literals.push(Literal { from: at, to: *to, number: None, is_parameter: false, column: None });
                key.push('?');
            } else {
                key.push_str(&text[at..*to]);
            }
            at = *to;
        } else if (c.is_ascii_digit() || c == '$') && !before.is_some_and(|c| is_word(c) || ".$@".contains(c))
        {
            let rest = &text[at + 1..];
            let to = at + 1 + rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len());
            let is_parameter = c == '$';
            let number = text[at..to].parse().ok();
            literals.push(Literal { from: at, to, number, is_parameter, column: column_before(&text[..at]) });
            key.push('?');
            at = to;
        } else {
            if !c.is_whitespace() {
                key.push(c);
            } else if !key.ends_with(' ') {
                key.push(' ');
            }
            at += c.len_utf8();
        }
    }
    Shape { key, literals }
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
