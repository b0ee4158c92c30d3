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
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push_str("\n    ");
            column = 4;
        } else if !text.is_empty() {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// A cell's text in lines of at most `width` characters, broken behind spaces, commas and `_`, or anywhere.
pub fn in_width(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive([' ', ',', '_']) {
        let length = |line: &String, piece: &str| line.chars().count() + piece.trim_end().chars().count();
        let fits = |line: &String, piece: &str| line.is_empty() || length(line, piece) <= width;
        let mut rest: Vec<char> = piece.chars().collect();
        if lines.last().is_some_and(|line| !fits(line, piece)) {
            lines.push(String::new());
        }
        while rest.len() > width && width > 0 {
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
        assert_eq!(wrapped("aaaaaaaaaaaaaaaaaaaaaaaaa b", Some(20)), "aaaaaaaaaaaaaaaaaaaaaaaaa\n    b");
    }
}
