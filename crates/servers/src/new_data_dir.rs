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
    /// Where the finished server would listen.
    pub listen: &'a Listen,
    /// Removed at the end: for temporary files.
    pub staging: PathBuf,
    /// The directory to fill, in `staging`.
    pub staged: PathBuf,
    pub password: String,
    /// Set by somebody else to give it up.
    pub interrupted: &'a AtomicBool,
}

/// Where a program reads a secret: its standard input.
pub(crate) const SECRET_INPUT: &str = "/dev/stdin";

/// A few lines for one program alone, on no disk. The program opens it as [`SECRET_INPUT`], so it belongs to its user.
pub(crate) fn secret_input(text: &str, user: &ServerUser) -> Result<PipeReader> {
    let pipe = Path::new("a pipe");
    let (reader, mut writer) = std::io::pipe().map_err(Error::file("make", pipe))?;
    user.give_open(&reader, pipe)?;
    // It fits into the pipe, so nobody has to read yet.
    writer.write_all(format!("{text}\n").as_bytes()).map_err(Error::file("write", pipe))?;
    Ok(reader)
}

impl NewDataDir<'_> {
    /// Starts a step's program, with its output in a log.
    pub fn start(&self, mut program: Guarded) -> Result<(Child, Log)> {
        let (log, file) = Log::open(&self.spec.log_dir, &format!("{}.init", self.data_dir.name()))?;
        let errors = file.try_clone().map_err(Error::file("open", &log.path))?;
        program.command().stdout(file).stderr(errors);
        Ok((program.spawn()?, log))
    }

    /// Runs a step's program to its end; it is killed on interruption.
    pub fn run(&self, step: &'static str, program: Guarded) -> Result<Log> {
        let (mut child, log) = self.start(program)?;
        let ended =
            process::wait_unless(&mut child, self.interrupted).map_err(Error::file("wait for", step))?;
        let status = ended.ok_or_else(|| Error::Interrupted { path: self.data_dir.path.clone() })?;
        self.outcome(step, status, &log)?;
        Ok(log)
    }

    /// The failure of a step whose program has exited, if it failed.
    pub fn outcome(&self, step: &'static str, status: ExitStatus, log: &Log) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        Err(self.failed(step, &status.to_string(), log.tail(TAIL_LINES)))
    }

    /// The failure of a step, still without a hint.
    pub fn failed(&self, step: &'static str, status: &str, tail: String) -> Error {
        Error::Init {
            step,
            path: self.data_dir.path.clone(),
            status: status.to_owned(),
            hint: String::new(),
            tail,
        }
    }
}
