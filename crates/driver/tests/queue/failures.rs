//! Steps that are held up, cancelled, lose a session or meet an error that may be tried again.

use crate::lab::{Client, Watch, endless, planned, postgres, spec};
use rqps_driver::StepError;
use rqps_wire::Session;
use rqps_wire::postgres::Connection;
use rqps_workloads::insert_benchmark::{Position, count_sql};

const ROWS: u64 = 2000;
const FILLED: Position = Position { statements: 21, inserted: ROWS + 100, deleted: 0 };

#[test]
fn inserts_wait_for_deletes_that_are_held_up_and_a_cancelled_step_ends_what_is_in_flight() {
    let mut lab = postgres().filled(ROWS);
    let mut holder = Connection::open(&lab.endpoint, "holder").unwrap();
    holder.simple("BEGIN").unwrap();
    holder.query("SELECT FROM pi1 ORDER BY transactionid LIMIT 1 FOR UPDATE").unwrap();
    // One delete waits for its row, eight for their turn, one for a place: as many inserts go before each of them.
    let expected = ROWS + 100 + 10 * 50;
    let mut seen = 0;
    let mut killer = Connection::open(&lab.endpoint, "killer").unwrap();
    let mut looker = Connection::open(&lab.endpoint, "looker").unwrap();
    let mut watch = Watch {
        when_open: Some(Box::new(|_, elapsed_s| {
            let before = std::mem::replace(&mut seen, looker.number(&count_sql(1)).unwrap().unwrap());
            // The rows stand still, where they should or for good.
            before == seen && (elapsed_s > 1.0 && seen as u64 == expected || elapsed_s > 60.0)
        })),
        when_statements_must_end: Some(Box::new(move |sessions| {
            for pid in sessions {
                killer.query(&format!("SELECT pg_cancel_backend({pid})")).unwrap();
            }
        })),
        ..Watch::default()
    };
    let outcome = lab.run(&endless::<Connection>("l.i1", FILLED), &mut watch);
    assert!(matches!(outcome, Err(StepError::Cancelled)), "{outcome:?}");
    assert_eq!(watch.told, ["opens", "end"]);
    drop(watch);
    lab.no_session_is_left();
    assert_eq!(seen as u64, expected);
}

#[test]
fn a_step_that_is_cancelled_between_statements_needs_nothing_ended() {
    let mut lab = postgres().filled(ROWS);
    for name in ["l.i2", "qp50"] {
        let mut watch = Watch { when_open: Some(Box::new(|_, s| s > 0.2)), ..Watch::default() };
        let outcome = lab.run(&endless::<Connection>(name, FILLED), &mut watch);
        assert!(matches!(outcome, Err(StepError::Cancelled)), "{name}: {outcome:?}");
        assert_eq!(watch.told, ["opens"], "{name}");
        lab.no_session_is_left();
    }
}

#[test]
fn a_session_that_is_lost_ends_the_step_with_its_name() {
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
fn no_session_at_all_is_an_error_that_says_where() {
    let lab = postgres();
    let mut watch = Watch::default();
    let error = lab.run(&endless::<Connection>("qp1000", Position::default()), &mut watch).unwrap_err();
    assert!(
        error.to_string().contains("client 0 of 1, connecting") && error.to_string().contains("pi1"),
        "{error}"
    );
    assert!(watch.told.is_empty());
}

#[test]
fn a_statement_that_lost_a_race_is_tried_again_and_counted_by_its_error() {
    let mut lab = postgres().filled(ROWS);
    // A sequence is not rolled back: the next try gets past it.
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
