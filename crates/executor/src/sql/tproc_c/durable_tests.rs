//! Orders survive a crash: a server is killed while users work, and what it acknowledged must be there.

use super::checks::{check_tables, next_orders};
use super::make_tables;
use crate::sql::adapters::adapter;
use crate::system::Admin;
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
    assert!(next_orders(&mut *admin).unwrap() >= 10 * (ORDERS + 1) + orders.into_inner());

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
