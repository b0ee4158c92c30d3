//! INSERT statements that give a row its key: run again, they fail, and a key drawn from what was captured meets rows
//! that are there already.

use super::super::pieces::{Piece, is_word};

/// Names of columns that are keys in any table.
const KEYS: [&str; 4] = ["id", "uuid", "guid", "pk"];

/// The key's column, if a statement inserts rows with a key of its own and fails if that is there; without a list of
/// columns, the first one is taken for it.
pub(super) fn inserted_key(piece: &Piece, table: &str) -> Option<String> {
    let plain = without_quotes(piece);
    let words: Vec<&str> = plain.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let has = |wanted: &[&str]| words.windows(wanted.len()).any(|found| found == wanted);
    let tolerates = has(&["ON", "DUPLICATE", "KEY"]) || has(&["ON", "CONFLICT"]);
    if words.first() != Some(&"INSERT") || words.get(1) == Some(&"IGNORE") || tolerates {
        return None;
    }
    let (at, length) =
        ["VALUES", "VALUE"].into_iter().find_map(|word| Some((word_at(&plain, word)?, word.len())))?;
    let values = listed(piece, &plain, at + length)?;
    let columns = plain[..at].find('(').and_then(|open| listed(piece, &plain, open));
    let name = |column: &&str| column.trim_matches(['"', '`', ' ']).to_ascii_lowercase();
    let (key, value) = match &columns {
        Some(columns) => {
            let mut pairs = columns.iter().map(name).zip(&values);
            pairs.find(|(column, _)| is_key(column, table))?
        }
        None => ("its first column".to_owned(), values.first()?),
    };
    let is_literal = value.starts_with(|c: char| c.is_ascii_digit() || "'\"$?-".contains(c));
    is_literal.then_some(key)
}

/// `id`, or of the table `orders` also `order_id` and `orderid`.
fn is_key(column: &str, table: &str) -> bool {
    let singular = [
        table.strip_suffix("ies").map(|stem| format!("{stem}y")),
        table.strip_suffix('s').map(str::to_owned),
    ];
    let mut names = singular.into_iter().flatten().chain([table.to_owned()]);
    KEYS.contains(&column)
        || names.any(|name| column == format!("{name}_id") || column == format!("{name}id"))
}

/// The text in upper case, with blanks in place of what is in quotes.
pub(super) fn without_quotes(piece: &Piece) -> String {
    let mut bytes = piece.text.to_ascii_uppercase().into_bytes();
    for (from, to) in piece.quoted() {
        let to = (*to).min(bytes.len());
        bytes[*from..to].fill(b' ');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

pub(super) fn word_at(plain: &str, word: &str) -> Option<usize> {
    let is_end = |c: Option<char>| c.is_none_or(|c| !is_word(c));
    let is_whole = |at: &usize| {
        is_end(plain[..*at].chars().next_back()) && is_end(plain[at + word.len()..].chars().next())
    };
    plain.match_indices(word).map(|(at, _)| at).find(is_whole)
}

/// The items of the next list in parentheses.
fn listed<'p>(piece: &'p Piece, plain: &str, from: usize) -> Option<Vec<&'p str>> {
    let open = from + plain.get(from..)?.find('(')?;
    let (mut depth, mut start, mut items) = (0, open + 1, Vec::new());
    for (at, c) in plain[open..].char_indices().map(|(at, c)| (open + at, c)) {
        match c {
            '(' => depth += 1,
            ',' if depth == 1 => {
                items.push(piece.text.get(start..at)?.trim());
                start = at + 1;
            }
            ')' if depth == 1 => {
                items.push(piece.text.get(start..at)?.trim());
                return Some(items);
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::sql::pieces::split;

    #[test]
    fn keys_that_would_be_inserted_again_are_found() {
        let key = |sql: &str| inserted_key(&split(sql, Dialect::Mysql).unwrap()[0], "orders");
        for sql in [
            "INSERT INTO orders (id, note) VALUES (17, 'a, (b')",
            "insert into `shop`.`orders` (note, `ID`) values ('VALUES (1)', 17), ('b', 18)",
            "INSERT INTO orders (note, id) VALUES (concat('a', 'b'), $1)",
        ] {
            assert_eq!(key(sql).as_deref(), Some("id"), "{sql}");
        }
        assert_eq!(key("INSERT INTO orders (order_id, n) VALUES ('7f', 1)").as_deref(), Some("order_id"));
        assert_eq!(key("INSERT INTO orders VALUES (17, 'a')").as_deref(), Some("its first column"));
        for sql in [
            "INSERT INTO orders (customer_id, note) VALUES (17, 'a')",
            "INSERT INTO orders (id, note) VALUES (DEFAULT, 'a')",
            "INSERT INTO orders (id, note) VALUES (gen_random_uuid(), 'a')",
            "INSERT INTO orders VALUES (NULL, 'a')",
            "INSERT IGNORE INTO orders (id, note) VALUES (17, 'a')",
            "INSERT INTO orders (id, n) VALUES (17, 1) ON DUPLICATE KEY UPDATE n = n + 1",
            "INSERT INTO orders (id, n) VALUES (17, 1) ON CONFLICT (id) DO NOTHING",
            "REPLACE INTO orders (id, note) VALUES (17, 'a')",
            "INSERT INTO orders SELECT * FROM new_orders WHERE id = 17",
        ] {
            assert_eq!(key(sql), None, "{sql}");
        }
    }
}
