//! TPROC-C: the transactions of a wholesale supplier, derived from TPC-C, over a number of warehouses. The rate is
//! new orders; published results give it per minute (NOPM).
//!
//! Scale, inputs and mix follow the public specification of TPC-C, with the mix and without the waiting times that
//! HammerDB made common. Results are not comparable with those of TPC-C.

pub mod consistency;
pub mod examples;
pub mod formats;
mod hammerdb;
pub mod inputs;
mod options;
mod plan;
pub mod rows;
pub mod schema;

use rqps_model::{Group, Unit};

use crate::model::{Expect, Key, Part, Protocol, Statement, Table, Test};
pub use hammerdb::HAMMERDB_STEP;
pub use options::TprocCOptions;
pub use plan::{Cell, TprocC, TprocCPlan};

/// The unit of rates.
pub static NEW_ORDERS: Unit = Unit::new("new_orders", "a new order", "new order", "new orders");
static GROUP: Group = Group::new(1, "tproc-c", "TPROC-C", "TPROC-C");

/// The tables, in the order in which they are created and loaded.
pub const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "item", "stock", "orders", "new_order", "order_line"];
/// Rows of all tables for each warehouse, about; and the items that all warehouses share.
pub const ROWS_PER_WAREHOUSE: u64 = 499_011;
pub const ITEMS: u64 = 100_000;

rqps_model::words! {
    /// A kind of transaction, in the order of the mix. With `_` for `-`, its word is the name of its procedure.
    Transaction {
        NewOrder = "new-order",
        Payment = "payment",
        Delivery = "delivery",
        StockLevel = "stock-level",
        OrderStatus = "order-status",
    }
}

/// Of 23 transactions, so many are of each kind, in the order of [`Transaction::ALL`].
pub const MIX: [u32; 5] = [10, 10, 1, 1, 1];
/// One in so many new orders names an item that does not exist, and is rolled back.
pub const ROLLED_BACK_ONE_IN: u32 = 100;
/// New orders of a transaction of the mix, without those rolled back.
pub const NEW_ORDERS_PER_TRANSACTION: f64 = 10.0 / 23.0 * (1.0 - 1.0 / ROLLED_BACK_ONE_IN as f64);

/// The test of every step. Its statements stand for whole transactions; the last one is a new order that is rolled
/// back, which is counted apart.
pub static TRANSACTIONS: Test = Test {
    weights: &MIX,
    ..Test::new(
        "transactions",
        &GROUP,
        &NEW_ORDERS,
        1,
        &[Part {
            table: Table::OfClient,
            key: Key::None,
            times: 1,
            statements: &[
                transaction("new-order", Expect::AnyChanged),
                transaction("payment", Expect::AnyChanged),
                transaction("delivery", Expect::AnyChanged),
                transaction("stock-level", Expect::AnyRows),
                transaction("order-status", Expect::AnyRows),
                transaction(ROLLED_BACK, Expect::AnyRows),
            ],
        }],
        "Transactions of a wholesale supplier: new orders, payments, deliveries, and two that only read.",
    )
};
/// The kind of new orders that are rolled back.
pub const ROLLED_BACK: &str = "new-order-rolled-back";

const fn transaction(kind: &'static str, expect: Expect) -> Statement {
    Statement { kind, sql: "", params: &[], protocol: Protocol::Prepared, expect }
}
