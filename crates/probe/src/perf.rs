//! Hardware counters of the server: instructions and cycles, the most repeatable figures. Counters are opened once on
//! the server's processes and inherited by every process it forks later. At most four events are open, so that none
//! is multiplexed; if that happens anyway, it is reported and nothing is scaled.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};

use crate::family::family;
use crate::threads::threads_of;

/// An event is multiplexed if it was not counting for more than one part in this many of its time.
const MULTIPLEXED_PART: u64 = 1000;

/// Attempts to open counters without a fork of the server in between.
const ATTACH_ATTEMPTS: usize = 20;

/// Open counters of a server's processes, present and future. Clones share the same counters.
#[derive(Clone)]
pub struct PerfCounters {
    events: Arc<Mutex<Vec<OpenEvent>>>,
}

/// Totals since the counters were opened.
#[derive(Debug, Clone, PartialEq)]
pub struct PerfReading {
    totals: Vec<std::result::Result<Totals, String>>,
}

/// Execution by the server's processes over a stretch of time, including ended processes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PerfCost {
    /// Instructions executed in user space.
    pub instructions_user: Option<u64>,
    /// CPU cycles in user space.
    pub cycles_user: Option<u64>,
    /// Instructions executed in the kernel on behalf of the server.
    pub instructions_kernel: Option<u64>,
    /// CPU time by the kernel's perf clock, microseconds.
    pub task_clock_us: Option<u64>,
    /// Whether an event was multiplexed: its count is then too small, not scaled up.
    pub multiplexed: bool,
    /// The reason for each missing figure.
    pub unavailable: Vec<String>,
}

/// The counted events, in the order of [`PerfReading::totals`].
const EVENTS: [PerfEvent; 4] = [
    PerfEvent { name: INSTRUCTIONS_USER, open: |pid| open(Hardware::INSTRUCTIONS, false, pid) },
    PerfEvent { name: CYCLES_USER, open: |pid| open(Hardware::CPU_CYCLES, false, pid) },
    PerfEvent { name: "instructions:k", open: |pid| open(Hardware::INSTRUCTIONS, true, pid) },
    PerfEvent { name: "task-clock", open: |pid| open(Software::TASK_CLOCK, false, pid) },
];

const INSTRUCTIONS_USER: &str = "instructions:u";
const CYCLES_USER: &str = "cycles:u";

struct PerfEvent {
    name: &'static str,
    open: fn(u32) -> io::Result<Counter>,
}

fn open(event: impl Event, kernel: bool, pid: u32) -> io::Result<Counter> {
    Builder::new(event)
        .observe_pid(pid as i32)
        .any_cpu()
        .inherit(true)
        .exclude_kernel(!kernel)
        .exclude_user(kernel)
        .enabled(true)
        .build()
}

struct OpenEvent {
    name: &'static str,
    counters: std::result::Result<Vec<Counter>, String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Totals {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl PerfCounters {
    /// Opens the counters on the process `pid`, its threads and its children, preferably right after the server's
    /// start. Never fails: every cost reports events that the host lacks or does not permit, with the reason.
    pub fn attach(pid: u32) -> Self {
        let events = EVENTS
            .iter()
            .map(|event| OpenEvent { name: event.name, counters: open_tree(event, pid) })
            .collect();
        PerfCounters { events: Arc::new(Mutex::new(events)) }
    }

    /// Reads the totals of every event over live and ended processes.
    pub fn read(&self) -> PerfReading {
        PerfReading { totals: self.lock().iter_mut().map(OpenEvent::read).collect() }
    }

    /// Reads user instructions only; `None` if they are not counted.
    pub fn read_instructions_user(&self) -> Option<u64> {
        let mut events = self.lock();
        let open = events.iter_mut().find(|open| open.name == INSTRUCTIONS_USER)?;
        open.read().ok().map(|totals| totals.count)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenEvent {
    fn read(&mut self) -> std::result::Result<Totals, String> {
        let counters = self.counters.as_mut().map_err(|reason| reason.clone())?;
        let mut totals = Totals::default();
        for counter in counters {
            let data = counter.read_full().map_err(|error| format!("{}: {error}", self.name))?;
            totals.count += data.count();
            totals.enabled_ns += data.time_enabled().map_or(0, |time| time.as_nanos() as u64);
            totals.running_ns += data.time_running().map_or(0, |time| time.as_nanos() as u64);
        }
        Ok(totals)
    }
}

/// Checks on the calling thread whether this host can count user space instructions.
///
/// # Errors
/// The reason why not, as a phrase.
pub fn counts_instructions() -> std::result::Result<(), String> {
    counts(INSTRUCTIONS_USER, Hardware::INSTRUCTIONS)
}

/// Whether this host can count user space cycles.
pub(crate) fn counts_cycles() -> bool {
    counts(CYCLES_USER, Hardware::CPU_CYCLES).is_ok()
}

fn counts(name: &str, counted: Hardware) -> std::result::Result<(), String> {
    let mut counter = Builder::new(counted)
        .enabled(true)
        .exclude_kernel(true)
        .build()
        .map_err(|error| reason(name, &error))?;
    match counter.read() {
        Ok(0) => Err(format!("{name}: the counter does not advance on this host")),
        Ok(_) => Ok(()),
        Err(error) => Err(reason(name, &error)),
    }
}

/// Opens one event on every thread of the server's main process and of its existing children. A thread that starts
/// between listing and opening would be counted twice or not at all, so the list must be the same before and after.
fn open_tree(event: &PerfEvent, pid: u32) -> std::result::Result<Vec<Counter>, String> {
    let mut counters = Vec::new();
    for _ in 0..ATTACH_ATTEMPTS {
        let before = tasks_of(pid);
        counters = vec![(event.open)(pid).map_err(|error| reason(event.name, &error))?];
        let unchanged = tasks_of(pid).iter().all(|task| before.contains(task));
        for task in before.into_iter().filter(|&task| task != pid) {
            match (event.open)(task) {
                Ok(counter) => counters.push(counter),
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                Err(error) => return Err(reason(event.name, &error)),
            }
        }
        if unchanged {
            break;
        }
    }
    Ok(counters)
}

/// Ids of all threads of a process and of its descendants.
fn tasks_of(pid: u32) -> Vec<u32> {
    let processes = family(pid);
    processes.iter().flat_map(|stat| threads_of(stat.pid.cast_unsigned())).collect()
}

/// Why the kernel did not open an event.
fn reason(name: &str, error: &io::Error) -> String {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOENT | rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NODEV) => {
            format!(
                "{name}: this host has no hardware counters (usual in virtual machines without a virtual PMU)"
            )
        }
        Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            format!(
                "{name}: not permitted (kernel.perf_event_paranoid is {}; root may lower it)",
                level.trim()
            )
        }
        _ => format!("{name}: {error}"),
    }
}

impl PerfReading {
    /// The cost from `before` to this reading.
    pub fn since(&self, before: &Self) -> PerfCost {
        let mut cost = PerfCost::default();
        let mut counts = [None; EVENTS.len()];
        for ((after, before), count) in self.totals.iter().zip(&before.totals).zip(&mut counts) {
            let (after, before) = match (after, before) {
                (Ok(after), Ok(before)) => (after, before),
                (Err(why), _) | (_, Err(why)) => {
                    cost.unavailable.push(why.clone());
                    continue;
                }
            };
            *count = Some(after.count.saturating_sub(before.count));
            let enabled_ns = after.enabled_ns.saturating_sub(before.enabled_ns);
            let running_ns = after.running_ns.saturating_sub(before.running_ns);
            cost.multiplexed |= enabled_ns.saturating_sub(running_ns) > enabled_ns / MULTIPLEXED_PART;
        }
        let [instructions_user, cycles_user, instructions_kernel, task_clock_ns] = counts;
        let task_clock_us = task_clock_ns.map(|ns: u64| ns / 1000);
        PerfCost { instructions_user, cycles_user, instructions_kernel, task_clock_us, ..cost }
    }
}
