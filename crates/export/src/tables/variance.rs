//! How evenly each test ran on each arm: seconds, stalls and latencies over all its windows.

use rqps_store::Role;
use rqps_verdicts::{EventLatency, PerSecond};

use crate::source::RUN;
use crate::table::{Table, integer, real, text};

pub(crate) static VARIANCE: Table = Table {
    name: "variance",
    about: "How evenly a step ran on an arm, over all windows that are results.",
    key: &["run", "arm", "step"],
    parts: [
        &[RUN],
        &[
            text("arm", "the arm"),
            text("step", "the step"),
            text("test_group", "the test's group"),
            integer("windows", "windows"),
            integer("blocks", "replicates that they are of; 0 in runs without"),
            real("measured_s", "s", "length of the windows together"),
            integer("seconds", "whole seconds looked at").or_null(),
            real("cv", "", "standard deviation of a second's rate within its window, over the window's mean"),
            real("slow_share", "", "share of seconds under half of their window's median"),
            integer("longest_gap_s", "most seconds in a row under a tenth of it").unit("s").or_null(),
            integer("events", "events whose latency was measured").or_null(),
            real("p50_us", "us", "median latency of an event"),
            real("p95_us", "us", "95th percentile"),
            real("p99_us", "us", "99th percentile"),
            real("max_us", "us", "largest"),
            real("stall_us", "us", "an event that takes longer is a stall; the same for all arms of a test"),
            integer("stalls", "events that were one").or_null(),
            real("stalled_share", "", "share of the time that events took beyond `stall_us`"),
        ],
    ],
    fill: |source, sink| {
        let run = source.run;
        let base = run.arms.iter().position(|arm| arm.role == Role::Base).unwrap_or(0);
        for row in rqps_verdicts::variance(run, base)? {
            let of_second = |get: fn(&PerSecond) -> f64| row.per_second.as_ref().map(get);
            let of_event = |get: fn(&EventLatency) -> f64| row.latency.as_ref().map(get);
            sink(&[
                (&source.name).into(),
                run.arms.get(row.arm).map_or("", |arm| &arm.name).into(),
                (&row.test).into(),
                (&row.group).into(),
                row.windows.into(),
                row.blocks.into(),
                row.seconds.into(),
                row.per_second.map(|second| second.seconds).into(),
                of_second(|second| second.cv).into(),
                of_second(|second| second.slow_share).into(),
                row.per_second.map(|second| second.longest_gap_s).into(),
                row.latency.map(|latency| latency.events).into(),
                of_event(|latency| latency.p50_us).into(),
                of_event(|latency| latency.p95_us).into(),
                of_event(|latency| latency.p99_us).into(),
                of_event(|latency| latency.max_us).into(),
                of_event(|latency| latency.stall_us).into(),
                row.latency.map(|latency| latency.stalls).into(),
                of_event(|latency| latency.stalled_share).into(),
            ])?;
        }
        Ok(())
    },
};
