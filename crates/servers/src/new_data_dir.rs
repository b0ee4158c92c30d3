//! A data directory that is being created, and the programs that create it.

use std::io::{PipeReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::AtomicBool;

use rqps_builds::ServerUser;
use rqps_builds::guard::Guarded;

use crate::data_dir::DataDir;
use crate::error::{Error, Result};
use crate::log::{Log, TAIL_LINES};
use crate::process;
use crate::spec::{Listen, ServerSpec};

pub(crate) struct NewDataDir<'a> {
    pub spec: &'a ServerSpec,
    pub data_dir: &'a DataDir,
    pub user: &'a ServerUser,
    /// The finished server's addresses.
    pub listen: &'a Listen,
    /// For temporary files; removed at the end.
    pub staging: PathBuf,
    /// The directory to fill, in `staging`.
    pub staged: PathBuf,
    pub password: String,
    /// Set by another thread to cancel.
    pub interrupted: &'a AtomicBool,
}

/// The path of a program's secret: its standard input.
pub(crate) const SECRET_INPUT: &str = "/dev/stdin";

/// A pipe with a few lines for one program, never on disk. The program opens it as [`SECRET_INPUT`], so it
/// belongs to the program's user.
pub(crate) fn secret_input(text: &str, user: &ServerUser) -> Result<PipeReader> {
    let pipe = Path::new("a pipe");
    let (reader, mut writer) = std::io::pipe().map_err(Error::file("make", pipe))?;
    user.chown_open(&reader, pipe)?;
    // It fits into the pipe's buffer, so this does not block.
    writer.write_all(format!("{text}\n").as_bytes()).map_err(Error::file("write", pipe))?;
    Ok(reader)
}

impl NewDataDir<'_> {
    /// Starts a step's program with its output in a log.
    pub fn start(&self, mut program: Guarded) -> Result<(Child, Log)> {
        let (log, file) = Log::open(&self.spec.log_dir, &format!("{}.init", self.data_dir.name()))?;
        let errors = file.try_clone().map_err(Error::file("open", &log.path))?;
        program.command().stdout(file).stderr(errors);
        Ok((program.spawn()?, log))
    }

    /// Runs a step's program to its end; kills it on interruption.
    pub fn run(&self, step: &'static str, program: Guarded) -> Result<Log> {
        let (mut child, log) = self.start(program)?;
        let ended = process::wait_unless_interrupted(&mut child, self.interrupted)
            .map_err(Error::file("wait for", step))?;
        let status = ended.ok_or_else(|| Error::Interrupted { path: self.data_dir.path.clone() })?;
        self.check_status(step, status, &log)?;
        Ok(log)
    }

    /// Returns an error if a step's program failed.
    pub fn check_status(&self, step: &'static str, status: ExitStatus, log: &Log) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        Err(self.failed(step, &status.to_string(), log.tail(TAIL_LINES)))
    }

    /// The error for a failed step, without what is known of its cause.
    pub fn failed(&self, step: &'static str, status: &str, tail: String) -> Error {
        Error::Init {
            step,
            path: self.data_dir.path.clone(),
            status: status.to_owned(),
            why: Box::default(),
            tail,
        }
    }
}
