//! Statements that say little when they are repeated: those that sleep, and those that change nothing the second time.

use super::super::pieces::{Piece, is_word};
use super::keys::{without_quotes, word_at};

/// Functions that sleep, of Postgres and of MySQL.
const SLEEPS: [&str; 4] = ["PG_SLEEP", "PG_SLEEP_FOR", "PG_SLEEP_UNTIL", "SLEEP"];

/// Whether a statement calls a function that sleeps.
pub(super) fn waits(piece: &Piece) -> bool {
    let plain = without_quotes(piece);
    let is_call = |name: &&str| {
        let after = word_at(&plain, name).map(|at| plain[at + name.len()..].trim_start());
        after.is_some_and(|after| after.starts_with('('))
    };
    SLEEPS.iter().any(is_call)
}

/// Whether a statement without variables changes the same rows to the same values each time: an UPDATE that sets
/// constants, or a DELETE.
pub(super) fn changes_once(piece: &Piece) -> bool {
    let plain = without_quotes(piece);
    if plain.starts_with("DELETE") {
        return true;
    }
    let Some(set) = word_at(&plain, "SET").filter(|_| plain.starts_with("UPDATE")) else { return false };
    let end = word_at(&plain, "WHERE").unwrap_or(plain.len());
    // Texts in quotes are blanks.
    let is_constant = |assigned: &str| {
        let Some((_, value)) = assigned.split_once('=') else { return false };
        let is_number = |value: &str| value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let value = value.trim();
        value.is_empty()
            || value == "NULL"
            || is_number(value) && value[1..].chars().all(|c| is_word(c) || c == '.')
    };
    plain.get(set + "SET".len()..end).is_some_and(|all| all.split(',').all(is_constant))
}
