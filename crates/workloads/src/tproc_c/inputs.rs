//! The inputs of transactions, drawn by the client, so that every arm does the same ones.
//!
//! Shares and ranges are those that HammerDB made common, which follow TPC-C except that customers and items are drawn
//! evenly. Items of an order differ, and are sorted, so that orders lock stock in one order.

use rqps_model::random::{Stream, name_word};

use super::rows::nurand;
use super::{Cell, ITEMS, MIX, ROLLED_BACK_ONE_IN, Transaction};

/// Districts of a warehouse, customers of a district.
pub const DISTRICTS: u32 = 10;
pub const CUSTOMERS: u32 = 3_000;
pub const LINES_MAX: usize = 15;
const LINES_MIN: u64 = 5;
/// The number of an item that does not exist.
const NO_ITEM: u32 = ITEMS as u32 + 1;
/// The constant of NURand for last names.
const LAST_NAME_C: u64 = 123;

/// What a transaction is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    pub transaction: Transaction,
    pub warehouse: u32,
    pub district: u32,
    /// Of new order, payment and order status.
    pub customer: Customer,
    /// Of a payment: where its customer belongs.
    pub customer_warehouse: u32,
    pub customer_district: u32,
    /// Of a payment, whole.
    pub amount: u32,
    /// Of a delivery.
    pub carrier: u32,
    /// Of stock level.
    pub threshold: u32,
    /// Of a new order.
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Customer {
    Number(u32),
    /// One of 1,000 last names.
    LastName(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub item: u32,
    pub supply_warehouse: u32,
    pub quantity: u32,
}

impl Inputs {
    /// Whether it is a new order with an item that does not exist.
    pub fn rolls_back(&self) -> bool {
        self.lines.last().is_some_and(|line| line.item == NO_ITEM)
    }
}

/// A virtual user: which warehouses are its own.
#[derive(Debug, Clone, Copy)]
pub struct VirtualUser {
    cell: Cell,
    /// From 0.
    number: u32,
    /// Its only warehouse, if it keeps to one.
    home: Option<u32>,
    /// The district of its stock levels.
    district: u32,
}

impl VirtualUser {
    pub fn new(cell: Cell, number: u32, all_warehouses: bool, seed: u64) -> Self {
        let mut stream = Stream::new(&[seed, name_word("virtual user"), u64::from(number)]);
        let home = stream.key(cell.warehouses.into()) as u32;
        let district = stream.key(DISTRICTS.into()) as u32;
        Self { cell, number, home: (!all_warehouses).then_some(home), district }
    }

    /// A warehouse of its own. User i of n has every n-th from the i-th on; users beyond their number share one.
    fn warehouse(&self, stream: &mut Stream) -> u32 {
        let Cell { warehouses, virtual_users } = self.cell;
        if let Some(home) = self.home {
            return home;
        }
        let first = self.number % warehouses;
        let own = (warehouses - first).div_ceil(virtual_users);
        first + virtual_users * (stream.key(own.into()) as u32 - 1) + 1
    }

    /// Another warehouse than this one, if there is one.
    fn other(&self, warehouse: u32, stream: &mut Stream) -> u32 {
        let others = self.cell.warehouses - 1;
        if others == 0 {
            return warehouse;
        }
        let drawn = stream.key(others.into()) as u32;
        if drawn < warehouse { drawn } else { drawn + 1 }
    }

    /// Draws a transaction.
    pub fn draw(&self, stream: &mut Stream) -> Inputs {
        let transaction = draw_transaction(stream);
        let warehouse = self.warehouse(stream);
        let district = stream.key(DISTRICTS.into()) as u32;
        let mut inputs = Inputs {
            transaction,
            warehouse,
            district,
            customer: Customer::Number(0),
            customer_warehouse: warehouse,
            customer_district: district,
            amount: 0,
            carrier: 0,
            threshold: 0,
            lines: Vec::new(),
        };
        match transaction {
            Transaction::NewOrder => {
                inputs.customer = Customer::Number(stream.key(CUSTOMERS.into()) as u32);
                inputs.lines = self.lines(warehouse, stream);
            }
            Transaction::Payment => {
                if stream.key(100) > 85 {
                    inputs.customer_warehouse = self.other(warehouse, stream);
                    inputs.customer_district = stream.key(DISTRICTS.into()) as u32;
                }
                inputs.customer = customer(stream);
                inputs.amount = stream.key(5_000) as u32;
            }
            Transaction::Delivery => inputs.carrier = stream.key(10) as u32,
            Transaction::StockLevel => {
                inputs.district = self.district;
                inputs.threshold = stream.key(11) as u32 + 9;
            }
            Transaction::OrderStatus => inputs.customer = customer(stream),
        }
        inputs
    }

    fn lines(&self, warehouse: u32, stream: &mut Stream) -> Vec<Line> {
        let count = stream.key(LINES_MAX as u64 - LINES_MIN + 1) + LINES_MIN - 1;
        let mut lines: Vec<Line> = Vec::with_capacity(LINES_MAX);
        while (lines.len() as u64) < count {
            let item = stream.key(ITEMS) as u32;
            if lines.iter().any(|line| line.item == item) {
                continue;
            }
            let supply_warehouse =
                if stream.key(100) == 1 { self.other(warehouse, stream) } else { warehouse };
            lines.push(Line { item, supply_warehouse, quantity: stream.key(10) as u32 });
        }
        if stream.key(ROLLED_BACK_ONE_IN.into()) == 1 {
            lines.iter_mut().last().into_iter().for_each(|line| line.item = NO_ITEM);
        }
        lines.sort_by_key(|line| line.item);
        lines
    }
}

fn draw_transaction(stream: &mut Stream) -> Transaction {
    let mut drawn = stream.key(MIX.iter().sum::<u32>().into()) as u32;
    for (transaction, weight) in Transaction::ALL.into_iter().zip(MIX) {
        match drawn.checked_sub(weight) {
            Some(left @ 1..) => drawn = left,
            _ => return transaction,
        }
    }
    Transaction::NewOrder
}

/// A customer by last name in 60 % of cases, else by number.
fn customer(stream: &mut Stream) -> Customer {
    if stream.key(100) <= 60 {
        Customer::LastName(nurand(stream, 255, LAST_NAME_C, 1_000) as u32)
    } else {
        Customer::Number(stream.key(CUSTOMERS.into()) as u32)
    }
}

/// One of 1,000 last names: three syllables, as the specification defines them.
pub fn last_name(number: u64) -> String {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let syllable = |place: u64| SYLLABLES[(number / place % 10) as usize];
    [syllable(100), syllable(10), syllable(1)].concat()
}

/// Seconds before and after a transaction: keying, and the mean of the think time, as TPC-C has them.
pub fn waits_s(transaction: Transaction) -> (f64, f64) {
    match transaction {
        Transaction::NewOrder => (18.0, 12.0),
        Transaction::Payment => (3.0, 12.0),
        Transaction::OrderStatus => (2.0, 10.0),
        Transaction::Delivery | Transaction::StockLevel => (2.0, 5.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { warehouses: 10, virtual_users: 3 };

    fn draws(all_warehouses: bool, number: u32) -> Vec<Inputs> {
        let user = VirtualUser::new(CELL, number, all_warehouses, 1);
        let mut stream = Stream::new(&[2]);
        (0..100_000).map(|_| user.draw(&mut stream)).collect()
    }

    fn share<'a>(all: impl Iterator<Item = &'a Inputs>, is: impl Fn(&Inputs) -> bool) -> f64 {
        let (mut count, mut found) = (0.0, 0.0);
        for inputs in all {
            count += 1.0;
            found += f64::from(u8::from(is(inputs)));
        }
        found / count
    }

    #[test]
    fn the_mix_and_all_shares_are_as_specified() {
        let all = draws(true, 0);
        let of = |kind: Transaction| all.iter().filter(move |inputs| inputs.transaction == kind);
        for (kind, weight) in Transaction::ALL.into_iter().zip(MIX) {
            let found = share(all.iter(), |inputs| inputs.transaction == kind);
            assert!((found - f64::from(weight) / 23.0).abs() < 0.006, "{kind:?}: {found}");
        }
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.012;
        assert!(near(share(of(Transaction::NewOrder), Inputs::rolls_back), 0.01));
        assert!(near(share(of(Transaction::Payment), |one| one.customer_warehouse != one.warehouse), 0.15));
        let by_name = |one: &Inputs| matches!(one.customer, Customer::LastName(_));
        assert!(near(share(of(Transaction::Payment), by_name), 0.6));
        assert!(near(share(of(Transaction::OrderStatus), by_name), 0.6));
        let lines: Vec<(u32, &Line)> = of(Transaction::NewOrder)
            .flat_map(|one| one.lines.iter().map(|line| (one.warehouse, line)))
            .collect();
        let remote = lines.iter().filter(|(home, line)| *home != line.supply_warehouse).count();
        assert!(near(remote as f64 / lines.len() as f64, 0.01));
        assert!(near(lines.len() as f64 / of(Transaction::NewOrder).count() as f64 / 10.0, 1.0));
    }

    #[test]
    fn users_share_all_warehouses_or_keep_to_one() {
        let mut owners = [None; 11];
        for number in 0..3 {
            for inputs in draws(true, number) {
                let owner = owners[inputs.warehouse as usize].get_or_insert(number);
                assert_eq!(*owner, number, "warehouse {}", inputs.warehouse);
            }
            let home = draws(false, number);
            assert!(home.iter().all(|inputs| inputs.warehouse == home[0].warehouse));
        }
        assert!(owners[1..].iter().all(Option::is_some), "{owners:?}");
    }

    #[test]
    fn more_users_than_warehouses_share_them() {
        let cell = Cell { warehouses: 2, virtual_users: 5 };
        for number in 0..5 {
            let user = VirtualUser::new(cell, number, true, 1);
            let warehouse = user.draw(&mut Stream::new(&[1])).warehouse;
            assert_eq!(warehouse, number % 2 + 1);
        }
    }

    #[test]
    fn items_of_an_order_differ_and_are_sorted() {
        for inputs in draws(true, 1).iter().filter(|inputs| inputs.transaction == Transaction::NewOrder) {
            assert!(inputs.lines.is_sorted_by(|one, next| one.item < next.item), "{inputs:?}");
            assert!((5..=15).contains(&inputs.lines.len()));
        }
    }

    #[test]
    fn last_names_are_made_of_syllables() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
    }
}
