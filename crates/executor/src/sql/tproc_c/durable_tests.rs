//! Orders survive a crash: a server is killed while users work, and what it acknowledged must be there.

use super::checks::check_tables;
use super::committed::Counted;
use super::make_tables;
use crate::sql::adapters::adapter;
use crate::system::Admin;
use rqps_driver::Marks;
use rqps_driver::tproc_c::{Terminal, Users};
use rqps_model::Dbms;
use rqps_model::random::Stream;
use rqps_servers::Server;
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::{Endpoint, Error, Session, mysql, postgres};
use rqps_workloads::tproc_c::rows::{ORDERS, parts};
use rqps_workloads::tproc_c::{Cell, Transaction};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const CELL: Cell = Cell { warehouses: 1, virtual_users: 4 };
/// New orders before the server is killed.
const ORDERS_BEFORE: u64 = 500;

/// New orders that were acknowledged to one user, by district; and how its last transaction ended.
type Acknowledged = (BTreeMap<u32, u64>, Error);

/// Runs transactions until the server dies.
fn work<S: Session>(dbms: Dbms, session: S, number: u32, orders: &AtomicU64) -> Acknowledged {
    // Half of the users send their statements themselves.
    let stored_procedures = number.is_multiple_of(2);
    let users = Users { cell: CELL, all_warehouses: true, stored_procedures, keying_and_think_time: false };
    let dialect = adapter(dbms).dialect();
    let mut terminal = Terminal::new(session, dialect, users, users.user(number, 1)).unwrap();
    let mut stream = Stream::new(&[number.into()]);
    let mut acknowledged = BTreeMap::new();
    loop {
        match terminal.transact(&mut stream) {
            Ok((inputs, _)) if inputs.transaction == Transaction::NewOrder && !inputs.rolls_back() => {
                *acknowledged.entry(inputs.district).or_default() += 1;
                orders.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if error.is_retryable() => terminal.roll_back().unwrap(),
            Ok(_) => {}
            Err(error) => return (acknowledged, error),
        }
    }
}

fn connect(dbms: Dbms, endpoint: &Endpoint, number: u32, orders: &AtomicU64) -> Acknowledged {
    match dbms {
        Dbms::Postgres => {
            work(dbms, postgres::Connection::connect(endpoint, "user").unwrap(), number, orders)
        }
        _ => work(dbms, mysql::Connection::connect(endpoint, "user").unwrap(), number, orders),
    }
}

/// Transactions of a user, and in what the tables then differ from what it saw committed.
fn differs_after(dbms: Dbms, server: &Server, admin: &mut dyn Admin, transactions: u32) -> Option<String> {
    let before = Counted::read(admin).unwrap();
    let endpoint = by_socket(server);
    let committed = match dbms {
        Dbms::Postgres => {
            transact(dbms, postgres::Connection::connect(&endpoint, "user").unwrap(), transactions)
        }
        _ => transact(dbms, mysql::Connection::connect(&endpoint, "user").unwrap(), transactions),
    };
    assert!(committed.iter().all(|count| *count > 0), "{committed:?}");
    Counted::read(admin).unwrap().differs(&before, committed, 0)
}

/// Runs transactions of a user and returns what it saw committed.
fn transact<S: Session>(dbms: Dbms, session: S, transactions: u32) -> Marks {
    let users =
        Users { cell: CELL, all_warehouses: true, stored_procedures: true, keying_and_think_time: false };
    let mut terminal = Terminal::new(session, adapter(dbms).dialect(), users, users.user(0, 1)).unwrap();
    let mut stream = Stream::new(&[77]);
    for _ in 0..transactions {
        terminal.transact(&mut stream).unwrap();
    }
    terminal.committed()
}

/// Also that of a trigger which makes a payment or a delivery do nothing.
fn lost_work_is_found(dbms: Dbms, server: &Server, admin: &mut dyn Admin) {
    const TRANSACTIONS: u32 = 200;
    assert_eq!(differs_after(dbms, server, admin, TRANSACTIONS), None);
    // Only there do triggers stop a change.
    if dbms != Dbms::Postgres {
        return;
    }
    let mut with = |table: &str, event: &str, does: &str| {
        let function = "CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql";
        admin.query(&format!("{function} AS 'BEGIN {does}; END'")).unwrap();
        let trigger = format!("CREATE TRIGGER nothing BEFORE {event} ON {table}");
        admin.query(&format!("{trigger} FOR EACH ROW EXECUTE FUNCTION nothing()")).unwrap();
        let differs = differs_after(dbms, server, admin, TRANSACTIONS).unwrap();
        admin.query(&format!("DROP TRIGGER nothing ON {table}")).unwrap();
        differs
    };
    let paid = with("warehouse", "UPDATE", "NEW.w_ytd := OLD.w_ytd; RETURN NEW");
    assert!(paid.ends_with("the warehouses count 0"), "{paid}");
    let delivered = with("new_order", "DELETE", "RETURN NULL");
    assert!(delivered.ends_with(" 0 orders are delivered"), "{delivered}");
}

fn number(admin: &mut dyn Admin, sql: &str) -> u64 {
    admin.query(sql).unwrap().value().unwrap().parse().unwrap()
}

fn acknowledged_orders_survive_kill_9(dbms: Dbms, version: &str) {
    let (_dir, spec) = Scratch::prepare_of(dbms, version).unwrap();
    Server::init(&spec).unwrap();
    let server = Server::start(&spec).unwrap();
    let endpoint = by_socket(&server);
    let mut admin = adapter(dbms).connect(&endpoint, "test").unwrap();
    let parts = parts(1, CELL.warehouses);
    make_tables((adapter(dbms), &endpoint), &mut *admin, (&parts, 1), &mut |_, _| true).unwrap().unwrap();
    assert_eq!(check_tables(&mut *admin, CELL, true).unwrap().violated, None);
    admin.make_durable().unwrap();

    let orders = AtomicU64::new(0);
    let acknowledged: Vec<Acknowledged> = std::thread::scope(|scope| {
        let users: Vec<_> = (0..CELL.virtual_users)
            .map(|number| {
                let (endpoint, orders) = (&endpoint, &orders);
                scope.spawn(move || connect(dbms, endpoint, number, orders))
            })
            .collect();
        while orders.load(Ordering::Relaxed) < ORDERS_BEFORE && users.iter().all(|user| !user.is_finished()) {
            std::thread::yield_now();
        }
        server.handle().unwrap().kill();
        users.into_iter().map(|user| user.join().unwrap()).collect()
    });
    for (_, error) in &acknowledged {
        assert!(error.is_closed(), "{error}");
    }
    drop((admin, server));

    let server = Server::start(&spec).unwrap();
    let mut admin = adapter(dbms).connect(&by_socket(&server), "test").unwrap();
    for district in 1..=10 {
        let of_user = |(by_district, _): &Acknowledged| by_district.get(&district).copied().unwrap_or(0);
        let sum: u64 = acknowledged.iter().map(of_user).sum();
        let there =
            number(&mut *admin, &format!("SELECT max(o_id) FROM orders WHERE o_d_id = {district}")) - ORDERS;
        // Each user may have one more whose answer the kill cut off.
        let range = sum..=sum + u64::from(CELL.virtual_users);
        assert!(range.contains(&there), "district {district}: {there} of {sum} acknowledged");
    }
    assert_eq!(check_tables(&mut *admin, CELL, true).unwrap().violated, None);
    lost_work_is_found(dbms, &server, &mut *admin);

    // The conditions find what is wrong.
    admin.query("DELETE FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 2").unwrap();
    admin.query("UPDATE warehouse SET w_ytd = w_ytd + 1").unwrap();
    admin.query("UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 9").unwrap();
    let wrong = check_tables(&mut *admin, CELL, true).unwrap().violated.unwrap();
    let numbers: Vec<&str> =
        wrong.split("condition ").skip(1).filter_map(|text| text.split(':').next()).collect();
    assert_eq!(numbers, ["1", "5", "4", "6", "7"], "{wrong}");
}

#[test]
fn postgres_keeps_acknowledged_orders() {
    acknowledged_orders_survive_kill_9(Dbms::Postgres, "18");
}

#[test]
fn mysql_keeps_acknowledged_orders() {
    acknowledged_orders_survive_kill_9(Dbms::Mysql, "8.0");
}
