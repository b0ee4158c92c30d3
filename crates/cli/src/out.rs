//! Standard output: results only. Standard error: everything else. A reader that has seen enough and closed
//! the pipe, or a terminal that is gone, is no error and ends no run.

use std::io::{ErrorKind, Write};

/// Prints text as it is.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Prints text with a line's end.
pub fn print_line(text: &str) -> anyhow::Result<()> {
    print(&format!("{}\n", text.trim_end_matches('\n')))
}

/// Tells the user something beside the results.
pub fn tell(text: &str) {
    // Nobody is left to be told of a failure.
    let _told = writeln!(std::io::stderr().lock(), "{text}");
}
