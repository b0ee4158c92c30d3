//! The processes beside which `calibrate --noise` measures: this program, started again with a hidden first argument.

use anyhow::Context as _;
use rqps_calibrate::noise::Noise;
use rustix::process::getppid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ARGUMENT: &str = "__noise";

/// In a process of [`Running`], keeps busy until its parent ends, and ends.
pub fn make_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != ARGUMENT) {
        return;
    }
    let parent = getppid();
    let noise = arguments.next().and_then(|key| Noise::by_key(key.to_str()?));
    let made = match (noise, arguments.next().map(PathBuf::from)) {
        (Some(noise), Some(directory)) => noise.make(&directory, || getppid() == parent),
        _ => Err(std::io::Error::other("for use by rqps itself only")),
    };
    if let Err(error) = &made {
        eprintln!("rqps {ARGUMENT}: {error}");
    }
    std::process::exit(i32::from(made.is_err()));
}

/// Processes that keep the machine busy until this is dropped, or this process is killed.
pub struct Running(Vec<Child>);

impl Running {
    /// Starts `count` of them.
    pub fn start(count: u32, directory: &Path) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let mut running = Self(Vec::new());
        for noise in Noise::of(count) {
            let mut command = Command::new(&own);
            command.args([ARGUMENT, noise.key()]).arg(directory).stdin(Stdio::null()).stdout(Stdio::null());
            running.0.push(command.spawn().context("cannot start a process of --noise")?);
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself, on a full disk.
            let _ended = child.kill().and_then(|()| child.wait());
        }
    }
}
