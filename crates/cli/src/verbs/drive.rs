//! `drive`: run one test against a running server, like other load generators.

use crate::args::DriveArgs;
use crate::context::Context;
use crate::progress::with_spinner;
use crate::server_address::{dbms, endpoint};
use crate::{EXIT_FAILED, EXIT_INTERRUPTED, Usage, out};
use rqps_driver::{Observer, Pace, StepError, StepResult, StepSpec};
use rqps_executor::server::{Tables, dialect, drive, load, vacuum};
use rqps_model::{Dbms, Limit, Warmup, did_you_mean};
use rqps_report::Format;
use rqps_wire::Endpoint;
use rqps_workloads::expect::TableState;
use rqps_workloads::{Test, insert_benchmark, microbenchmarks};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn run(context: &Context, args: &DriveArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "the output is not a table")?;
    let test = test(args)?;
    let dbms = dbms(args)?;
    let endpoint = endpoint(args, dbms)?;
    context.catch_signals();
    let Some(test) = test else {
        return load_tables(context, args, (dbms, &endpoint));
    };
    let spec = spec(args, dbms, test)?;
    let result =
        match drive(dbms, args.driver, &endpoint, &spec, &mut InterruptOnly(Arc::clone(&context.stop))) {
            Err(StepError::Cancelled) => return Ok(ExitCode::from(EXIT_INTERRUPTED)),
            result => result?,
        };
    out::print_line(&rendered(context, test, &result))?;
    if let Some(why) = &result.invalid {
        out::message(&format!("rqps: invalid: {why}"));
        return Ok(ExitCode::from(EXIT_FAILED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates and fills the tables instead of running a test.
const LOAD: &str = "load";

/// The requested test; `None` for the load.
fn test(args: &DriveArgs) -> anyhow::Result<Option<&'static Test>> {
    if args.test == LOAD {
        return Ok(None);
    }
    if args.vacuum {
        return Err(Usage("--vacuum is only for `load`".to_owned()).into());
    }
    if let Some(test) = microbenchmarks::test_by_name(&args.test) {
        return Ok(Some(test));
    }
    if insert_benchmark::test_by_name(&args.test).is_some() {
        let remedy = "write a plan with benchmark = \"insert\", such as `rqps plan print insert-mini`";
        let what = format!("`{}` needs the queue that the steps before it leave; {remedy}", args.test);
        return Err(Usage(what).into());
    }
    let names = || microbenchmarks::tests().iter().map(|test| test.name);
    let all = || format!("Write `load` or one of: {}.", names().collect::<Vec<_>>().join(", "));
    let remedy = did_you_mean(&args.test, names().chain([LOAD])).unwrap_or_else(all);
    Err(Usage(format!("no test `{}`. {remedy}", args.test)).into())
}

fn load_tables(
    context: &Context,
    args: &DriveArgs,
    (dbms, endpoint): (Dbms, &Endpoint),
) -> anyhow::Result<ExitCode> {
    let tables = Tables { tables: args.tables, rows: args.rows, seed: args.seed };
    let loaded = with_spinner("loading", || {
        load(dbms, endpoint, tables, |_, _| !context.stop.load(Ordering::Relaxed))
    })?;
    let Some(times) = loaded else {
        return Ok(ExitCode::from(EXIT_INTERRUPTED));
    };
    let (rows, indexes) = (times.rows.as_secs_f64(), times.indexes.as_secs_f64());
    let rate = u64::from(args.tables) as f64 * args.rows as f64 / (rows + indexes);
    out::print_line(&match context.format {
        Format::Json => json!({ "rows_per_s": rate, "rows_s": rows, "indexes_s": indexes }).to_string(),
        _ => format!("{rate:.0} rows/s: rows {rows:.3} s, indexes {indexes:.3} s"),
    })?;
    if args.vacuum {
        let all = with_spinner("vacuuming", || {
            vacuum(dbms, endpoint, args.tables, || !context.stop.load(Ordering::Relaxed))
        })?;
        if !all {
            return Ok(ExitCode::from(EXIT_INTERRUPTED));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn spec(args: &DriveArgs, dbms: Dbms, test: &'static Test) -> anyhow::Result<StepSpec> {
    let positive = |name: &str, ok: bool| {
        if ok { Ok(()) } else { Err(Usage(format!("--{name} must be above zero"))) }
    };
    positive("tables", args.tables > 0)?;
    positive("rows", args.rows > 0)?;
    positive("clients", args.clients > 0)?;
    positive("seconds", args.seconds > 0.0)?;
    positive("rate", args.rate.is_none_or(|rate| rate > 0.0))?;
    Ok(StepSpec {
        test,
        step: test.name.to_owned(),
        dialect: dialect(dbms),
        tables: args.tables,
        clients: args.clients,
        seed: args.seed,
        draws: 1,
        warmup: Warmup::Time(Duration::try_from_secs_f64(args.warmup)?),
        limit: match args.events {
            Some(events) => Limit::Events(events),
            None => Limit::Time(Duration::try_from_secs_f64(args.seconds)?),
        },
        removed_rows_max: None,
        pace: args.rate.map_or(Pace::Closed, Pace::EventsPerSecond),
        // The effects of earlier tests on the tables are unknown here, so only gross errors are detected.
        state: TableState { rows: args.rows, complete: false, concurrent_writes: args.clients > 1 },
        users: None,
        flush: None,
        turn: None,
    })
}

fn rendered(context: &Context, test: &Test, result: &StepResult) -> String {
    let us = |quantile: f64| result.event_ns.value_at_quantile(quantile) as f64 / 1e3;
    if context.format == Format::Json {
        let scheduled = result.scheduled_ns.as_ref().map(|h| h.value_at_quantile(0.99) as f64 / 1e3);
        return json!({
            "test": test.name,
            "events": result.events,
            "events_per_s": result.events_per_s,
            "queries": result.queries,
            "queries_per_s": result.queries_per_s(),
            "statements": result.statements,
            "noop_statements": result.noop_statements,
            "rows": result.rows,
            "changed_rows": result.changed_rows,
            "retries": result.retries,
            "elapsed_s": result.elapsed.as_secs_f64(),
            "event_p50_us": us(0.5), "event_p95_us": us(0.95), "event_p99_us": us(0.99),
            "event_max_us": result.event_ns.max() as f64 / 1e3,
            "scheduled_p99_us": scheduled,
        })
        .to_string();
    }
    let (queries, events) = (result.queries_per_s(), result.events_per_s);
    let (p50, p95, p99) = (us(0.5), us(0.95), us(0.99));
    let noop = result.noop_statements as f64 / result.statements.max(1) as f64 * 100.0;
    format!(
        "{}: {queries:.0} queries/s, {events:.0} events/s, {:.3} s, no-op statements {noop:.1} %\n\
         latency of an event: p50 {p50:.0} us, p95 {p95:.0} us, p99 {p99:.0} us, max {:.0} us",
        test.name,
        result.elapsed.as_secs_f64(),
        result.event_ns.max() as f64 / 1e3
    )
}

/// Observes only Ctrl-C. The server does not belong to rqps, so a running statement gets some time to finish.
struct InterruptOnly(Arc<AtomicBool>);

impl Observer for InterruptOnly {
    fn window_opens(&mut self, _sessions: &[u32]) {}
    fn window_closes(&mut self) {}
    fn statistics_complete(&mut self) {}
    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}
    fn cancelled(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    fn force(&mut self) {
        if self.0.load(Ordering::Relaxed) {
            // rqps' sessions end with this process.
            out::message("rqps: interrupted; the server did not cancel the running statement");
            std::process::exit(i32::from(EXIT_INTERRUPTED));
        }
    }
}
