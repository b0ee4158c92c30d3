//! Steps that are blocked, cancelled, lose a session or get a retryable error.

use crate::lab::{Client, FILLED, ROWS, Watch, endless, planned, postgres, spec};
use rqps_driver::StepError;
use rqps_wire::Session;
use rqps_wire::postgres::Connection;
use rqps_workloads::insert_benchmark::{Position, count_sql};

#[test]
fn inserts_wait_for_blocked_deletes_and_cancelling_the_step_ends_statements_in_flight() {
    let mut lab = postgres().filled(ROWS);
    let mut holder = Connection::open(&lab.endpoint, "holder").unwrap();
    holder.simple("BEGIN").unwrap();
    holder.query("SELECT FROM pi1 ORDER BY transactionid LIMIT 1 FOR UPDATE").unwrap();
    // One delete waits for its row, eight are queued, one waits for a place in the queue. An insert precedes
    // each.
    let expected = ROWS + 100 + 10 * 50;
    let mut seen = 0;
    let mut killer = Connection::open(&lab.endpoint, "killer").unwrap();
    let mut counter = Connection::open(&lab.endpoint, "counter").unwrap();
    let mut watch = Watch {
        when_open: Some(Box::new(|_, elapsed_s| {
            let before = std::mem::replace(&mut seen, counter.number(&count_sql(1)).unwrap().unwrap());
            // Cancel once the number of rows is stable and as expected, or at the latest after a minute.
            before == seen && (elapsed_s > 1.0 && seen as u64 == expected || elapsed_s > 60.0)
        })),
        cancel_statements: Some(Box::new(move |sessions| {
            for pid in sessions {
                killer.query(&format!("SELECT pg_cancel_backend({pid})")).unwrap();
            }
        })),
        ..Watch::default()
    };
    let outcome = lab.run(&endless::<Connection>("l.i1", FILLED), &mut watch);
    assert!(matches!(outcome, Err(StepError::Cancelled)), "{outcome:?}");
    assert_eq!(watch.calls, ["opens", "end"]);
    drop(watch);
    lab.no_session_is_left();
    assert_eq!(seen as u64, expected);
}

#[test]
fn cancelling_a_step_with_short_statements_ends_none_of_them() {
    let mut lab = postgres().filled(ROWS);
    for name in ["l.i2", "qp50"] {
        let mut watch = Watch { when_open: Some(Box::new(|_, s| s > 0.2)), ..Watch::default() };
        let outcome = lab.run(&endless::<Connection>(name, FILLED), &mut watch);
        assert!(matches!(outcome, Err(StepError::Cancelled)), "{name}: {outcome:?}");
        assert_eq!(watch.calls, ["opens"], "{name}");
        lab.no_session_is_left();
    }
}

#[test]
fn a_lost_session_ends_the_step_with_an_error_that_names_it() {
    let mut lab = postgres().filled(ROWS);
    let cases = [(0, "inserting"), (1, "deleting"), (3, "querying")];
    for (session, doing) in cases {
        let mut killer = Connection::open(&lab.endpoint, "killer").unwrap();
        let mut watch = Watch {
            when_open: Some(Box::new(move |sessions, _| {
                killer.query(&format!("SELECT pg_terminate_backend({})", sessions[session])).unwrap();
                false
            })),
            ..Watch::default()
        };
        let error = lab.run(&endless::<Connection>("qr1000", FILLED), &mut watch).unwrap_err();
        let StepError::Client { client: 0, clients: 1, doing: did, source } = &error else {
            panic!("{error}")
        };
        assert!(*did == doing && source.is_closed(), "{error}");
        drop(watch);
        lab.no_session_is_left();
    }
}

#[test]
fn a_missing_table_is_an_error_that_names_client_and_table() {
    let lab = postgres();
    let mut watch = Watch::default();
    let error = lab.run(&endless::<Connection>("qp1000", Position::default()), &mut watch).unwrap_err();
    assert!(error.to_string().contains("connecting: ") && error.to_string().contains("pi1"), "{error}");
    assert!(watch.calls.is_empty());
}

#[test]
fn a_statement_with_a_serialization_failure_is_retried_and_counted_by_sqlstate() {
    let mut lab = postgres().filled(ROWS);
    // A sequence is not rolled back, so the next attempt succeeds.
    let sql = "CREATE SEQUENCE tries;
         CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('tries') % 4 = 0 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$;
         CREATE TRIGGER lose AFTER INSERT OR DELETE ON pi1 FOR EACH STATEMENT EXECUTE FUNCTION lose()";
    lab.admin.simple(sql).unwrap();
    let stretch = planned(["l.i0", "l.x", "l.i2"], ROWS, 1)[2];
    let (result, _) = lab.run(&spec::<Connection>(&stretch, 1), &mut Watch::default()).unwrap();
    let statements = stretch.to.statements - stretch.from.statements;
    let retries = result.retries["40001"];
    assert_eq!(lab.number("SELECT last_value FROM tries") as u64, 2 * statements + retries);
    assert_eq!(retries, (2 * statements - 1) / 3);
    assert_eq!((result.invalid, result.statements), (None, 2 * statements));
    assert_eq!(lab.number(&count_sql(1)) as u64, ROWS + 100);
}
