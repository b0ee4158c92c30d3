//! Splits the time of an operation and its change.
//!
//! The time per operation is clients x window / operations: in a closed loop, how long a client waits for one
//! operation. It consists of CPU time of the backend, CPU time of the client, and waiting, when neither is on
//! a CPU; some kinds of waiting are measured. The CPU time of the backend is a product of instructions,
//! cycles per instruction and time per cycle. Its change is split into the contributions of the factors with
//! logarithmic mean weights, which leave no remainder (LMDI: Ang, Energy Policy 33, 2005). Each block gives
//! one split; figures are means over blocks, so they sum too.

use crate::figures::{
    BACKENDS, CLIENT_CPU_US, CLIENT_TIME, COUNTED, CYCLES, Cell, Figures, INSTRUCTIONS, OFF_CPU, QUEUED,
};
use crate::model::{Decomposition, Evidence, Part, PartName};
use crate::quantity::{Quantity, half_width};

/// Metric: the rate that a background writer is meant to keep.
pub(crate) const BACKGROUND_RATE: &str = "background_target_bytes_per_s";

/// Minimum CPU time of all windows of an arm for its split into user and kernel time, which counts ticks of
/// 10 ms: 1000 ticks give a share to 1.6 % of the whole.
const SPLIT_US_MIN: f64 = 10e6;

/// A part of one block's split.
fn piece(name: PartName, base: f64, arm: f64) -> Part {
    part(name, base, arm, arm - base, f64::NAN)
}

/// A factor's contribution to the change of a product.
fn factor(name: PartName, weight: f64, base: f64, arm: f64) -> Part {
    part(name, f64::NAN, f64::NAN, weight * (arm / base).ln(), f64::NAN)
}

fn part(name: PartName, base: f64, arm: f64, change: f64, half_width: f64) -> Part {
    Part {
        name,
        base_us_per_op: base,
        arm_us_per_op: arm,
        change_us_per_op: change,
        low: change - half_width,
        high: change + half_width,
        of: Vec::new(),
    }
}

/// Which figures of CPU time this test has.
#[derive(Clone, Copy)]
struct Known {
    instructions: Option<Instructions>,
    cycles: bool,
    kernel: bool,
}

/// Instructions per operation. Once a cost is decided they are no longer counted: later blocks have the means.
#[derive(Clone, Copy)]
struct Instructions {
    metric: &'static str,
    base_mean: f64,
    arm_mean: f64,
}

/// Splits the time per operation; `None` if CPU times are missing.
pub(crate) fn decompose(figures: &Figures) -> Option<Decomposition> {
    let time = figures.quantity(time_per_op)?;
    figures.quantity(backends_per_op)?;
    let known = known(figures);
    let (own, null) = figures.pairs(|base, arm| pieces(base, arm, known));
    let first = own.first()?;
    let parts: Vec<Part> = (0..first.len())
        .map(|at| {
            let own: Vec<&Part> = own.iter().map(|tree| &tree[at]).collect();
            let null: Vec<&Part> = null.iter().map(|tree| &tree[at]).collect();
            combine(&own, &null, figures.replicated)
        })
        .filter(|part| part.name != PartName::Client || is_there(part))
        .collect();
    let rest =
        parts.last().and_then(|waiting| waiting.of.iter().find(|kind| kind.name == PartName::Unexplained));
    Some(Decomposition {
        clients: figures.clients,
        base_us_per_op: time.base,
        arm_us_per_op: time.arm,
        low: time.change() - time.half_width,
        high: time.change() + time.half_width,
        unexplained_us_per_op: rest.map_or(0.0, |rest| rest.change_us_per_op),
        parts,
        background: background(figures),
        beside: beside(figures),
    })
}

/// Time per operation, microseconds.
pub(crate) fn time_per_op(cell: Cell<'_>) -> Option<f64> {
    cell.per_op(CLIENT_TIME)
}

fn backends_per_op(cell: Cell<'_>) -> Option<f64> {
    positive_per_op(cell, BACKENDS)
}

/// Time per operation that neither backend nor client is on a CPU, microseconds.
pub(crate) fn off_cpu_per_op(cell: Cell<'_>) -> Option<f64> {
    Some(time_per_op(cell)? - backends_per_op(cell)? - cell.per_op(CLIENT_CPU_US)?)
}

/// A test that writes at least this much log per operation, in bytes, is a writing test.
const WRITES_BYTES: f64 = 16.0;

/// From this relative change of counted instructions on, the work is not the same.
const SAME_WORK: f64 = 0.02;

/// Whether instructions were only counted outside the windows and do not match the windows' CPU time well
/// enough to compute a speed. The cost of a write depends on the time since the last checkpoint and on the
/// contents of the pages, which a count only approximates; and if the number of instructions differs, so does
/// their mix.
pub(crate) fn is_counted_apart(figures: &Figures) -> bool {
    let writes =
        || figures.per_op("server_wal_bytes").is_none_or(|found| found.base.max(found.arm) >= WRITES_BYTES);
    let is_other_work =
        || figures.per_op(COUNTED).is_some_and(|found| found.exceeds_noise() && found.share() >= SAME_WORK);
    instructions_metric(figures) == Some(COUNTED) && (writes() || is_other_work())
}

/// The metric that holds instructions; the processor's count takes precedence over a counting program's.
pub(crate) fn instructions_metric(figures: &Figures) -> Option<&'static str> {
    let multiplexed = figures.per_op("server_perf_multiplexed").is_some();
    let candidates = [(INSTRUCTIONS, multiplexed), (COUNTED, false)];
    let usable = candidates.into_iter().filter(|(_, is_unusable)| !is_unusable).map(|(name, _)| name);
    usable.into_iter().find(|name| is_positive(figures, name))
}

fn is_positive(figures: &Figures, metric: &str) -> bool {
    figures.per_op(metric).is_some_and(|found| found.base > 0.0 && found.arm > 0.0)
}

fn known(figures: &Figures) -> Known {
    let metric = instructions_metric(figures).filter(|_| !is_counted_apart(figures));
    let instructions = metric.and_then(|metric| {
        let Quantity { base: base_mean, arm: arm_mean, .. } = figures.per_op(metric)?;
        Some(Instructions { metric, base_mean, arm_mean })
    });
    let positive = |name: &str| is_positive(figures, name);
    let long = |of_arm| {
        figures.total(of_arm, |cell| cell.metric("server_cpu_us")).is_some_and(|us| us >= SPLIT_US_MIN)
    };
    Known {
        instructions,
        cycles: metric == Some(INSTRUCTIONS) && positive(CYCLES),
        kernel: positive("server_user_us") && positive("server_system_us") && long(false) && long(true),
    }
}

/// The parts of one block; `None` if a figure is missing.
fn pieces(base: Cell<'_>, arm: Cell<'_>, known: Known) -> Option<Vec<Part>> {
    let client = piece(PartName::Client, base.per_op(CLIENT_CPU_US)?, arm.per_op(CLIENT_CPU_US)?);
    Some(vec![server(base, arm, known)?, client, waiting(base, arm)?])
}

fn server(base: Cell<'_>, arm: Cell<'_>, known: Known) -> Option<Part> {
    let (base_us, arm_us) = (backends_per_op(base)?, backends_per_op(arm)?);
    let mut whole = piece(PartName::Server, base_us, arm_us);
    let Some(instructions) = known.instructions else { return Some(whole) };
    // User and kernel time are known for the whole server only; backends use nearly all of it.
    let kernel_share = |cell: Cell<'_>| {
        let (user, system) = (cell.metric("server_user_us")?, cell.metric("server_system_us")?);
        (user > 0.0).then_some(system / (user + system))
    };
    let (base_kernel, arm_kernel) = match known.kernel {
        true => (base_us * kernel_share(base)?, arm_us * kernel_share(arm)?),
        false => (0.0, 0.0),
    };
    let (base_user, arm_user) = (base_us - base_kernel, arm_us - arm_kernel);
    let both = |metric: &str| Some((positive_per_op(base, metric)?, positive_per_op(arm, metric)?));
    let Instructions { metric, base_mean, arm_mean } = instructions;
    let (base_count, arm_count) = both(metric).unwrap_or((base_mean, arm_mean));
    let mut factors = vec![(PartName::Instructions, base_count, arm_count)];
    if known.cycles {
        let (base_cycles, arm_cycles) = both(CYCLES)?;
        factors.push((PartName::CyclesPerInstruction, base_cycles / base_count, arm_cycles / arm_count));
        factors.push((PartName::TimePerCycle, base_user / base_cycles, arm_user / arm_cycles));
    } else {
        factors.push((PartName::TimePerInstruction, base_user / base_count, arm_user / arm_count));
    }
    let weight = logarithmic_mean(arm_user, base_user);
    whole.of.extend(factors.into_iter().map(|(name, base, arm)| factor(name, weight, base, arm)));
    if known.kernel {
        whole.of.push(piece(PartName::Kernel, base_kernel, arm_kernel));
    }
    Some(whole)
}

fn positive_per_op(cell: Cell<'_>, metric: &str) -> Option<f64> {
    cell.per_op(metric).filter(|value| *value > 0.0)
}

/// Waiting by its measured kinds: by the kernel, or by a server with `track_io_timing` or
/// `track_wal_io_timing`.
fn waiting(base: Cell<'_>, arm: Cell<'_>) -> Option<Part> {
    let mut whole = piece(PartName::Waiting, off_cpu_per_op(base)?, off_cpu_per_op(arm)?);
    let (mut base_us, mut arm_us) = (whole.base_us_per_op, whole.arm_us_per_op);
    let mut add = |name: PartName, us: fn(Cell<'_>) -> f64| {
        let kind = piece(name, us(base) / base.operations(), us(arm) / arm.operations());
        base_us -= kind.base_us_per_op;
        arm_us -= kind.arm_us_per_op;
        whole.of.push(kind);
    };
    add(PartName::ForCpu, queue_us);
    add(PartName::ForReads, read_us);
    add(PartName::ForLog, log_us);
    add(PartName::ForStalls, stall_us);
    whole.of.push(piece(PartName::Unexplained, base_us, arm_us));
    Some(whole)
}

/// Time that client or backend was runnable but neither had a CPU; `None` if not measured.
pub(crate) fn queued_us(cell: Cell<'_>) -> Option<f64> {
    cell.metric(QUEUED).map(|_| queue_us(cell))
}

/// A client woken by the first rows of an answer waits for a CPU while its backend still runs. That is not
/// time off the CPU, so the result is limited to the rest of that time. The time of an operation leaves out slices that
/// others interrupted, whose wait was one for a CPU: whatever else whole windows waited for is in the rest.
fn queue_us(cell: Cell<'_>) -> f64 {
    let queued = [QUEUED, "client_queued_us"].map(|name| cell.metric(name).unwrap_or(0.0));
    let (queued_us, known_us) = (queued.iter().sum::<f64>(), read_us(cell) + log_us(cell));
    let off_us = off_cpu_us(cell);
    let other_us = (cell.metric(OFF_CPU).unwrap_or(off_us) - queued_us - known_us).max(0.0);
    queued_us.min(off_us - known_us - other_us).max(0.0)
}

fn off_cpu_us(cell: Cell<'_>) -> f64 {
    off_cpu_per_op(cell).map_or(0.0, |us| us * cell.operations())
}

fn read_us(cell: Cell<'_>) -> f64 {
    1000.0 * cell.counter_sum("pg_stat_database", "blk_read_time", |_| true).unwrap_or(0.0)
}

fn log_us(cell: Cell<'_>) -> f64 {
    let of_clients = |object: &str| object.starts_with("client backend/wal/");
    let by_io = ["write_time", "fsync_time"].map(|column| cell.counter_sum("pg_stat_io", column, of_clients));
    let of_all = ["wal_write_time", "wal_sync_time"].map(|column| cell.counter("pg_stat_wal", "", column));
    1000.0 * by_io.into_iter().chain(of_all).flatten().sum::<f64>()
}

/// Time that RocksDB delayed writes of the clients: beside a background writer it delays that one. Limited to the rest
/// of the time off the CPU, since a write in a group waits for that of its leader.
fn stall_us(cell: Cell<'_>) -> f64 {
    if cell.metric(BACKGROUND_RATE).is_some() {
        return 0.0;
    }
    let rest_us = off_cpu_us(cell) - queue_us(cell) - read_us(cell) - log_us(cell);
    cell.metric("engine_stall_us").unwrap_or(0.0).min(rest_us).max(0.0)
}

/// Logarithmic mean of two positive numbers, the weight that splits a difference of products without
/// remainder.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let log = (a / b).ln();
    if log.abs() < 1e-9 { f64::midpoint(a, b) } else { (a - b) / log }
}

/// Whether a part takes time on either arm.
fn is_there(part: &Part) -> bool {
    part.base_us_per_op != 0.0 || part.arm_us_per_op != 0.0
}

/// The means of one part over blocks, with the interval of its change.
fn combine(own: &[&Part], null: &[&Part], replicated: bool) -> Part {
    let mean = |of: fn(&Part) -> f64| own.iter().map(|part| of(part)).sum::<f64>() / own.len() as f64;
    let changes = |parts: &[&Part]| parts.iter().map(|part| part.change_us_per_op).collect::<Vec<_>>();
    let half = if replicated { half_width(&changes(own), &changes(null)) } else { f64::NAN };
    let first = own.first();
    let inner = |at: usize| {
        let own: Vec<&Part> = own.iter().map(|part| &part.of[at]).collect();
        let null: Vec<&Part> = null.iter().map(|part| &part.of[at]).collect();
        combine(&own, &null, replicated)
    };
    let of = (0..first.map_or(0, |part| part.of.len())).map(inner);
    let name = first.map_or(PartName::Operation, |part| part.name);
    let (base, arm) = (mean(|part| part.base_us_per_op), mean(|part| part.arm_us_per_op));
    let whole = part(name, base, arm, mean(|part| part.change_us_per_op), half);
    Part { of: of.filter(is_there).collect(), ..whole }
}

/// Figures of an operation that belong to no part: name, unit, metric, and divisor.
const BESIDE: [(&str, &str, &str, f64); 5] = [
    ("context switches of the host", "switches", "host_context_switches", 1.0),
    ("voluntary context switches of the server (waiting)", "switches", "server_voluntary_switches", 1.0),
    (
        "involuntary context switches of the server (preempted)",
        "switches",
        "server_involuntary_switches",
        1.0,
    ),
    ("kB read from storage", "kB", "server_read_bytes", 1024.0),
    // Not `server_write_bytes`: the kernel counts a page as written when it is changed in its cache, and with large
    // folios a hundred times what reaches the disk.
    ("kB written to the host's disks, by all programs", "kB", "disk_write_kb", 1.0),
];
/// Less than this per operation is chance.
const BESIDE_MIN: f64 = 0.001;

fn beside(figures: &Figures) -> Vec<Evidence> {
    let figure = |(what, unit, metric, scale): (&str, &str, &'static str, f64)| {
        let found = figures.quantity(|cell| Some(cell.metric(metric)? / scale / cell.operations()))?;
        (found.base.max(found.arm) >= BESIDE_MIN)
            .then(|| Evidence::figure(what, format!("{unit}/{}", figures.operation()), &found))
    };
    BESIDE.into_iter().filter_map(figure).collect()
}

fn background(figures: &Figures) -> Option<Part> {
    let roles_per_op = |cell: Cell<'_>| {
        let roles: f64 = cell.roles()?.iter().filter_map(|name| cell.metric(name)).sum();
        Some(roles / cell.operations())
    };
    let found = figures.quantity(roles_per_op)?;
    (found.base.max(found.arm) >= BESIDE_MIN)
        .then(|| part(PartName::Background, found.base, found.arm, found.change(), found.half_width))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::figures::Totals;

    const METRICS: [&str; 9] = [
        CLIENT_TIME,
        BACKENDS,
        "client_cpu_us",
        INSTRUCTIONS,
        "server_cycles_user",
        "server_user_us",
        "server_system_us",
        "server_cpu_us",
        QUEUED,
    ];

    fn adds_up(part: &Part) -> bool {
        let sum: f64 = part.of.iter().map(|inner| inner.change_us_per_op).sum();
        let close = (sum - part.change_us_per_op).abs() <= 1e-9 * part.base_us_per_op.abs().max(1.0);
        part.of.iter().all(adds_up) && (part.of.is_empty() || close)
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole(
            values in prop::collection::vec(prop::collection::vec(1e6f64..1e9, METRICS.len()), 9),
            known in 4usize..=METRICS.len(),
        ) {
            let totals = |values: &Vec<f64>| {
                let metrics = METRICS.iter().zip(values).take(known).map(|(name, value)| ((*name).to_owned(), *value));
                Totals::made(1e5, metrics.collect())
            };
            let all: Vec<Totals> = values.iter().map(totals).collect();
            let blocks = all.chunks(3).map(|block| [0, 1, 2].map(|at| block.get(at).cloned()));
            let split = decompose(&Figures::made(blocks.collect())).unwrap();
            let sum: f64 = split.parts.iter().map(|part| part.change_us_per_op).sum();
            prop_assert!((sum - split.change_us_per_op()).abs() < 1e-6);
            prop_assert!(split.parts.iter().all(adds_up), "{:?}", split.parts);
        }
    }

    /// Instructions are counted until the cost is decided, and the later blocks are slower.
    #[test]
    fn blocks_without_a_count_are_part_of_the_split() {
        let totals = |us: f64, count: Option<f64>| {
            let known = [(CLIENT_TIME, us + 50.0), (BACKENDS, us), (CLIENT_CPU_US, 50.0)];
            let reads = ("server_wal_bytes", 0.0);
            let values = known.into_iter().chain([reads]).chain(count.map(|count| (COUNTED, count)));
            Some(Totals::made(1.0, values.map(|(name, value)| (name.to_owned(), value)).collect()))
        };
        let counted = [totals(100.0, Some(1e6)), totals(110.0, Some(1.01e6)), None];
        let later = [totals(200.0, None), totals(230.0, None), None];
        let split = decompose(&Figures::made(vec![counted, later])).unwrap();
        let sum = |us: fn(&Part) -> f64| split.parts.iter().map(us).sum::<f64>();
        assert_eq!((sum(|part| part.base_us_per_op), split.base_us_per_op), (200.0, 200.0));
        assert_eq!((sum(|part| part.arm_us_per_op), split.arm_us_per_op), (220.0, 220.0));
        let factors: Vec<PartName> = split.parts[0].of.iter().map(|part| part.name).collect();
        assert_eq!(factors, [PartName::Instructions, PartName::TimePerInstruction]);
        assert!(split.parts.iter().all(adds_up), "{:?}", split.parts);
    }

    #[test]
    fn write_stalls_are_time_of_the_clients_unless_a_background_writer_has_them() {
        let stalled_us = |more: &[(&str, f64)]| {
            let known =
                [(CLIENT_TIME, 100.0), (BACKENDS, 40.0), ("client_cpu_us", 0.0), ("engine_stall_us", 30.0)];
            let values = known.iter().chain(more).map(|(name, value)| ((*name).to_owned(), *value));
            let totals = Some(Totals::made(1.0, values.collect()));
            let split = decompose(&Figures::made(vec![[totals.clone(), totals, None]])).unwrap();
            let waiting = split.parts.iter().flat_map(|part| &part.of);
            waiting
                .filter(|kind| kind.name == PartName::ForStalls)
                .map(|kind| kind.arm_us_per_op)
                .sum::<f64>()
        };
        assert_eq!(stalled_us(&[]), 30.0);
        assert_eq!(stalled_us(&[(QUEUED, 50.0)]), 10.0, "of 60 us off the CPU");
        assert_eq!(stalled_us(&[(BACKGROUND_RATE, 1.0)]), 0.0);
    }

    /// On a busy host interrupted slices are left out of the time, but not of what the kernel tells of waiting.
    #[test]
    fn what_is_left_out_of_the_time_is_a_wait_for_a_cpu() {
        let known = [
            (CLIENT_TIME, 500.0),
            (BACKENDS, 150.0),
            (CLIENT_CPU_US, 50.0),
            (QUEUED, 800.0),
            (OFF_CPU, 1000.0),
        ];
        let totals = Some(Totals::made(1.0, known.map(|(name, value)| (name.to_owned(), value)).into()));
        let split = decompose(&Figures::made(vec![[totals.clone(), totals, None]])).unwrap();
        let kinds =
            split.parts.iter().flat_map(|part| &part.of).map(|kind| (kind.name, kind.arm_us_per_op.round()));
        assert_eq!(kinds.collect::<Vec<_>>(), [(PartName::ForCpu, 100.0), (PartName::Unexplained, 200.0)]);
    }

    #[test]
    fn bytes_written_are_those_that_reached_the_disks() {
        // A kernel with large folios, whose process counter says 1,041 kB of an insert.
        let values = [("server_write_bytes", 1041.0 * 1024.0), ("disk_write_kb", 10.6)];
        let totals = Some(Totals::made(1.0, values.map(|(name, value)| (name.to_owned(), value)).into()));
        let found = beside(&Figures::made(vec![[totals.clone(), totals, None]]));
        assert_eq!(found.iter().filter_map(|one| one.arm).collect::<Vec<_>>(), [10.6]);
    }

    #[test]
    fn a_change_is_attributed_to_its_factor() {
        // Twice the instructions at the same speed: they account for all of the change.
        let totals = |work: f64, speed: f64| {
            let values = [
                (CLIENT_TIME, 100.0 * work * speed + 50.0),
                (BACKENDS, 100.0 * work * speed),
                ("client_cpu_us", 50.0),
                (INSTRUCTIONS, 1000.0 * work),
                ("server_cycles_user", 500.0 * work * speed),
            ];
            Some(Totals::made(1.0, values.map(|(name, value)| (name.to_owned(), value)).into()))
        };
        let split = |work: f64, speed: f64| {
            let blocks = vec![[totals(1.0, 1.0), totals(work, speed), totals(1.0, 1.0)]; 3];
            let split = decompose(&Figures::made(blocks)).unwrap();
            let changes = split.parts[0].of.iter().map(|part| part.change_us_per_op.round());
            changes.collect::<Vec<_>>()
        };
        assert_eq!(split(2.0, 1.0), [100.0, 0.0, 0.0]);
        assert_eq!(split(1.0, 2.0), [0.0, 100.0, 0.0]);
        let both = split(2.0, 2.0);
        assert_eq!(both[0], both[1], "equal factors share the change");
    }
}
