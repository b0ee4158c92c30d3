//! `orasort-bench`: measures the library beside its peers. Each verb prints a table.

use crate::commands::{count, early, memory, sets, small, sort, threads, wide};
use crate::cost::{Meter, pin};
use crate::{algorithms, sets as data_sets};
use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Measures the sorts of `orasort` beside those of other crates.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Shows what shape the keys of each set have.
    Sets(Keys),
    /// Writes a set to a file: the number of keys, where each begins and the last ends, all bytes.
    Dump {
        set: String,
        keys: usize,
        file: PathBuf,
        #[arg(long, default_value_t = 42)]
        seed: u64,
    },
    /// Times all algorithms: ns of CPU time per key, the least of the rounds.
    Sort(Keys),
    /// Times many small sorts, beside std.
    Small(Keys),
    /// Times many sets at one size, the worst first.
    Wide(Keys),
    /// Times how soon the first rows come.
    Early(Keys),
    /// Times one thread and two, by the time that passes.
    Threads(Keys),
    /// Measures how much memory a sort needs.
    Memory(Keys),
    /// Counts instructions and cache misses per key.
    Count(Keys),
    /// Sorts the keys of a file once, for a counter that watches the process.
    #[command(hide = true)]
    Once {
        file: PathBuf,
        algorithm: String,
        #[arg(long)]
        only_prepare: bool,
    },
}

#[derive(Args)]
struct Keys {
    /// Sets or groups of sets, separated by commas: goals, unsorted, others, tuned, held-out, all, or names.
    #[arg(long, default_value = "goals")]
    sets: String,
    /// Algorithms, separated by commas: all, ours, peers, or names.
    #[arg(long, default_value = "all")]
    algorithms: String,
    /// Number of keys.
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// How often each algorithm sorts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// What the keys are drawn from.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// The core that the work stays on.
    #[arg(long, default_value_t = 0)]
    core: usize,
    /// Processes of cachegrind at a time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

/// From this size on the allocator takes memory from the kernel and gives it back, bytes. Left to itself it would keep
/// what one algorithm freed, and the next one would find its memory there already.
const MAPPED_FROM: &str = "1048576";

/// Starts the program anew where the allocator would keep freed memory.
fn with_fresh_memory() -> Result<()> {
    const SETTING: &str = "MALLOC_MMAP_THRESHOLD_";
    if std::env::var_os(SETTING).is_some() {
        return Ok(());
    }
    let program = std::env::current_exe().context("can't find this program")?;
    let mut again = Command::new(program);
    Err(again.args(std::env::args_os().skip(1)).env(SETTING, MAPPED_FROM).exec()).context("can't start anew")
}

pub fn main() -> Result<()> {
    let cli = Cli::parse();
    with_fresh_memory()?;
    match cli.verb {
        Verb::Sets(keys) => print!("{}", sets::show(&data_sets::choose(&keys.sets)?, keys.seed, keys.keys)?),
        Verb::Dump { set, keys, file, seed } => sets::dump(&set, seed, keys, &file)?,
        Verb::Sort(keys) => print_sorts(&keys, Meter::new().counts())?,
        Verb::Small(keys) => {
            pin(keys.core)?;
            print!("{}", small::table(&data_sets::choose(&keys.sets)?, keys.seed, keys.rounds)?);
        }
        Verb::Wide(keys) => {
            pin(keys.core)?;
            let (sets, chosen) = (data_sets::choose(&keys.sets)?, algorithms::choose(&keys.algorithms)?);
            print!("{}", wide::table(&sets, keys.seed, keys.keys, keys.rounds, &chosen)?);
        }
        Verb::Early(keys) => {
            pin(keys.core)?;
            print!("{}", early::table(&data_sets::choose(&keys.sets)?, keys.seed, keys.keys, keys.rounds)?);
        }
        Verb::Threads(keys) => {
            print!("{}", threads::table(&data_sets::choose(&keys.sets)?, keys.seed, keys.keys, keys.rounds)?);
        }
        Verb::Memory(keys) => {
            let chosen = algorithms::choose(&keys.algorithms)?;
            print!("{}", memory::table(&data_sets::choose(&keys.sets)?, keys.seed, keys.keys, &chosen)?);
        }
        Verb::Count(keys) if Meter::new().counts() => print_sorts(&Keys { rounds: 1, ..keys }, true)?,
        Verb::Count(keys) => {
            let (sets, chosen) = (data_sets::choose(&keys.sets)?, algorithms::choose(&keys.algorithms)?);
            print!("{}", count::table(&sets, keys.seed, keys.keys, &chosen, keys.jobs)?);
        }
        Verb::Once { file, algorithm, only_prepare } => {
            let chosen = algorithms::choose(&algorithm)?;
            chosen.iter().try_for_each(|algorithm| count::once(&file, algorithm, only_prepare))?;
        }
    }
    Ok(())
}

fn print_sorts(keys: &Keys, with_counts: bool) -> Result<()> {
    pin(keys.core)?;
    let chosen = algorithms::choose(&keys.algorithms)?;
    let mut measured = Vec::new();
    for set in data_sets::choose(&keys.sets)? {
        measured.push(sort::measure(set, keys.seed, keys.keys, keys.rounds, &chosen)?);
    }
    print!("{}", sort::times(&measured, &chosen));
    if with_counts {
        print!("\n{}", sort::counts(&measured, &chosen));
    }
    Ok(())
}
