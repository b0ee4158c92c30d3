//! Serves one database to rqps over a Unix socket, until it is told to end by SIGTERM.

use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use crate::api::Api;
use crate::counters;
use crate::database::Database;
use crate::describe;
use crate::error::{Error, Result};
use crate::program::{self, Files};
use crate::protocol::{Counter, Event, OpenOptions, Reply, Request, RunResult, RunSpec, receive, send};
use crate::window::{self, Lead};

/// Option that decides how many files of level 0 start a compaction.
const LEVEL0_TRIGGER: &str = "level0_file_num_compaction_trigger";
/// Its default in RocksDB.
const LEVEL0_TRIGGER_DEFAULT: &str = "4";

const CLOSED: &str = "the database is closed: it could not be reopened";

pub(crate) struct Engine {
    api: &'static Api,
    path: PathBuf,
    /// The options of the config.
    options: String,
    /// `None` only while it is reopened, or if that failed, and while a program works on it.
    database: RwLock<Option<Opened>>,
    /// The counters at the end of a program's window, until the database is open again.
    of_program: Mutex<Option<Vec<Counter>>>,
}

struct Opened {
    database: Database,
    how: OpenOptions,
}

impl Engine {
    /// Opens the database and serves it. Returns only on an error.
    pub fn run(library: &Path, path: &Path, socket: &Path, options: &str) -> Result<()> {
        let api = Api::load(library)?;
        let how = OpenOptions::default();
        let database = Database::open(api, path, options, how)?;
        let engine = Arc::new(Engine {
            api,
            path: path.to_path_buf(),
            options: options.to_owned(),
            database: RwLock::new(Some(Opened { database, how })),
            of_program: Mutex::default(),
        });
        let mut signals = Signals::new([SIGTERM]).map_err(Error::io("wait for signals"))?;
        let listener =
            UnixListener::bind(socket).map_err(Error::io(format!("listen on {}", socket.display())))?;
        let accepting = Arc::clone(&engine);
        thread::spawn(move || accepting.accept(&listener));
        if signals.forever().next().is_some() {
            engine.write().take();
        }
        Ok(())
    }

    fn accept(self: &Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming().flatten() {
            let engine = Arc::clone(self);
            thread::spawn(move || {
                // The other side learns of an error as the end of the connection, and so does the log.
                match engine.converse(&stream) {
                    Ok(()) | Err(Error::Closed) => {}
                    Err(error) => eprintln!("a connection ended: {error}"),
                }
            });
        }
    }

    fn converse(&self, stream: &UnixStream) -> Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            match receive(&mut reader)? {
                Request::Run(spec) => {
                    let mut lead = Conversation { stream, reader: &mut reader };
                    let said = match self.window(&spec, &mut lead) {
                        Ok(event) => event,
                        Err(Error::Cancelled) => Event::Cancelled,
                        Err(Error::Closed) => return Err(Error::Closed),
                        Err(error) => Event::Refused(error.to_string()),
                    };
                    send(&mut &*stream, &said)?;
                }
                Request::Go | Request::Cancel => {}
                request => {
                    let reply =
                        self.answer(request).unwrap_or_else(|error| Reply::Refused(error.to_string()));
                    send(&mut &*stream, &reply)?;
                }
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<Opened>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<Opened>> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_program(&self) -> MutexGuard<'_, Option<Vec<Counter>>> {
        self.of_program.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: Request) -> Result<Reply> {
        let guard = self.read();
        let Some(Opened { database, how }) = guard.as_ref() else {
            return match (request, self.of_program().as_ref()) {
                (Request::Counters, Some(counters)) => Ok(Reply::Counters(counters.clone())),
                _ => Err(Error::Misuse(CLOSED.to_owned())),
            };
        };
        Ok(match request {
            Request::Property(name) => Reply::Text(
                database
                    .property(&name)?
                    .ok_or_else(|| Error::Misuse(format!("this release has no property {name}")))?,
            ),
            Request::Counters => Reply::Counters(counters::read(database)?),
            Request::Shape => Reply::Shape(counters::shape(database)?),
            Request::Options => Reply::Text(describe::newest_options(database.path())?),
            Request::MakeDurable => {
                // Entries that are in no log are only in memtables.
                if how.fills {
                    database.flush()?
                } else {
                    database.sync()?
                }
                Reply::Done
            }
            Request::Flush => {
                database.flush()?;
                Reply::Done
            }
            Request::CompactLevel0(at_once) => {
                let usual =
                    describe::option_in(&self.options, LEVEL0_TRIGGER).unwrap_or(LEVEL0_TRIGGER_DEFAULT);
                database.set_option(LEVEL0_TRIGGER, if at_once { "1" } else { usual })?;
                Reply::Done
            }
            Request::CheckProgram(program) => {
                let options = describe::newest_options(database.path())?;
                program::check_version(&program, self.directory(), &options)?;
                Reply::Done
            }
            Request::Run(_) | Request::Go | Request::Cancel => Reply::Done,
        })
    }

    /// Where the database is.
    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Opens the database anew, with an empty cache.
    fn reopen(&self, how: OpenOptions) -> Result<()> {
        let mut guard = self.write();
        drop(guard.take());
        *guard = Some(Opened { database: Database::open(self.api, &self.path, &self.options, how)?, how });
        Ok(())
    }

    fn window(&self, spec: &RunSpec, lead: &mut dyn Lead) -> Result<Event> {
        self.reopen(spec.open)?;
        if let Some(program) = &spec.program {
            let result = self.window_of(program, spec, lead);
            *self.of_program() = None;
            let reopened = self.reopen(OpenOptions { fills: false, ..spec.open });
            // Why db_bench failed says more than that the database cannot be opened afterwards.
            return result.and_then(|result| reopened.map(|()| Event::Result(Box::new(result))));
        }
        let result = match self.read().as_ref() {
            Some(opened) => window::run(&opened.database, spec, lead),
            None => Err(Error::Misuse(CLOSED.to_owned())),
        };
        if spec.open.fills {
            // What is in memtables only is written when the database is closed.
            self.reopen(OpenOptions { fills: false, ..spec.open })?;
        }
        Ok(Event::Result(Box::new(result?)))
    }

    /// A window of db_bench, for which the database is closed.
    fn window_of(&self, program: &Path, spec: &RunSpec, lead: &mut dyn Lead) -> Result<RunResult> {
        let options = describe::newest_options(&self.path)?;
        let shape = match self.read().as_ref() {
            Some(opened) => counters::shape(&opened.database)?,
            None => return Err(Error::Misuse(CLOSED.to_owned())),
        };
        lead.say(&Event::Opens { threads: Vec::new(), shape })?;
        lead.wait_for_go()?;
        drop(self.write().take());
        let files = Files {
            database: &self.path,
            directory: self.directory(),
            options: &options,
            configured: &self.options,
        };
        let (result, counters) = program::run(program, &files, spec, lead)?;
        *self.of_program() = Some(counters);
        lead.say(&Event::Closed)?;
        lead.wait_for_go()?;
        Ok(result)
    }
}

/// The other side of a window.
struct Conversation<'a, 's> {
    stream: &'s UnixStream,
    reader: &'a mut BufReader<&'s UnixStream>,
}

impl Lead for Conversation<'_, '_> {
    fn say(&mut self, event: &Event) -> Result<()> {
        send(&mut &*self.stream, event)
    }

    fn wait_for_go(&mut self) -> Result<()> {
        match receive(self.reader)? {
            Request::Go => Ok(()),
            _ => Err(Error::Cancelled),
        }
    }

    fn is_cancelled(&mut self) -> bool {
        // Anything said during a window is a cancellation, and so is the end of the connection.
        let peek = Some(Duration::from_millis(1));
        if self.stream.set_read_timeout(peek).is_err() {
            return true;
        }
        let said = std::io::BufRead::fill_buf(self.reader);
        let is_quiet = said.is_err_and(|error| {
            matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
        });
        !is_quiet || self.stream.set_read_timeout(None).is_err()
    }
}
