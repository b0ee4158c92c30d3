//! Background rates: never exceeded, missed if impossible; steps that end by time; positions to resume from.

use crate::lab::{FILLED, ROWS, Watch, endless, planned, postgres, spec};
use rqps_driver::queue::{QueueSpec, Role};
use rqps_model::{EndedBy, Limit, Pacer};
use rqps_wire::postgres::Connection;
use rqps_workloads::insert_benchmark::count_sql;
use std::time::Duration;

#[test]
fn no_pacer_exceeds_the_rate() {
    let mut lab = postgres().filled(ROWS);
    let mut from = FILLED;
    for pacer in [Pacer::Even, Pacer::Burst] {
        let mut step = endless::<Connection>("qr500", from);
        (step.pacer, step.positions[0].rows_to_insert, step.positions[0].rows_to_delete) =
            (pacer, 1000, 1000);
        let (result, queue) = lab.run(&step, &mut Watch::default()).unwrap();
        assert_eq!(result.invalid, None);
        let background = queue.background.unwrap();
        // The last of 20 statements is due in the middle of its slot, 1.95 s after the start.
        assert!(background.achieved_rows_per_s <= 1000.0 / 1.94, "{pacer:?}: {background:?}");
        let inserts = &queue.streams[0].each_second;
        // A second may include late statements of the previous one, and an early burst.
        assert!(inserts.iter().all(|rows| *rows <= 1000), "{pacer:?}: {inserts:?}");
        assert!(inserts[0] <= 500, "{pacer:?}: {inserts:?}");
        (from.statements, from.inserted, from.deleted) =
            (from.statements + 20, from.inserted + 1000, from.deleted + 1000);
        assert_eq!(lab.number(&count_sql(1)) as u64, from.inserted - from.deleted);
    }
}

#[test]
fn an_impossible_rate_is_reported_as_missed() {
    let lab = postgres().filled(ROWS);
    for pacer in [Pacer::Even, Pacer::Burst] {
        let mut step = endless::<Connection>("qp1000000", FILLED);
        (step.pacer, step.positions[0].rows_to_insert, step.positions[0].rows_to_delete) =
            (pacer, 9000, 9000);
        let (_, queue) = lab.run(&step, &mut Watch::default()).unwrap();
        let background = queue.background.unwrap();
        assert!(!background.kept && background.achieved_rows_per_s > 0.0, "{background:?}");
        assert_eq!(background.target_rows_per_s, 1e6);
        assert_eq!(background.seconds_below, background.seconds);
        assert_eq!(queue.streams.iter().map(|stream| stream.rows).take(2).collect::<Vec<_>>(), [9000, 9000]);
    }
}

#[test]
fn a_step_that_ends_by_time_deletes_as_many_rows_as_it_inserts() {
    let mut lab = postgres().filled(ROWS);
    for name in ["qr1000", "l.i2"] {
        let limit = Limit::Time(Duration::from_millis(700));
        let step = QueueSpec { limit, ..endless::<Connection>(name, FILLED) };
        let (result, queue) = lab.run(&step, &mut Watch::default()).unwrap();
        assert_eq!((result.invalid, result.ended_by), (None, EndedBy::Time), "{name}");
        let streams = queue.streams;
        assert_eq!(streams[0].rows, streams[1].rows, "{name}");
        assert!(streams[0].rows > 0 && result.events > 0, "{name}");
        assert_eq!(lab.number(&count_sql(1)) as u64, ROWS + 100, "{name}");
        let queries: u64 = streams.iter().filter(|s| s.role == Role::Query).map(|s| s.statements).sum();
        assert_eq!(queries > 0, name == "qr1000");
    }
}

#[test]
fn an_interrupted_step_resumes_with_different_positions_of_inserts_and_deletes() {
    let mut lab = postgres().filled(ROWS);
    let stretch = planned(["l.i0", "l.x", "l.i1"], ROWS, 1)[2];
    let mut step = spec::<Connection>(&stretch, 1);
    // The first attempt inserted three statements and deleted one.
    step.positions[0].rows_to_insert = 150;
    step.positions[0].rows_to_delete = 50;
    lab.run(&step, &mut Watch::default()).unwrap();
    step.positions[0].insert_from += 3;
    (step.positions[0].rows_to_insert, step.positions[0].rows_to_delete) = (403 - 150, 403 - 50);
    let (result, _) = lab.run(&step, &mut Watch::default()).unwrap();
    assert_eq!((result.invalid, result.removed_rows), (None, 353));
    assert_eq!(lab.number(&count_sql(1)) as u64, stretch.to.inserted - stretch.to.deleted);
    let newest = "SELECT extract(epoch FROM max(dateandtime) - '2020-01-01')::bigint FROM pi1";
    assert_eq!(lab.number(newest) as u64, stretch.to.statements - 1);
}
