//! Normalizes conditions and keys of a plan: removes literals and parameters, aliases of tables, and the numbers of
//! subplans.

use std::collections::BTreeMap;

/// Replaces a literal, a parameter or a list of them.
const LITERAL: &str = "?";

/// A condition without literals, with aliases of tables replaced by their names (`tables`: alias to name).
pub(super) fn normalised(condition: &str, tables: &BTreeMap<String, String>) -> String {
    let tokens = collapse_lists(&tokens(condition));
    let mut text = String::with_capacity(condition.len());
    for (at, token) in tokens.iter().enumerate() {
        let is_qualifier = tokens.get(at + 1).is_some_and(|next| next == ".");
        match tables.get(token).filter(|_| is_qualifier) {
            Some(name) => text.push_str(name),
            None => text.push_str(token),
        }
    }
    subplans(&text)
}

/// A filter with the sides of each equality of two columns in alphabetical order: versions write them in either.
pub(super) fn symmetric(filter: &str) -> String {
    let mut text = String::with_capacity(filter.len());
    for piece in filter.split_inclusive(')') {
        let Some((before, comparison)) = piece.strip_suffix(')').and_then(|piece| piece.rsplit_once('('))
        else {
            text.push_str(piece);
            continue;
        };
        let is_column = |side: &str| side.chars().all(|c| is_word(c) || matches!(c, '.' | '"'));
        let sides = comparison.split_once(" = ").filter(|(one, other)| is_column(one) && is_column(other));
        match sides {
            Some((one, other)) if one > other => text.push_str(&format!("{before}({other} = {one})")),
            _ => text.push_str(piece),
        }
    }
    text
}

/// Splits a condition into words, operators and blanks; a literal with its cast is one token.
fn tokens(condition: &str) -> Vec<String> {
    let chars: Vec<char> = condition.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let c = chars[at];
        if c == '\'' {
            at = end_of_cast(&chars, end_of_quoted(&chars, at, '\''));
            tokens.push(LITERAL.to_owned());
        } else if let Some(end) = end_of_parameter(&chars, at) {
            // A plan for all values has them where one for given values has literals.
            at = end;
            tokens.push(LITERAL.to_owned());
        } else if c.is_ascii_digit() {
            at = end_of(&chars, at, |c| c.is_ascii_alphanumeric() || c == '.');
            at = end_of_cast(&chars, at);
            tokens.push(LITERAL.to_owned());
        } else if c == '"' {
            at = end_of_quoted(&chars, at, '"');
            tokens.push(chars[start..at].iter().collect());
        } else if is_word(c) {
            at = end_of(&chars, at, is_word);
            tokens.push(chars[start..at].iter().collect());
        } else {
            at += 1;
            tokens.push(c.to_string());
        }
    }
    tokens
}

/// The end of a parameter with its cast, `$1` or `($1)::text`.
fn end_of_parameter(chars: &[char], from: usize) -> Option<usize> {
    let is_in_parentheses = chars[from] == '(';
    let dollar = from + usize::from(is_in_parentheses);
    if chars.get(dollar) != Some(&'$') {
        return None;
    }
    let end = end_of(chars, dollar + 1, |c| c.is_ascii_digit());
    if end == dollar + 1 {
        return None;
    }
    if !is_in_parentheses {
        return Some(end_of_cast(chars, end));
    }
    let is_cast = chars.get(end..end + 3).is_some_and(|after| after == [')', ':', ':']);
    is_cast.then(|| end_of_cast(chars, end + 1))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

fn end_of(chars: &[char], from: usize, belongs: impl Fn(char) -> bool) -> usize {
    chars[from..].iter().position(|c| !belongs(*c)).map_or(chars.len(), |length| from + length)
}

/// The end of a quoted text, in which a doubled quote is an escaped one.
fn end_of_quoted(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        if chars[at] == quote {
            if chars.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    chars.len()
}

/// The end of a cast after a literal. The literal's type follows from what it is compared with.
fn end_of_cast(chars: &[char], from: usize) -> usize {
    if chars.get(from) != Some(&':') || chars.get(from + 1) != Some(&':') {
        return from;
    }
    let mut at = end_of(chars, from + 2, is_word);
    for words in [" varying", " precision", " with time zone", " without time zone"] {
        if chars[at..].iter().copied().take(words.len()).eq(words.chars()) {
            at += words.len();
        }
    }
    if chars.get(at) == Some(&'(') {
        at = end_of(chars, at, |c| c != ')') + 1;
    }
    while chars.get(at) == Some(&'[') {
        at = end_of(chars, at, |c| c != ']') + 1;
    }
    at.min(chars.len())
}

/// Collapses lists of literals: neither their length nor how an array is written is part of the condition.
fn collapse_lists(tokens: &[String]) -> Vec<String> {
    let mut short: Vec<String> = Vec::with_capacity(tokens.len());
    for token in tokens {
        short.push(token.clone());
        while let [.., first, comma, blank, last] = short.as_slice() {
            if first != LITERAL || comma != "," || blank != " " || last != LITERAL {
                break;
            }
            short.truncate(short.len() - 3);
        }
        if let [.., array, open, value, close] = short.as_slice()
            && [array, open, value, close] == ["ARRAY", "[", LITERAL, "]"]
        {
            short.truncate(short.len() - 4);
            short.push(LITERAL.to_owned());
        }
    }
    short
}

/// Removes the numbers of subplans. Version 17 and later print `(NOT (ANY (k = (hashed SubPlan 1).col1)))`
/// for `(NOT (hashed SubPlan 1))`, and `(InitPlan 2).col1` for `$1`.
fn subplans(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(from) = text.find("(ANY (") {
        let inner = from + "(ANY ".len();
        let Some(end) = end_of_parentheses(&text, inner) else { break };
        let content = &text[inner..end];
        let replacement = match (content.contains("hashed SubPlan"), content.contains("(SubPlan")) {
            (true, _) => "(hashed SubPlan)",
            (_, true) => "(SubPlan)",
            _ => break,
        };
        // The parenthesis before ANY closes right after the inner one.
        text.replace_range(from..(end + 1).min(text.len()), replacement);
    }
    without_columns(&text.replace(&format!("Plan {LITERAL})"), "Plan)"))
}

/// The position after the parenthesis that closes the one at `from`.
pub(super) fn end_of_parentheses(text: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text[from..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(from + at + 1);
        }
    }
    None
}

/// Removes the columns of subplans: `(InitPlan).col1`.
fn without_columns(text: &str) -> String {
    let mut pieces = text.split("Plan).col");
    let mut short = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        short.push_str("Plan)");
        short.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(a: &str, b: &str) {
        let tables = [("a", "sbtest"), ("b", "sbtest"), ("sbtest1", "sbtest")];
        let tables = tables.map(|(alias, name)| (alias.to_owned(), name.to_owned())).into();
        assert_eq!(normalised(a, &tables), normalised(b, &tables));
    }

    #[test]
    fn literals_are_removed_with_their_casts() {
        let normalised = |text| normalised(text, &BTreeMap::new());
        assert_eq!(normalised("(id = 999)"), "(id = ?)");
        assert_eq!(normalised("(id = ANY ('{1,20,40}'::integer[]))"), "(id = ANY (?))");
        assert_eq!(normalised("(c = 'it''s (1,2)'::character varying(120))"), "(c = ?)");
        assert_eq!(normalised("(k <> '-8'::integer)"), "(k <> ?)");
        assert_eq!(normalised("(k = ANY (ARRAY[1, 2, 3]))"), "(k = ANY (?))");
        for generic in ["(k = ANY (ARRAY[$1, $2]))", "(k = ANY (ARRAY[($1)::integer, ($2)::integer]))"] {
            assert_eq!(normalised(generic), "(k = ANY (?))");
        }
        assert_eq!(normalised("((id >= $1) AND (c = ($2)::bpchar))"), "((id >= ?) AND (c = ?))");
        assert_eq!(normalised("(($1) $ a$1)"), "((?) $ a$1)");
        assert_eq!(normalised("(t1.c2 > 1.5e10)"), "(t1.c2 > ?)", "numbers in names stay");
        assert_eq!(normalised("((c)::text = 'a'::text)"), "((c)::text = ?)", "casts of columns stay");
    }

    #[test]
    fn aliases_and_numbers_of_subplans_are_ignored() {
        same("(a.id = b.k)", "(sbtest1.id = b.k)");
        same("(NOT (hashed SubPlan 1))", "(NOT (ANY (k = (hashed SubPlan 2).col1)))");
        same("(id = (InitPlan 2).col1)", "(id = (InitPlan 1).col1)");
    }

    #[test]
    fn the_sides_of_an_equality_of_columns_are_in_one_order() {
        let [one, other] = ["(a.bid = b.bid)", "((b.bid = a.bid) AND (a.k > ?))"].map(symmetric);
        assert_eq!((&*one, &*other), ("(a.bid = b.bid)", "((a.bid = b.bid) AND (a.k > ?))"));
        for kept in ["((b)::text = (a)::text)", "(b.k > a.k)", "(b.k = ?)", "(b.k = 'x = a')", "a) = ("] {
            assert_eq!(symmetric(kept), kept);
        }
    }

    #[test]
    fn unclosed_conditions_are_read_to_the_end() {
        let normalised = |text| normalised(text, &BTreeMap::new());
        assert_eq!(normalised("(ANY (k = (SubPlan 1"), "(ANY (k = (SubPlan ?");
        assert_eq!(normalised("(ANY (k = (SubPlan 1).col1)"), "(SubPlan)");
        assert_eq!(normalised("'abc"), "?");
        assert_eq!((normalised("("), normalised("($")), ("(".to_owned(), "($".to_owned()));
        assert_eq!(normalised("1::numeric(3"), "?");
    }
}
