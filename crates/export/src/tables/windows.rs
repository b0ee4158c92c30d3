//! What was measured, one row for each window, count, client, load or settle step.

use rqps_store::{Recorded, Window};

use crate::source::PLACE;
use crate::table::{Column, Table, boolean, integer, real, text, time};
use crate::value::Value;

/// Costs of an operation: column, the metric that it comes from.
const COSTS: [(Column, &str); 12] = [
    (real("cpu_us_per_op", "us", "CPU time of the server"), "server_cpu_us"),
    (
        real(
            "instructions_per_op",
            "instructions",
            "of the server in user mode, where the processor counts them; else see `counts`",
        ),
        "server_instructions_user",
    ),
    (real("wal_bytes_per_op", "bytes", "write-ahead log"), "server_wal_bytes"),
    (real("rows_per_op", "rows", "rows that the server touched"), "server_rows_touched"),
    (real("blocks_per_op", "blocks", "blocks that it asked its buffers for"), "server_blocks_touched"),
    (real("fsyncs_per_op", "fsyncs", "calls of fsync"), "server_fsyncs"),
    (real("context_switches_per_op", "switches", "of the whole host"), "host_context_switches"),
    (real("disk_reads_per_op", "requests", "read requests to disks"), "disk_reads"),
    (real("disk_read_kb_per_op", "KiB", "read from disks"), "disk_read_kb"),
    (real("disk_writes_per_op", "requests", "write requests to disks"), "disk_writes"),
    (real("disk_write_kb_per_op", "KiB", "written to disks"), "disk_write_kb"),
    (real("client_cpu_us_per_op", "us", "CPU time of rqps itself"), "client_cpu_us"),
];
/// Set where hardware counters had to share a register, so that they are too small.
const MULTIPLEXED: &str = "server_perf_multiplexed";

const FACTS: [Column; 24] = [
    integer("slot", "place in the order in which the block's windows of this step were measured, from 1")
        .or_null(),
    integer("position", "place of the step in the workload, from 1"),
    integer("clients", "clients"),
    time("started_at", "when it began, warm-up excluded"),
    integer("warmup_us", "warm-up before it").unit("us"),
    integer("elapsed_us", "its length").unit("us"),
    text("ended_by", "`time`, `work`, `share` or `error`"),
    text(
        "rate_unit",
        "what an operation is, by a word of the benchmark's: `queries`, `krows` (a thousand rows), `rows`",
    ),
    real("rate", "operations/s", "operations per second, all clients together"),
    real("target_events_per_s", "events/s", "rate asked for; null in a closed loop"),
    text("pacer", "how background writes were spread over a second: `even` or `burst`; null without any")
        .or_null(),
    real("operations", "operations", "what costs are divided by"),
    integer("events", "transactions of the test"),
    integer("queries", "statements, BEGIN and COMMIT included"),
    integer("statements", "statements without BEGIN and COMMIT"),
    integer(
        "statements_working",
        "of them, those that returned or changed a row, or whose aim is to return none",
    ),
    integer("noop_statements", "of them, those that found or changed nothing although that was their aim"),
    integer("rows", "returned, changed, or read by `scan`"),
    integer("errors", "that were not retried"),
    integer("retries", "retried transactions"),
    text("outcome", "`done`, or `invalid`: must not be used"),
    text("note", "why").or_null(),
    integer("attempt", "which attempt ended it, from 1"),
    text("seed", "of its operations; text, for it uses all 64 bits"),
];

/// The facts, then the costs: one list, as a table wants it.
static WINDOW_COLUMNS: [Column; FACTS.len() + COSTS.len()] = {
    let mut columns = [FACTS[0]; FACTS.len() + COSTS.len()];
    let mut at = 0;
    while at < columns.len() {
        columns[at] = if at < FACTS.len() { FACTS[at] } else { COSTS[at - FACTS.len()].0 };
        at += 1;
    }
    columns
};

pub(crate) static WINDOWS: Table = Table {
    name: "windows",
    about: "A measured stretch of a step on an arm, with its rate and what an operation cost.",
    key: &["run", "seq"],
    parts: [&PLACE, &WINDOW_COLUMNS],
    fill: |source, sink| {
        for window in &source.run.windows {
            let result = &window.result;
            let mut row = source.place(window, Some((&result.test, &result.group)));
            row.extend(facts(window));
            row.extend(COSTS.iter().map(|(_, metric)| per_op(window, metric)));
            sink(&row)?;
        }
        Ok(())
    },
};

fn facts(window: &Recorded<Window>) -> [Value<'_>; FACTS.len()] {
    let result = &window.result;
    [
        window.placement.map(|at| at.slot).into(),
        result.position.into(),
        result.clients.into(),
        Value::Time(result.started_at_ms),
        result.warmup_us.into(),
        result.elapsed_us.into(),
        result.ended_by.key().into(),
        (&*result.unit.key).into(),
        result.rate().into(),
        result.target_events_per_s.into(),
        result.pacer.map(|pacer| pacer.key()).into(),
        result.operations.into(),
        result.events.into(),
        result.queries.into(),
        result.statements.into(),
        result.statements_working.into(),
        result.noop_statements.into(),
        result.rows.into(),
        result.errors.into(),
        result.retries.values().sum::<u64>().into(),
        window.action.outcome.key().into(),
        window.action.note.as_ref().into(),
        window.action.attempt.into(),
        result.seed.to_string().into(),
    ]
}

fn per_op(window: &Recorded<Window>, metric: &str) -> Value<'static> {
    let is_hardware = metric == "server_instructions_user";
    if is_hardware && window.metric(MULTIPLEXED).is_some_and(|shared| shared > 0.0) {
        return Value::Null;
    }
    window.metric(metric).map(|total| total / window.result.operations).into()
}

pub(crate) static COUNTS: Table = Table {
    name: "counts",
    about: "Instructions of the process that serves one client, counted by a program in which the server ran.",
    key: &["run", "seq"],
    parts: [
        &PLACE,
        &[
            integer("events", "events that were counted"),
            real("operations", "operations", "operations in them"),
            real("instructions", "instructions", "of them"),
            real("instructions_per_op", "instructions", "of one operation"),
            text("counted_by", "the program and its version"),
        ],
    ],
    fill: |source, sink| {
        for count in &source.run.counts {
            let result = &count.result;
            let mut row = source.place(count, Some((&result.test, &result.group)));
            row.extend([
                result.events.into(),
                result.operations.into(),
                result.instructions.into(),
                result.instructions_per_op().into(),
                (&result.counted_by).into(),
            ]);
            sink(&row)?;
        }
        Ok(())
    },
};

pub(crate) static CLIENTS: Table = Table {
    name: "clients",
    about: "A client of a window: what it did, and what its backend took.",
    key: &["run", "seq", "client"],
    parts: [
        &PLACE,
        &[
            integer("client", "the client, from 0"),
            real("backend_cpu_us", "us", "CPU time of the server's processes or threads behind it"),
            real("warmup_events", "events", "events in the warm-up"),
            real("events", "events", "events in the window"),
        ],
    ],
    fill: |source, sink| {
        for window in &source.run.windows {
            let result = &window.result;
            let series = source.run.series(window.action.seq)?;
            let work = |name: &str| {
                series.iter().find(|series| series.name == name).map_or(&[][..], |series| &series.values)
            };
            let (warmup, events) = (work(super::details::WORK[0]), work(super::details::WORK[1]));
            let connected = window.connections.iter().map(|one| one.client as usize + 1).max().unwrap_or(0);
            for client in 0..connected.max(events.len()) {
                let mut row = source.place(window, Some((&result.test, &result.group)));
                let of_client = |values: &[f64]| values.get(client).copied();
                let its = window.connections.iter().filter(|one| one.client as usize == client);
                let cpu_us: Vec<f64> = its.map(|one| one.cpu_us).collect();
                let cpu_us = (!cpu_us.is_empty()).then(|| cpu_us.iter().sum::<f64>());
                row.extend([
                    client.into(),
                    cpu_us.into(),
                    of_client(warmup).into(),
                    of_client(events).into(),
                ]);
                sink(&row)?;
            }
        }
        Ok(())
    },
};

pub(crate) static CONNECTIONS: Table = Table {
    name: "connections",
    about: "A connection of a window's client: what the server took for it.",
    key: &["run", "seq", "client", "role"],
    parts: [
        &PLACE,
        &[
            integer("client", "the client, from 0"),
            text(
                "role",
                "what it was for, where a client has several: `insert`, `delete`, `maker` (looks for the smallest key) or \
                 `query`; else empty",
            ),
            real("cpu_us", "us", "CPU time of the process or thread behind it"),
        ],
    ],
    fill: |source, sink| {
        for window in &source.run.windows {
            let result = &window.result;
            for one in &window.connections {
                let mut row = source.place(window, Some((&result.test, &result.group)));
                row.extend([one.client.into(), (&one.role).into(), one.cpu_us.into()]);
                sink(&row)?;
            }
        }
        Ok(())
    },
};

pub(crate) static LOADS: Table = Table {
    name: "loads",
    about: "A load of an arm's tables.",
    key: &["run", "seq"],
    parts: [
        &PLACE,
        &[
            integer("tables", "tables"),
            integer("rows", "rows, over all tables"),
            integer("load_us", "time of the rows").unit("us"),
            integer("index_us", "time of the indexes").unit("us"),
            real("rows_per_s", "rows/s", "over rows and indexes"),
        ],
    ],
    fill: |source, sink| {
        for load in &source.run.loads {
            let result = &load.result;
            let mut row = source.place(load, None);
            row.extend([
                result.tables.into(),
                result.rows.into(),
                result.load_us.into(),
                result.index_us.into(),
                result.rows_per_s().into(),
            ]);
            sink(&row)?;
        }
        Ok(())
    },
};

pub(crate) static SETTLES: Table = Table {
    name: "settles",
    about: "A condition of a settle step.",
    key: &["run", "seq", "condition"],
    parts: [
        &PLACE,
        &[
            text("condition", "what was measured, unit last"),
            real("before", "", "its value before the step"),
            real("after", "", "its value after it"),
            real("target", "", "the value at or below which it is reached"),
            boolean("is_reached", "whether all conditions of the step were; else the cap ended it"),
            integer("elapsed_us", "length of the step").unit("us"),
            integer("cap_us", "its cap").unit("us"),
            text("actions", "what was done, in order"),
        ],
    ],
    fill: |source, sink| {
        for settle in &source.run.settles {
            let result = &settle.result;
            for condition in &result.conditions {
                let mut row = source.place(settle, None);
                row.extend([
                    (&condition.name).into(),
                    condition.before.into(),
                    condition.after.into(),
                    condition.target.into(),
                    result.reached.into(),
                    result.elapsed_us.into(),
                    result.cap_us.into(),
                    result.actions.join(", ").into(),
                ]);
                sink(&row)?;
            }
        }
        Ok(())
    },
};
