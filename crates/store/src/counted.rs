//! Numbers with their nouns, for sentences.

/// A number and its noun, in the plural unless it is 1: `1 test`, `3 tests`, `3 tests that can be decided`.
pub fn counted(number: usize, thing: &str) -> String {
    match (number, thing.split_once(' ')) {
        (1, _) => format!("1 {thing}"),
        (_, Some((noun, rest))) => format!("{number} {noun}s {rest}"),
        (_, None) => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_s() {
        assert_eq!(counted(1, "test"), "1 test");
        assert_eq!(counted(0, "test"), "0 tests");
        assert_eq!(counted(2, "test that can be decided"), "2 tests that can be decided");
    }
}
