//! Text in a chart: estimates widths, shortens, and escapes for XML.
//!
//! Widths come from a table of a wide font, because the reader's font is unknown here. Common system fonts
//! are at most as wide, so text that fits by the table does not overlap.

use std::borrow::Cow;

/// Advance widths of DejaVu Sans for the printable characters of ASCII, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
    500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
/// Width of characters outside ASCII: an ideograph, the widest common one.
const WIDTH_OTHER: u16 = 1000;
/// Maximum width of bold letters relative to regular ones.
const BOLD: f64 = 1.17;

/// Font size of the title, in units of the viewBox.
pub(crate) const TITLE: f64 = 14.0;
pub(crate) const LABEL: f64 = 12.0;
/// Font size of ticks and legends; the smallest in use.
pub(crate) const SMALL: f64 = 11.0;

/// Width of a text in units of the viewBox.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let advance = |character: char| {
        let index = (character as usize).wrapping_sub(' ' as usize);
        f64::from(*WIDTHS.get(index).unwrap_or(&WIDTH_OTHER))
    };
    text.chars().map(advance).sum::<f64>() * size / 1000.0
}

/// Width of the widest text; 0 if there are none.
pub(crate) fn widest(texts: impl IntoIterator<Item = impl AsRef<str>>, size: f64) -> f64 {
    texts.into_iter().map(|text| width(text.as_ref(), size)).fold(0.0, f64::max)
}

/// Cuts the middle out of a text wider than `width_max`: names of arms often differ only in their ends.
pub(crate) fn shorten(text: &str, size: f64, width_max: f64) -> Cow<'_, str> {
    // Room that was made for the widest text may lack a rounding error.
    let width_max = width_max + 1e-6;
    if width(text, size) <= width_max {
        return Cow::Borrowed(text);
    }
    let all: Vec<char> = text.chars().collect();
    let without = |left: usize| {
        let (head, tail) = (left.div_ceil(2), left / 2);
        all[..head].iter().chain(&['…']).chain(&all[all.len() - tail..]).collect::<String>()
    };
    let fitting = (0..all.len()).rev().map(without).find(|text| width(text, size) <= width_max);
    Cow::Owned(fitting.unwrap_or_else(|| "…".to_owned()))
}

/// Wraps a bold text, as [`wrap`] does.
pub(crate) fn wrap_bold(text: &str, size: f64, width_max: f64) -> Vec<String> {
    wrap(text, size, width_max / BOLD)
}

/// Wraps a text between words; a word wider than a line is shortened.
pub(crate) fn wrap(text: &str, size: f64, width_max: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size <= width_max => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shorten(word, size, width_max).into_owned()),
        }
    }
    lines
}

/// Replaces each character that XML forbids with U+FFFD.
pub(crate) fn replaced(text: &str) -> String {
    let allowed = |character: char| match character {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => !character.is_control(),
    };
    text.chars().map(|c| if allowed(c) { c } else { '\u{fffd}' }).collect()
}

/// Escapes a text for XML; forbidden characters are replaced.
pub(crate) fn escape(text: &str) -> String {
    quick_xml::escape::escape(replaced(text)).into_owned()
}

/// An identifier that can be a URL fragment: all but ASCII letters, digits, `-` and `_` become `-`.
pub(crate) fn identifier(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let safe: String = text.chars().map(safe).collect();
    if safe.is_empty() { "chart".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_fits_and_short_text_is_kept() {
        assert_eq!(shorten("scan", LABEL, 100.0), "scan");
        assert_eq!(shorten("shop", LABEL, width("shop", LABEL) + 10.0 - 10.0 - 1e-12), "shop");
        let long = shorten("range-covered-by-a-secondary-index", LABEL, 100.0);
        assert!(long.starts_with("range") && long.ends_with("index"), "both ends tell names apart: {long}");
        assert!(width(&long, LABEL) <= 100.0, "{long}");
    }

    #[test]
    fn forbidden_characters_are_replaced() {
        assert_eq!(escape("<a\0\u{1b}&\"'>"), "&lt;a\u{fffd}\u{fffd}&amp;&quot;&apos;&gt;");
        assert_eq!(identifier("a b<'\""), "a-b---");
    }

    #[test]
    fn wrapped_titles_fit() {
        let lines = wrap_bold("rQPS of point queries, pg18 and pg17 against pg16", TITLE, 200.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| width(line, TITLE) * BOLD <= 200.0), "{lines:?}");
    }
}
