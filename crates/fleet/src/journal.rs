//! The fleet's journal: what was submitted. One JSON object a line, only ever appended, on disk before anything is
//! submitted. A process that is killed while it writes leaves half a line at most, which is cut off.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "event")]
pub enum Event {
    /// A job of this name is about to be submitted: whether it was, Slurm knows.
    Submitting {
        at_ms: i64,
        task: String,
        name: String,
    },
    /// Slurm acknowledged it.
    Submitted {
        at_ms: i64,
        name: String,
        job: String,
    },
    /// Slurm has no job of this task, and said why.
    Refused {
        at_ms: i64,
        task: String,
        why: String,
    },
    /// From now on nothing is submitted.
    Cancelled {
        at_ms: i64,
    },
    Resumed {
        at_ms: i64,
    },
}

/// A journal that is open for appending. Whoever opens it holds the fleet's lock.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    pub events: Vec<Event>,
}

impl Journal {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(Error::file("open", path))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(Error::file("read", path))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(Error::file("cut", path))?;
        }
        file.seek(SeekFrom::Start(whole as u64)).map_err(Error::file("read", path))?;
        let events = parse(&text[..whole], path)?;
        Ok(Self { path: path.to_owned(), file, events })
    }

    /// Reads without the lock: the last line may be incomplete and is ignored then.
    pub(crate) fn read(path: &Path) -> Result<Vec<Event>> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::file("read", path)(error)),
        };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        parse(&text[..whole], path)
    }

    /// Appends events; they are on disk when this returns.
    ///
    /// # Errors
    /// If they are not; none of them counts then.
    pub fn append(&mut self, events: Vec<Event>) -> Result<()> {
        let mut lines = Vec::new();
        for event in &events {
            serde_json::to_writer(&mut lines, event)
                .map_err(|error| Error::file("write", &self.path)(error.into()))?;
            lines.push(b'\n');
        }
        let before = self.file.stream_position().map_err(Error::file("write", &self.path))?;
        if let Err(error) = self.file.write_all(&lines).and_then(|()| self.file.sync_data()) {
            // What was written of them must not be taken for whole lines by the next append.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            return Err(Error::file("write", &self.path)(error));
        }
        self.events.extend(events);
        Ok(())
    }
}

fn parse(text: &[u8], path: &Path) -> Result<Vec<Event>> {
    let line = |(number, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|error| Error::Unreadable {
            path: path.to_owned(),
            why: format!("line {}: {error}", number + 1),
        })
    };
    text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_cut_anywhere_has_its_whole_lines_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let event = |number: i64| Event::Submitting { at_ms: number, task: "1".into(), name: "n".into() };
        let mut journal = Journal::open(&path).unwrap();
        journal.append(vec![event(1), event(2)]).unwrap();
        journal.append(vec![event(3)]).unwrap();
        let text = std::fs::read(&path).unwrap();
        let line = text.len() / 3;
        for cut in 0..=text.len() {
            std::fs::write(&path, &text[..cut]).unwrap();
            let whole = cut / line;
            assert_eq!(Journal::read(&path).unwrap().len(), whole, "cut at {cut}");
            let mut journal = Journal::open(&path).unwrap();
            journal.append(vec![event(9)]).unwrap();
            let expected: Vec<Event> = (1..=whole as i64).map(event).chain([event(9)]).collect();
            assert_eq!(Journal::open(&path).unwrap().events, expected, "cut at {cut}");
        }
    }
}
