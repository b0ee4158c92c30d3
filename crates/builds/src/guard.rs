//! Makes every server exit with rqps: a process started here ends when rqps does, even if rqps is killed and
//! cannot clean up.
//!
//! Linux can send a process a signal when its parent dies, but only the process itself can request that,
//! after the fork, and a change of user cancels it. So rqps starts itself again as the server's user, with a
//! hidden first argument. That second rqps, the shim, requests the signal, checks that its parent is still
//! alive, and becomes the server by `exec`. A program without the shim, such as a test, uses util-linux's
//! `setpriv` instead.
//!
//! The signal is tied to the parent *thread*, so one thread that lives as long as the program starts all
//! processes.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::cpus::{CpuSet, pin_this_thread};
use crate::error::{Error, Result};
use crate::user::ServerUser;

const SHIM_ARGUMENT: &str = "__exec-server";

/// Exit code of a shim that could not become its program (the shell's code for a command that cannot be
/// executed).
const SHIM_FAILED: i32 = 126;

static HAS_SHIM: AtomicBool = AtomicBool::new(false);

/// Call this first in `main` of a program that starts servers. In the shim it becomes the server and never
/// returns; otherwise it records that this program has the shim.
pub fn run_shim_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != SHIM_ARGUMENT) {
        HAS_SHIM.store(true, Ordering::Relaxed);
        return;
    }
    let reason = become_server(arguments);
    eprintln!("rqps {SHIM_ARGUMENT}: {reason}");
    std::process::exit(SHIM_FAILED);
}

/// The path of a program that runs what `run_shim_if_asked` and its like provide: this one, or that in `RQPS_SHIM`.
pub fn own_program() -> Result<PathBuf> {
    if HAS_SHIM.load(Ordering::Relaxed) {
        return std::env::current_exe().map_err(Error::file("find", "/proc/self/exe"));
    }
    let named = std::env::var_os("RQPS_SHIM").filter(|path| !path.is_empty());
    named.map(PathBuf::from).ok_or(Error::NoEngine)
}

/// Arguments: parent's pid, signal number, program, its arguments. Returns only on failure, with the reason.
fn become_server(mut arguments: impl Iterator<Item = OsString>) -> String {
    let mut text = || arguments.next().and_then(|argument| argument.into_string().ok());
    let parent: Option<i32> = text().and_then(|pid| pid.parse().ok());
    let signal = text().and_then(|number| Signal::from_named_raw(number.parse().ok()?));
    let (Some(parent), Some(signal), Some(program)) = (parent, signal, arguments.next()) else {
        return "for use by rqps itself only".to_owned();
    };
    if let Err(error) = heed(signal) {
        return format!("cannot heed {signal:?}: {error}");
    }
    if let Err(error) = set_parent_process_death_signal(Some(signal)) {
        return format!("cannot request a signal on the parent's death: {error}");
    }
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(parent) {
        return "the program that started this one has already exited".to_owned();
    }
    let error = Command::new(&program).args(arguments).exec();
    format!("cannot run {}: {error}", Path::new(&program).display())
}

/// Lets this signal end the shim, and the program that it becomes until that has a handler of its own. A shell starts
/// what it runs in the background with SIGQUIT ignored, which is inherited: a server whose rqps died while it started
/// would then never know.
fn heed(signal: Signal) -> io::Result<()> {
    if signal == Signal::KILL {
        return Ok(());
    }
    // `exec` replaces a handler by the signal's default.
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(signal.as_raw(), SHIM_FAILED, always).map(|_id| ())
}

/// A program of a build that runs as the server's user in a clean environment, in its own process group (so
/// Ctrl-C in a terminal reaches only rqps), and that does not outlive rqps.
pub struct Guarded {
    command: Command,
    program: PathBuf,
    user: ServerUser,
    cpus: Option<CpuSet>,
}

impl Guarded {
    /// `signal` is sent when rqps dies: QUIT for servers that then shut down at once with their children,
    /// KILL for programs without state to save. Standard streams are `/dev/null` until set with
    /// [`Guarded::command`].
    pub fn new(program: &Path, user: &ServerUser, signal: Signal) -> Result<Guarded> {
        let mut command = shim_command(signal)?;
        command
            .arg(program)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LANG", "POSIX")
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        user.apply(&mut command);
        Ok(Guarded { command, program: program.to_path_buf(), user: user.clone(), cpus: None })
    }

    /// For adding arguments and streams.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Pins the program and its children to these CPUs from its first instruction on.
    pub fn place(&mut self, cpus: Option<&CpuSet>) {
        self.cpus = cpus.cloned();
    }

    pub fn spawn(self) -> Result<Child> {
        let (program, user) = (self.program, self.user);
        keeper_spawn(self.command, self.cpus)?.map_err(|error| Error::CannotRun {
            reason: format!("{error}{}", permission_advice(&error)),
            program,
            user: user.name,
        })
    }

    /// Runs the program to its end and returns its output.
    pub fn output(mut self) -> Result<Output> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = self.program.clone();
        let child = self.spawn()?;
        child.wait_with_output().map_err(Error::file("read the output of", program))
    }

    /// As [`Guarded::output`], of a program that may hang: it is killed after `limit`, and there is no output.
    pub fn output_within(mut self, limit: Duration) -> Result<Option<Output>> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = Error::file("wait for", self.program.clone());
        let (start, mut child) = (Instant::now(), self.spawn()?);
        let (stdout, stderr) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(2)),
                Ok(None) => {
                    // Fails only if it has just exited.
                    let _killed = child.kill();
                    return child.wait().map(|_| None).map_err(failed);
                }
                Err(error) => return Err(failed(error)),
            }
        };
        let [stdout, stderr] = [stdout, stderr].map(|pipe| pipe.join().unwrap_or_default());
        Ok(Some(Output { status, stdout, stderr }))
    }
}

/// Reads a pipe to its end, in a thread: a program waits if one is full.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is what there is.
        let _read = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

/// The command up to the program's name.
pub(crate) fn shim_command(signal: Signal) -> Result<Command> {
    let shim = if HAS_SHIM.load(Ordering::Relaxed) {
        Some(OsString::from("/proc/self/exe"))
    } else {
        std::env::var_os("RQPS_SHIM").filter(|path| !path.is_empty())
    };
    if let Some(shim) = shim {
        let mut command = Command::new(shim);
        command.arg(SHIM_ARGUMENT);
        command.arg(std::process::id().to_string()).arg(signal.as_raw().to_string());
        return Ok(command);
    }
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .ok_or(Error::NoShim)?;
    let mut command = Command::new(setpriv);
    // It accepts only signal names.
    let name = if signal == Signal::QUIT { "QUIT" } else { "KILL" };
    command.args(["--pdeathsig", name, "--"]);
    Ok(command)
}

fn permission_advice(error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return String::new();
    }
    let own =
        std::env::current_exe().map_or_else(|_| "rqps itself".to_owned(), |exe| exe.display().to_string());
    format!(
        "; that user must be able to read and execute it and {own}: check their modes, the directories above, and that \
         their file system is not mounted noexec"
    )
}

/// The outer error is a failed pinning.
type Spawned = Result<io::Result<Child>>;

type SpawnRequest = (Command, Option<CpuSet>, Sender<Spawned>);

/// Sends the command to the thread that starts all processes.
fn keeper_spawn(command: Command, cpus: Option<CpuSet>) -> Spawned {
    static KEEPER: OnceLock<Mutex<Sender<SpawnRequest>>> = OnceLock::new();
    let thread_gone = || Ok(Err(io::Error::other("the thread that starts processes has exited")));
    let keeper = KEEPER.get_or_init(|| {
        let (requests, inbox) = channel::<SpawnRequest>();
        // If the thread cannot start, the channel is closed and every request below fails.
        let _detached = thread::Builder::new().name("keeper".to_owned()).spawn(move || {
            for (mut command, cpus, reply) in inbox {
                if let Err(unsent) = reply.send(spawn_placed(&mut command, cpus.as_ref()))
                    && let Ok(Ok(mut child)) = unsent.0
                {
                    let _ended = child.kill().and_then(|()| child.wait());
                }
            }
        });
        Mutex::new(requests)
    });
    let (reply, answer) = channel();
    let sent = keeper.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send((command, cpus, reply));
    match sent {
        Ok(()) => answer.recv().unwrap_or_else(|_| thread_gone()),
        Err(_) => thread_gone(),
    }
}

/// The child inherits this thread's CPUs.
fn spawn_placed(command: &mut Command, cpus: Option<&CpuSet>) -> Spawned {
    let _pinned = cpus.map(pin_this_thread).transpose()?;
    Ok(command.spawn())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::server_user;

    #[test]
    fn a_program_that_hangs_is_killed() {
        let within = |script: &str, limit: Duration| {
            let mut shell =
                Guarded::new(Path::new("/bin/sh"), &server_user().unwrap(), Signal::KILL).unwrap();
            shell.command().args(["-c", script]);
            shell.output_within(limit).unwrap()
        };
        let start = Instant::now();
        assert!(within("exec sleep 60", Duration::from_millis(300)).is_none());
        let ended = within("echo out; echo err >&2; exit 3", Duration::from_secs(30)).unwrap();
        assert_eq!(
            (ended.status.code(), &*ended.stdout, &*ended.stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
