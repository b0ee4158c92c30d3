//! `orasort-fuzz`: holds every public function of `orasort` against the sort of std, with random keys, for so many
//! minutes. A failing case is made small and printed as a Rust test.
//!
//! The work is done in a second process, since what is looked for may kill one.

use crate::data::DataSet;
use crate::fuzz::functions::{ALL, Function, as_test};
use crate::fuzz::{cases, shrink::shrink};
use anyhow::{Context, Result, ensure};
use clap::Parser;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Fuzzes `orasort` against std.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// What the cases are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to go on.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// The first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Works on cases and notes in this file which one.
    #[arg(long, hide = true)]
    note: Option<PathBuf>,
    /// Calls one function with the keys of a file.
    #[arg(long, hide = true, requires = "keys")]
    function: Option<String>,
    #[arg(long, hide = true)]
    keys: Option<PathBuf>,
}

/// After so many failures there is enough to mend.
const FAILURES_MAX: usize = 3;
/// A case that takes longer hangs.
const CASE_MAX: Duration = Duration::from_secs(120);

/// What the working process notes before each call, and at its end: 8 bytes each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Note {
    case: u64,
    function: u64,
}

impl Note {
    fn write(self, file: &File) -> Result<()> {
        let bytes = [self.case.to_le_bytes(), self.function.to_le_bytes()].concat();
        file.write_all_at(&bytes, 0).context("can't note the case")
    }

    fn read(file: &File) -> Result<Self> {
        let mut bytes = [0; 16];
        file.read_exact_at(&mut bytes, 0).context("can't read which case it was")?;
        let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Ok(Self { case: number(0), function: number(8) })
    }
}

pub fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let deadline = Instant::now() + Duration::from_secs_f64(cli.minutes * 60.0);
    if let (Some(name), Some(keys)) = (&cli.function, &cli.keys) {
        call(name, keys)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(note) = &cli.note {
        work(cli.seed, cli.from, deadline, note)?;
        return Ok(ExitCode::SUCCESS);
    }
    let failures = watch(cli.seed, cli.from, deadline)?;
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Calls a function with the keys of a file: panics or dies when it fails.
fn call(name: &str, file: &Path) -> Result<()> {
    let function = ALL.iter().find(|function| function.name == name).context("no such function")?;
    let data = DataSet::read(file).context("can't read the keys")?;
    (function.check)(&data.keys());
    Ok(())
}

/// Case after case, until the time is over.
fn work(seed: u64, from: u64, deadline: Instant, note: &Path) -> Result<()> {
    let file = File::options().write(true).open(note).context("can't open the file for notes")?;
    let mut case = from;
    while Instant::now() < deadline {
        let keys = cases::draw(seed, case);
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (place, function) in ALL.iter().enumerate() {
            if case.is_multiple_of(function.once_in) {
                Note { case, function: place as u64 }.write(&file)?;
                (function.check)(&keys);
            }
        }
        case += 1;
    }
    Note { case, function: 0 }.write(&file)
}

/// Waits for a process; ends it when nothing is noted for too long.
fn wait(mut command: Command, file: &File) -> Result<ExitStatus> {
    let mut child = command.spawn().context("can't start the working process")?;
    let (mut last, mut since) = (Note::default(), Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let now = Note::read(file)?;
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > CASE_MAX {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Keeps a working process going and reports what kills it. Gives the number of failures.
fn watch(seed: u64, from: u64, deadline: Instant) -> Result<usize> {
    let program = std::env::current_exe().context("can't find this program")?;
    let folder = tempfile::tempdir().context("can't make a directory")?;
    let note = folder.path().join("note");
    let mut first = from;
    let mut failures = 0;
    let file = File::options().create_new(true).read(true).write(true).open(&note)?;
    while failures < FAILURES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        Note { case: first, function: 0 }.write(&file)?;
        let mut command = Command::new(&program);
        command.args(["--seed", &seed.to_string(), "--from", &first.to_string()]);
        command.args(["--minutes", &(left.as_secs_f64() / 60.0).to_string()]).arg("--note").arg(&note);
        let status = wait(command, &file)?;
        let noted = Note::read(&file)?;
        if status.success() {
            first = noted.case;
            break;
        }
        failures += 1;
        let function = ALL.get(noted.function as usize).context("a function of that number")?;
        println!("seed {seed}, case {}, {}: {status}", noted.case, function.name);
        println!("{}", report(&program, folder.path(), function, cases::draw(seed, noted.case))?);
        first = noted.case + 1;
    }
    println!("{} cases of seed {seed} from {from} on, {failures} failures", first - from);
    Ok(failures)
}

/// The case as a test, as small as it could be made.
fn report(program: &Path, folder: &Path, function: &Function, keys: Vec<Vec<u8>>) -> Result<String> {
    let file = folder.join("keys");
    let fails = |keys: &[Vec<u8>]| {
        let data: DataSet = keys.iter().map(Vec::as_slice).collect();
        let mut command = Command::new(program);
        command.arg("--function").arg(function.name).arg("--keys").arg(&file).stderr(Stdio::null());
        data.write(&file).is_ok() && command.status().is_ok_and(|status| !status.success())
    };
    ensure!(fails(&keys), "the case does not fail by itself: {} keys", keys.len());
    Ok(as_test(function, &shrink(keys, fails)))
}
