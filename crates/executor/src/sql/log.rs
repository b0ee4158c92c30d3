//! Selects lines of a server's log: those that are shown after it has died, and its warnings.

/// Lines at the end of the log that are searched.
pub(crate) const SEARCHED_LINES: usize = 400;
const SHOWN_LINES: usize = 15;

/// The lines from the first that matches, or the last ones if none does.
pub(crate) fn lines_from(log: &str, matches: impl Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(SHOWN_LINES);
    let first = lines.iter().position(|line| matches(line)).unwrap_or(last);
    let end = lines.len().min(first + SHOWN_LINES);
    lines[first..end].join("\n")
}

/// The last lines that match; `None` if none does.
pub(crate) fn last_lines(log: &str, matches: impl Fn(&str) -> bool) -> Option<String> {
    let lines: Vec<&str> = log.lines().filter(|line| matches(line)).collect();
    let first = lines.len().saturating_sub(SHOWN_LINES);
    (!lines.is_empty()).then(|| lines[first..].join("\n"))
}

/// What begins the text of a warning, or of an error that a server starts in spite of: a plugin that is not there.
const SIGNS: [&str; 3] = ["[Warning] ", "[ERROR] ", "WARNING:"];

/// Beginning of MySQL's codes.
const CODE: &str = "MY-";

/// What MySQL needs files and values for that others can connect with TLS.
const OF_TLS: [&str; 8] =
    ["ssl_ca", "ssl_capath", "ssl_cert", "ssl_cipher", "ssl_crl", "ssl_crlpath", "ssl_key", "tls_version"];

/// MySQL's codes of warnings whose texts name no option: TLS could not be set up, or memory not be had in large pages.
const BEHIND: [(&str, &[&str]); 3] =
    [("MY-010069", &OF_TLS), ("MY-012681", &["large_pages"]), ("MY-013595", &OF_TLS)];

/// Options that a warning is about without naming them.
pub(crate) fn options_behind(warning: &str) -> &'static [&'static str] {
    let code = warning.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(code, _)| code);
    BEHIND.iter().find(|(known, _)| code == Some(*known)).map_or(&[], |(_, options)| options)
}

/// The texts of warnings in a log, and of errors, each once.
pub(crate) fn warnings(log: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in log.lines() {
        let Some((_, rest)) = SIGNS.iter().find_map(|sign| line.split_once(sign)) else { continue };
        let text = of_message(rest);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// A message with its code, if it has one: MySQL continues with that and a part of the server in brackets.
fn of_message(mut text: &str) -> String {
    let mut code = "";
    while let Some((word, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        if word.starts_with(CODE) {
            code = &text[..word.len() + "[] ".len()];
        }
        text = rest;
    }
    format!("{code}{}", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_have_codes_and_no_times() {
        let log = "2026-11-25T17:22:01.78Z 0 [Warning] [MY-011070] [Server] 'binlog_format' is deprecated.\n\
                   2026-11-25T17:22:02.78Z 0 [Warning] [MY-011070] [Server] 'binlog_format' is deprecated.\n\
                   2026-11-25 17:22:01 0 [Note] ready\n2026-11-25 17:22:01 0 [Warning] option 'x' [y] is old\n\
                   2026-11-25 17:22:01.1 UTC [9] WARNING:  archive_mode\n\
                   2026-11-25T17:22:04.7Z 0 [ERROR] [MY-010736] [Server] Couldn't load plugin named 'x.so'.\n";
        let expected = [
            "[MY-011070] 'binlog_format' is deprecated.",
            "option 'x' [y] is old",
            "archive_mode",
            "[MY-010736] Couldn't load plugin named 'x.so'.",
        ];
        assert_eq!(warnings(log), expected);
        assert_eq!(options_behind("[MY-012681] [InnoDB] mmap(138412032 bytes) failed"), ["large_pages"]);
        assert!(options_behind(expected[0]).is_empty() && options_behind("MY-012681").is_empty());
    }
}
