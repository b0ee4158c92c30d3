//! Breaks long lines for a terminal.

/// Wraps lines to the terminal, between words, with a hanging indent.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width >= WRAP_MIN) else {
        return text.to_owned();
    };
    text.lines().map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

/// A narrower terminal breaks lines itself.
const WRAP_MIN: usize = 20;

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let (mut text, mut column) = (String::new(), 0);
    for word in words(line) {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push_str("\n    ");
            column = 4;
        } else if !text.is_empty() {
            text.push(' ');
            column += 1;
        }
        text.push_str(&word);
        column += length;
    }
    text
}

/// Words, a figure with its percent sign as one.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match words.last_mut() {
            Some(figure) if word.starts_with('%') => figure.extend([" ", word]),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A cell in a row of aligned text.
pub struct Aligned<'a> {
    pub text: &'a str,
    /// That of its column.
    pub width: usize,
    pub is_right: bool,
    /// The sequence that begins its colour; empty: none.
    pub colour: &'a str,
}

/// Between two columns.
pub const GAP: &str = "  ";
const RESET: &str = "\x1b[0m";

/// A row of aligned text, in several lines where a cell is wider than its column.
pub fn aligned(cells: &[Aligned<'_>]) -> String {
    let wrapped: Vec<Vec<String>> = cells.iter().map(|cell| in_width(cell.text, cell.width)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let mut line = String::new();
        for (cell, lines) in cells.iter().zip(&wrapped) {
            let text = lines.get(at).map_or("", String::as_str);
            let pad = " ".repeat(cell.width.saturating_sub(text.chars().count()));
            let text = match cell.colour.is_empty() || text.is_empty() {
                true => text.to_owned(),
                false => format!("{}{text}{RESET}", cell.colour),
            };
            match cell.is_right {
                true => line.extend([&*pad, &*text, GAP]),
                false => line.extend([&*text, &*pad, GAP]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    };
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

/// Marks behind which lists and paths are broken.
const MARKS: [char; 2] = [',', '/'];

/// The longest piece of a text that is not broken unless there is no room for it.
pub(super) fn longest_piece(text: &str) -> usize {
    let words = words(text);
    let pieces = words.iter().flat_map(|word| word.split_inclusive(MARKS));
    pieces.map(|piece| piece.chars().count()).max().unwrap_or(0)
}

/// A cell's text in lines of at most `width` characters, broken at spaces, words that are longer behind marks within
/// them, names that are longer behind theirs, or anywhere.
fn in_width(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let pieces = words(text).into_iter().flat_map(|word| {
        let is_long = word.chars().count() > width;
        let marks: &[char] = if longest_piece(&word) > width { &[',', '/', '_', '-'] } else { &MARKS };
        let mut pieces: Vec<String> = match is_long {
            true => word.split_inclusive(marks).map(str::to_owned).collect(),
            false => vec![word],
        };
        pieces.last_mut().into_iter().for_each(|last| last.push(' '));
        pieces
    });
    for piece in pieces {
        let piece = piece.as_str();
        let length = |line: &String, piece: &str| line.chars().count() + piece.trim_end().chars().count();
        let fits = |line: &String, piece: &str| line.is_empty() || length(line, piece) <= width;
        let mut rest: Vec<char> = piece.chars().collect();
        if lines.last().is_some_and(|line| !fits(line, piece)) {
            lines.push(String::new());
        }
        while width > 0 && rest.iter().skip(width).any(|c| *c != ' ') {
            lines.extend([rest.drain(..width).collect(), String::new()]);
        }
        if let Some(line) = lines.last_mut() {
            line.extend(rest);
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines.retain(|line| !line.is_empty());
    if lines.is_empty() { vec![String::new()] } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let text = "two tests: point-query, hot-points, insert\n  short";
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped(text, Some(24)), "two tests: point-query,\n    hot-points, insert\n  short");
        assert_eq!(wrapped("the same within 0.5 % in 2", Some(20)), "the same within\n    0.5 % in 2");
        assert_eq!(wrapped("aaaaaaaaaaaaaaaaaaaaaaaaa b", Some(20)), "aaaaaaaaaaaaaaaaaaaaaaaaa\n    b");
    }
}
