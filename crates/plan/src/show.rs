//! Renders a plan for `plan show`: arms, steps, estimated times.

use std::fmt::Write as _;

use rqps_model::{Limit, counted, numbers_of};

use crate::estimate::{duration_text, estimate};
use crate::isolated::block_seconds;
use crate::model::{Driver, OnServerDeath, Protocol, Transport};
use crate::plan::Plan;
use crate::profile::ProfileAfter;
use crate::schedule::Schedule;
use crate::shared::warmup_text;
use crate::step::{Action, ActionKind, StepDef};

/// The resolved plan as text, with estimated times. All arms have the same steps, so they are listed once.
pub fn render_schedule(plan: &Plan, schedule: &Schedule) -> String {
    if plan.protocol == Protocol::Isolated {
        return render_blocks(plan);
    }
    let seconds = estimate(schedule, plan);
    let base = plan.base_index();
    let (mut rows, mut base_seconds) = (Vec::new(), 0.0);
    for (action, seconds) in schedule.actions.iter().zip(&seconds) {
        if action.arm == base {
            // All passes have the same steps.
            rows.extend((action.pass == 1).then(|| action_row(plan, action, *seconds)));
            base_seconds += seconds;
        }
    }
    let mut out = header(plan);
    push_table(&mut out, ["", "arm", "build", "config"], &arm_rows(plan));
    out.push('\n');
    let clients = format!("{}s", plan.work.client_noun());
    let steps = if plan.passes > 1 { "step of every arm and pass" } else { "step of every arm" };
    push_table(&mut out, ["", steps, &clients, "until", "about"], &rows);
    let arms = counted(plan.arms.len(), "arm");
    let total = duration_text(seconds.iter().sum());
    let _ = writeln!(out, "\nabout {} per arm; {arms}: about {total}", duration_text(base_seconds));
    out
}

/// A plan of blocks: its arms, tests and the duration of a block.
fn render_blocks(plan: &Plan) -> String {
    let isolated = plan.blocks();
    let mut out = data_header(plan);
    let (windows, seconds) = (isolated.windows, isolated.window_seconds);
    let windows = counted(windows, "window");
    let _ = writeln!(
        out,
        "each block starts every arm from the same data and has {windows} of each test on each arm,"
    );
    let _ = writeln!(out, "each with {}\n", plan.work.window_of_blocks(seconds));
    push_table(&mut out, ["", "arm", "build", "config"], &arm_rows(plan));
    let tests = &plan.workload.steps;
    let _ = writeln!(out, "\n{}: {}", counted(tests.len(), "test"), tests.join(", "));
    let block_seconds = block_seconds(plan, tests.len());
    let _ = writeln!(
        out,
        "\nabout {} per block of all tests; verdicts from 3 blocks, at most {} blocks",
        duration_text(block_seconds),
        isolated.blocks_max
    );
    let _ = match plan.budget {
        Some(budget) => writeln!(out, "budget {}", duration_text(budget.as_secs_f64())),
        None => writeln!(out, "no budget: ends when every verdict is reached or its blocks are done"),
    };
    if isolated.copies > 1 {
        let copies = isolated.copies;
        let _ = writeln!(
            out,
            "builds from source in {copies} copies: each takes as long to compile as the first"
        );
    }
    out
}

fn header(plan: &Plan) -> String {
    let mut out = data_header(plan);
    let death = match plan.on_server_death {
        // A directory has no server.
        _ if plan.work.tables() == 0 => "",
        OnServerDeath::NextArm => "; if a server dies, the run continues with the next arm",
        OnServerDeath::Stop => "; if a server dies, the run ends",
    };
    let _ = writeln!(out, "{}{death}", plan.work.summary());
    if plan.passes > 1 {
        let _ = writeln!(
            out,
            "{} passes, each from the load on with all arms side by side: in each step they take turns, or follow each\n\
             other if their driver cannot",
            plan.passes
        );
    }
    out.push('\n');
    out
}

/// The plan, its data and its clients.
fn data_header(plan: &Plan) -> String {
    let workload = &plan.workload;
    let protocol = match plan.protocol {
        Protocol::Sequence => "in sequence",
        Protocol::Isolated => "in isolated blocks",
    };
    let mut out = String::new();
    let _ =
        writeln!(out, "plan {}: {} {protocol}, seed {}", plan.name, plan.work.benchmark().title(), plan.seed);
    let clients = match plan.protocol {
        Protocol::Sequence => counted(workload.clients, "client"),
        Protocol::Isolated => numbers_of(workload.steps.iter().map(|test| plan.clients_of(test)), "client"),
    };
    // Directories, which do not speak SQL either, have no connections and no line of them.
    let is_engine = plan.arms.iter().all(|arm| !arm.build.dbms.speaks_sql());
    let transport = match workload.transport {
        _ if is_engine => "in the engine's process",
        Transport::Unix => "over a Unix socket",
        Transport::Tcp => "over TCP on loopback",
    };
    let by = match workload.driver {
        Driver::Rqps => "",
        Driver::Sysbench => " by sysbench",
        Driver::HammerDb => " by HammerDB",
        Driver::DbBench => " by db_bench",
    };
    // A directory has neither tables nor connections.
    if plan.work.tables() > 0 {
        // The benchmark's own line tells the keys of an engine.
        let data = if is_engine { String::new() } else { format!("{}, ", plan.work.data()) };
        let _ = writeln!(out, "{data}{clients} {transport}{by}");
    }
    let tests = match plan.profile.after {
        ProfileAfter::Never => return out,
        ProfileAfter::Changed => "of tests that changed",
        ProfileAfter::All => "of every test",
    };
    let length = plan.profile_length(plan.profile.seconds);
    let _ = writeln!(out, "CPU profiles {tests} at the end, {length}");
    out
}

fn arm_rows(plan: &Plan) -> Vec<[String; 4]> {
    let row = |arm: &crate::model::Arm| {
        let mark = if arm.control {
            "control"
        } else if arm.name == plan.base {
            "base"
        } else {
            ""
        };
        [mark.to_owned(), arm.name.clone(), arm.build.to_string(), arm.config.clone()]
    };
    plan.arms.iter().map(row).collect()
}

fn action_row(plan: &Plan, action: &Action, seconds: f64) -> [String; 5] {
    let about = duration_text(seconds);
    let name = action.kind.name().to_owned();
    let (position, clients, until) = match &action.kind {
        ActionKind::Settle(settle) => {
            let least = match settle.seconds_min {
                0 => String::new(),
                least => format!("at least {least} s, "),
            };
            let until = format!("at rest, {least}at most {} s", settle.seconds_max);
            (settle.position.to_string(), String::new(), until)
        }
        ActionKind::Measure(step) => {
            (step.position.to_string(), step.clients.to_string(), until(plan, step, &action.kind))
        }
        ActionKind::Load(_) => {
            let rows = || counted(plan.work.rows_total(), "row");
            let loads = plan.work.describe(&action.kind).unwrap_or_else(rows);
            (String::new(), String::new(), loads)
        }
        ActionKind::Start | ActionKind::Vacuum | ActionKind::Stop => Default::default(),
    };
    [position, name, clients, until, about]
}

fn until(plan: &Plan, step: &StepDef, kind: &ActionKind) -> String {
    let mut until = plan.work.describe(kind).unwrap_or_else(|| match &step.limit {
        Limit::Time(time) => format!("{} s", time.as_secs()),
        Limit::Events(events) => counted(*events, "event"),
        Limit::Rows(rows) => counted(*rows, "row"),
        Limit::Work(_) => String::new(),
    });
    // Base's own step has not the flag.
    let is_as_base = || plan.step(&step.name).is_some_and(|step| step.as_base);
    let follows = plan.work.repeats_base() && plan.arms.len() > 1 && is_as_base();
    if follows && !matches!(step.limit, Limit::Events(_)) {
        until.push_str(" on base, same work on others");
    }
    if let Some(share) = step.removed_share_max {
        let _ = write!(until, ", or {} % of rows gone", share * 100.0);
    }
    if let Some(rate) = step.rate_per_second {
        let _ = write!(until, ", {rate} events/s");
    }
    if step.warmup != plan.work.warmup() {
        let _ = write!(until, ", warm-up {}", warmup_text(step.warmup));
    }
    until
}

/// A table with two spaces between columns; numeric columns are right-aligned.
fn push_table<const N: usize>(out: &mut String, header: [&str; N], rows: &[[String; N]]) {
    let header = header.map(str::to_owned);
    let all = || std::iter::once(&header).chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|i| all().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let right: [bool; N] = std::array::from_fn(|i| {
        rows.iter().all(|row| row[i].bytes().all(|b| b.is_ascii_digit()))
            && rows.iter().any(|row| !row[i].is_empty())
    });
    for row in all() {
        let mut line = String::new();
        for i in 0..N {
            let pad = " ".repeat(widths[i] - row[i].chars().count());
            let _ =
                if right[i] { write!(line, "{pad}{}  ", row[i]) } else { write!(line, "{}{pad}  ", row[i]) };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
