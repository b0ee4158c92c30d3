//! A connection to the engine process.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rqps_executor::SessionResult;
use rqps_model::Dbms;
use rqps_rocksdb_engine::protocol::{Counter, Event, Reply, Request, Shape, send};
use rqps_wire::Error as Wire;

const ENGINE: &str = "RocksDB";

/// How long an answer may take: a flush of all memtables on a slow disk.
const ANSWER_MAX: Duration = Duration::from_secs(300);

/// How often the caller of [`Connection::event`] gets to look for an interruption.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) struct Connection {
    endpoint: String,
    reader: BufReader<UnixStream>,
    /// The beginning of a line.
    partial: Vec<u8>,
}

impl Connection {
    pub fn open(socket: &Path) -> SessionResult<Self> {
        let endpoint = socket.display().to_string();
        let stream = UnixStream::connect(socket).map_err(|source| Wire::Connect {
            server: ENGINE,
            endpoint: endpoint.clone(),
            source,
            remedy: "see its log",
        })?;
        Ok(Self { endpoint, reader: BufReader::new(stream), partial: Vec::new() })
    }

    fn lost(&self, doing: &str, cause: std::io::Error) -> Wire {
        Wire::Closed { endpoint: self.endpoint.clone(), statement: doing.to_owned(), last_words: None, cause }
    }

    /// RocksDB's error, and what can be done about it if it will come again.
    pub fn refused(message: String, request: &str) -> Wire {
        let message = match rqps_servers::is_damage(Dbms::Rocksdb, &message) {
            true => format!("{message}; the database is damaged"),
            false => message,
        };
        Wire::Refused { engine: ENGINE, message, request: request.to_owned() }
    }

    pub fn say(&mut self, request: &Request) -> SessionResult<()> {
        let sent = send(&mut self.reader.get_ref(), request);
        sent.map_err(|error| self.lost("a request", std::io::Error::other(error.to_string())))
    }

    /// The next line; `None` if none has come within `at_most`.
    fn line<T: serde::de::DeserializeOwned>(&mut self, at_most: Duration) -> SessionResult<Option<T>> {
        let doing = "waiting for an answer";
        let set = self.reader.get_ref().set_read_timeout(Some(at_most));
        set.map_err(|cause| self.lost(doing, cause))?;
        match self.reader.read_until(b'\n', &mut self.partial) {
            Ok(_) if self.partial.ends_with(b"\n") => {
                let line = std::mem::take(&mut self.partial);
                let parsed = serde_json::from_slice(&line);
                parsed.map(Some).map_err(|error| Wire::Protocol {
                    server: ENGINE,
                    endpoint: self.endpoint.clone(),
                    what: error.to_string(),
                })
            }
            Ok(_) => Err(self.lost(doing, ErrorKind::UnexpectedEof.into())),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(self.lost(doing, error)),
        }
    }

    /// Asks, and waits for the answer.
    pub fn ask(&mut self, request: &Request, doing: &str) -> SessionResult<Reply> {
        self.say(request)?;
        match self.line(ANSWER_MAX)? {
            Some(Reply::Refused(message)) => Err(Self::refused(message, doing)),
            Some(reply) => Ok(reply),
            None => Err(self.lost(doing, ErrorKind::TimedOut.into())),
        }
    }

    pub fn text(&mut self, request: &Request, doing: &str) -> SessionResult<String> {
        match self.ask(request, doing)? {
            Reply::Text(text) => Ok(text),
            other => Err(self.unexpected(&other)),
        }
    }

    pub fn shape(&mut self) -> SessionResult<Shape> {
        match self.ask(&Request::Shape, "reading the shape of the LSM tree")? {
            Reply::Shape(shape) => Ok(shape),
            other => Err(self.unexpected(&other)),
        }
    }

    pub fn counters(&mut self) -> SessionResult<Vec<Counter>> {
        match self.ask(&Request::Counters, "reading counters")? {
            Reply::Counters(counters) => Ok(counters),
            other => Err(self.unexpected(&other)),
        }
    }

    /// The next event of a window; `None` if it is time to look for an interruption.
    pub fn event(&mut self) -> SessionResult<Option<Event>> {
        self.line(LOOK_EVERY)
    }

    fn unexpected(&self, reply: &Reply) -> Wire {
        Wire::Protocol { server: ENGINE, endpoint: self.endpoint.clone(), what: format!("{reply:?}") }
    }
}

#[cfg(test)]
mod tests {
    use super::Connection;

    #[test]
    fn damage_is_told_as_that() {
        let text = |message: &str| Connection::refused(message.to_owned(), "running a step").to_string();
        assert!(text("Corruption: block checksum mismatch").contains("the database is damaged"));
        assert!(!text("IO error: No space left on device").contains("damaged"));
    }
}
