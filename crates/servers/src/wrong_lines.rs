//! Wrong lines of a config and of the files that it includes, told in one error.

use crate::error::Error;

/// Wrong lines that are told.
const TOLD_MAX: usize = 10;

#[derive(Default)]
pub(crate) struct WrongLines {
    lines: Vec<WrongLine>,
}

#[derive(PartialEq)]
struct WrongLine {
    file: String,
    line: usize,
    reason: String,
}

impl WrongLines {
    /// Adds a line, that of a file which is included twice once.
    pub fn add(&mut self, file: String, line: usize, reason: String) {
        let wrong = WrongLine { file, line, reason };
        if !self.lines.contains(&wrong) {
            self.lines.push(wrong);
        }
    }

    /// The error, which takes the lines; `None` without any.
    pub fn take_error(&mut self) -> Option<Error> {
        let mut lines = std::mem::take(&mut self.lines).into_iter();
        let WrongLine { file, line, mut reason } = lines.next()?;
        let mut last = file.clone();
        let untold = lines.len().saturating_sub(TOLD_MAX - 1);
        for more in lines.take(TOLD_MAX - 1) {
            let place = if more.file == last { "line ".to_owned() } else { format!("{}:", more.file) };
            reason.push_str(&format!("; {place}{}: {}", more.line, more.reason));
            last = more.file;
        }
        if untold > 0 {
            reason.push_str(&format!("; and {untold} lines more"));
        }
        Some(Error::ConfigSyntax { file, line, reason })
    }
}
