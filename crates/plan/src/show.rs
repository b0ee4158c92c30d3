//! What a plan will do, for `plan show`: arms, steps, time.

use std::fmt::Write as _;

use rqps_model::Pacer;

use crate::driver::Driver;
use crate::estimate::{duration_text, estimate};
use crate::insert::{EndsBy, InsertOptions};
use crate::isolated::block_seconds;
use crate::model::{Benchmark, OnServerDeath, Plan, Protocol, Transport, WriteWork};
use crate::profile::ProfileAfter;
use crate::reader::grouped;
use crate::schedule::{Action, ActionKind, Measure, Schedule};
use rqps_model::{Limit, Warmup};

/// The resolved plan as text, with the estimated time of each action, of an arm and of the whole.
///
/// Every arm does the same steps, so they are listed once.
pub fn render_schedule(plan: &Plan, schedule: &Schedule) -> String {
    if plan.protocol == Protocol::Isolated {
        return render_blocks(plan);
    }
    let seconds = estimate(schedule, plan);
    let base = plan.base_index();
    let (mut rows, mut base_seconds) = (Vec::new(), 0.0);
    for (action, seconds) in schedule.actions.iter().zip(&seconds) {
        if action.arm == base {
            rows.push(action_row(plan, action, *seconds));
            base_seconds += seconds;
        }
    }
    let mut out = head(plan);
    push_table(&mut out, ["", "arm", "build", "config"], &arm_rows(plan));
    out.push('\n');
    push_table(&mut out, ["", "step of every arm", "clients", "until", "about"], &rows);
    let arms = counted(plan.arms.len() as u64, "arm");
    let total = duration_text(seconds.iter().sum());
    let _ = writeln!(out, "\nabout {} per arm; {arms}: about {total}", duration_text(base_seconds));
    out
}

/// A plan of blocks: its arms, its tests, how long a block takes.
fn render_blocks(plan: &Plan) -> String {
    let isolated = plan.blocks();
    let mut out = head_of_data(plan);
    let (windows, seconds) = (isolated.windows, isolated.window_seconds);
    let windows = counted(windows.into(), "window");
    let _ = writeln!(
        out,
        "a block starts every arm from the same data; in it each arm has {windows} of each test,"
    );
    let _ = writeln!(out, "in mirrored order, each with as much work as base does in {seconds} s\n");
    push_table(&mut out, ["", "arm", "build", "config"], &arm_rows(plan));
    let tests = &plan.workload.steps;
    let _ = writeln!(out, "\n{}: {}", counted(tests.len() as u64, "test"), tests.join(", "));
    let block_seconds = block_seconds(plan, tests.len());
    let _ = writeln!(
        out,
        "\nabout {} a block of all tests; verdicts from 3 blocks on, at most {}",
        duration_text(block_seconds),
        isolated.blocks_max
    );
    let _ = match plan.budget {
        Some(budget) => writeln!(out, "budget {}", duration_text(budget.as_secs_f64())),
        None => writeln!(out, "no budget: goes on until every verdict is reached"),
    };
    out
}

fn head(plan: &Plan) -> String {
    let workload = &plan.workload;
    let warmup = warmup_text(workload.warmup);
    let mut out = head_of_data(plan);
    let death = match plan.on_server_death {
        OnServerDeath::NextArm => "the next arm follows",
        OnServerDeath::Stop => "the run ends",
    };
    if let Some(insert) = &plan.insert {
        let _ = writeln!(out, "{}; when a server dies {death}\n", queue_text(insert));
        return out;
    }
    let writes = match workload.write_work {
        WriteWork::AsBase => "every arm does the writes that base did",
        WriteWork::Time => "every arm writes as much as its time allows",
    };
    let _ = writeln!(out, "warm-up {warmup}; {writes}; when a server dies {death}\n");
    out
}

/// What the plan is, and on which data.
fn head_of_data(plan: &Plan) -> String {
    let workload = &plan.workload;
    let benchmark = match workload.benchmark {
        Benchmark::Microbenchmarks => "microbenchmarks",
        Benchmark::Insert => "Insert Benchmark",
    };
    let protocol = match plan.protocol {
        Protocol::Sequence => "in sequence",
        Protocol::Isolated => "in isolated blocks",
    };
    let mut out = String::new();
    let _ = writeln!(out, "plan {}: {benchmark} {protocol}, seed {}", plan.name, plan.seed);
    let tables = counted(u64::from(workload.tables), "table");
    let clients = counted(u64::from(workload.clients), "client");
    let transport = match workload.transport {
        Transport::Unix => "a Unix socket",
        Transport::Tcp => "TCP on loopback",
    };
    let by = match workload.driver {
        Driver::Rqps => "",
        Driver::Sysbench => " by sysbench",
    };
    let _ = writeln!(out, "{tables} of {}, {clients} over {transport}{by}", counted(workload.rows, "row"));
    let of = match plan.profile.after {
        ProfileAfter::Never => return out,
        ProfileAfter::Changed => "of tests that changed",
        ProfileAfter::All => "of every test",
    };
    let _ = writeln!(out, "at the end CPU profiles {of}, {} s each", plan.profile.seconds);
    out
}

/// How the queue is moved.
fn queue_text(insert: &InsertOptions) -> String {
    let deletes = match (insert.shared_table, insert.delete_form) {
        (true, _) => "nothing is deleted from a shared table".to_owned(),
        (false, form) => format!("deletes of the form \"{}\"", form.key()),
    };
    let pacer = match insert.pacer {
        Pacer::Even => "rates evenly spread",
        Pacer::Burst => "rates in a burst each second",
    };
    let ends = match insert.ends_by {
        EndsBy::Rows => "query steps end by rows",
        EndsBy::Time => "query steps end by time",
    };
    let mut text = format!("{deletes}; {pacer}; {ends}");
    if insert.partitions > 1 {
        let _ = write!(text, "; tables of {} partitions", insert.partitions);
    }
    if let Some(memory) = insert.server_memory {
        let _ = write!(text, "; servers of {memory}, page cache included");
    }
    text
}

/// What a step of the Insert Benchmark does until it ends.
fn queue_until(plan: &Plan, measure: &Measure, rows: Option<u64>) -> String {
    let (Some(queue), Some(insert)) = (measure.test.queue, &plan.insert) else {
        return String::new();
    };
    let deletes = insert.sizes(plan.workload.clients).deletes(measure.test);
    let mut text = match rows {
        Some(rows) => counted(rows, "row"),
        None => format!("{} s", insert.query_seconds),
    };
    if measure.clients > 1 && rows.is_some() {
        text.push_str(" a client");
    }
    let _ = write!(text, " by {}", queue.rows_per_statement);
    if deletes {
        text.push_str(", as many deleted");
    }
    if queue.builds_indexes {
        text.push_str(", then 3 indexes");
    }
    if let Some(rate) = queue.rows_per_second {
        let _ = write!(text, ", {rate}/s");
    }
    text
}

fn warmup_text(warmup: Warmup) -> String {
    match warmup {
        Warmup::Time(time) => format!("of {} s", time.as_secs_f64()),
        Warmup::Detect => "until the rate is steady".to_owned(),
    }
}

fn arm_rows(plan: &Plan) -> Vec<[String; 4]> {
    let row = |arm: &crate::model::Arm| {
        let mark = if arm.control {
            "base again"
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
        ActionKind::Measure(measure) => {
            let mut until = match &measure.limit {
                Limit::Time(time) => format!("{} s", time.as_secs()),
                Limit::Events(events) => format!("{} events", thousands(*events)),
                Limit::Rows(_) | Limit::Work(_) => String::new(),
            };
            if measure.test.queue.is_some() {
                let rows = if let Limit::Rows(rows) = measure.limit { Some(rows) } else { None };
                until = queue_until(plan, measure, rows);
            }
            let follows = measure.test.writes() && plan.workload.write_work == WriteWork::AsBase;
            if follows && plan.arms.len() > 1 && !matches!(measure.limit, Limit::Events(_)) {
                until.push_str(" on base, then its work");
            }
            if let Some(share) = measure.delete_share_max {
                let _ = write!(until, ", or {} % of rows gone", share * 100.0);
            }
            if let Some(rate) = measure.rate_per_second {
                let _ = write!(until, ", {rate} events/s");
            }
            if measure.warmup != plan.workload.warmup {
                let _ = write!(until, ", warm-up {}", warmup_text(measure.warmup));
            }
            (measure.position.to_string(), measure.clients.to_string(), until)
        }
        ActionKind::Load if plan.insert.is_some() => {
            let tables = counted(u64::from(plan.workload.tables), "empty table");
            (String::new(), String::new(), tables)
        }
        ActionKind::Load => (String::new(), String::new(), counted(plan.workload.rows_total(), "row")),
        ActionKind::Start | ActionKind::Vacuum | ActionKind::Stop => Default::default(),
    };
    [position, name, clients, until, about]
}

/// A table with two blanks between columns; columns of numbers to the right.
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

fn thousands(number: u64) -> String {
    grouped(number).replace('_', ",")
}

fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", thousands(number))
}
