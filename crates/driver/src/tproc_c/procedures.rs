//! Transactions as calls of stored procedures: one statement each.

use rqps_wire::{Error, Outcome, ParamType, Params, Session};
use rqps_workloads::Dialect;
use rqps_workloads::tproc_c::Transaction;
use rqps_workloads::tproc_c::inputs::{Customer, Inputs, Line, last_name};
use rqps_workloads::tproc_c::schema::{ROLLED_BACK_STATE, Routines};
use std::fmt::Write;

use super::routines_of;

/// The prepared calls, in the order of [`Transaction::ALL`].
pub(super) struct Procedures<S: Session> {
    dialect: Dialect,
    calls: Vec<S::Statement>,
    params: Params<S::Encoding>,
    text: String,
}

const INT: ParamType = ParamType::Int8;
const TEXT: ParamType = ParamType::Text;

/// The call of a transaction, and the types of its parameters. What the transaction returns goes to its caller on
/// Postgres, and to variables of the session on MySQL.
fn call(transaction: Transaction, dialect: Dialect) -> (&'static str, &'static [ParamType]) {
    match (dialect, transaction) {
        (Dialect::Postgres, Transaction::NewOrder) => (
            "new_order($1::int, $2::int, $3::int, $4::int[], $5::int[], $6::int[], NULL, NULL)",
            &[INT, INT, INT, TEXT, TEXT, TEXT],
        ),
        (Dialect::Postgres, Transaction::Payment) => (
            "payment($1::int, $2::int, $3::int, $4::int, $5::int, $6, $7::numeric, NULL)",
            &[INT, INT, INT, INT, INT, TEXT, INT],
        ),
        (Dialect::Postgres, Transaction::Delivery) => ("delivery($1::int, $2::int, NULL)", &[INT, INT]),
        (Dialect::Postgres, Transaction::StockLevel) => {
            ("stock_level($1::int, $2::int, $3::int, NULL)", &[INT, INT, INT])
        }
        (Dialect::Postgres, Transaction::OrderStatus) => {
            ("order_status($1::int, $2::int, $3::int, $4, NULL, NULL)", &[INT, INT, INT, TEXT])
        }
        (Dialect::Mysql, Transaction::NewOrder) => {
            ("new_order(?, ?, ?, ?, ?, @number, @total)", &[INT, INT, INT, INT, TEXT])
        }
        (Dialect::Mysql, Transaction::Payment) => {
            ("payment(?, ?, ?, ?, ?, ?, ?, @balance)", &[INT, INT, INT, INT, INT, TEXT, INT])
        }
        (Dialect::Mysql, Transaction::Delivery) => ("delivery(?, ?, @delivered)", &[INT, INT]),
        (Dialect::Mysql, Transaction::StockLevel) => ("stock_level(?, ?, ?, @low)", &[INT, INT, INT]),
        (Dialect::Mysql, Transaction::OrderStatus) => {
            ("order_status(?, ?, ?, ?, @number, @lines)", &[INT, INT, INT, TEXT])
        }
    }
}

impl<S: Session> Procedures<S> {
    pub fn prepare(session: &mut S, dialect: Dialect) -> Result<Self, Error> {
        let verb = match routines_of(session, dialect)? {
            Routines::Procedures => "CALL",
            Routines::Functions => "SELECT * FROM",
        };
        let mut prepare = |transaction| {
            let (call, types) = call(transaction, dialect);
            session.prepare(&format!("{verb} {call}"), types)
        };
        let calls = Transaction::ALL.into_iter().map(&mut prepare).collect::<Result<_, _>>()?;
        Ok(Self { dialect, calls, params: Params::new(), text: String::new() })
    }

    pub fn run(&mut self, session: &mut S, inputs: &Inputs) -> Result<Outcome, Error> {
        self.fill(inputs);
        match session.execute(&self.calls[inputs.transaction as usize], &self.params) {
            // A function cannot roll back in another way.
            Err(error) if error.sqlstate() == Some(ROLLED_BACK_STATE) && inputs.rolls_back() => {
                Ok(Outcome::default())
            }
            outcome => outcome,
        }
    }

    /// A failed call of MySQL leaves its transaction open; Postgres has ended it.
    pub fn roll_back(&self, session: &mut S) -> Result<(), Error> {
        match self.dialect {
            Dialect::Postgres => Ok(()),
            Dialect::Mysql => session.simple("ROLLBACK").map(|_| ()),
        }
    }

    fn fill(&mut self, inputs: &Inputs) {
        self.params.clear();
        self.push(inputs.warehouse);
        match inputs.transaction {
            Transaction::NewOrder => {
                self.push(inputs.district);
                self.push_number_of(inputs.customer);
                match self.dialect {
                    Dialect::Postgres => {
                        self.push_array(&inputs.lines, |line| line.item);
                        self.push_array(&inputs.lines, |line| line.supply_warehouse);
                        self.push_array(&inputs.lines, |line| line.quantity);
                    }
                    Dialect::Mysql => {
                        self.push(inputs.lines.len() as u32);
                        self.push_fixed(&inputs.lines);
                    }
                }
            }
            Transaction::Payment => {
                for value in [inputs.district, inputs.customer_warehouse, inputs.customer_district] {
                    self.push(value);
                }
                self.push_customer(inputs.customer);
                self.push(inputs.amount);
            }
            Transaction::Delivery => self.push(inputs.carrier),
            Transaction::StockLevel => {
                self.push(inputs.district);
                self.push(inputs.threshold);
            }
            Transaction::OrderStatus => {
                self.push(inputs.district);
                self.push_customer(inputs.customer);
            }
        }
    }

    fn push(&mut self, value: u32) {
        self.params.push_int(value.into());
    }

    /// 0: by last name.
    fn push_number_of(&mut self, customer: Customer) {
        self.push(match customer {
            Customer::Number(number) => number,
            Customer::LastName(_) => 0,
        });
    }

    fn push_customer(&mut self, customer: Customer) {
        self.push_number_of(customer);
        match customer {
            Customer::Number(_) => self.params.push_text(b""),
            Customer::LastName(number) => self.params.push_text(last_name(number.into()).as_bytes()),
        }
    }

    /// `{1,2,3}`.
    fn push_array(&mut self, lines: &[Line], value: impl Fn(&Line) -> u32) {
        self.text.clear();
        for line in lines {
            self.text.push(if self.text.is_empty() { '{' } else { ',' });
            // Writing to a String can't fail.
            let _ = write!(self.text, "{}", value(line));
        }
        self.text.push('}');
        self.params.push_text(self.text.as_bytes());
    }

    /// Lines of 14 digits: item, warehouse, quantity. MySQL has no arrays.
    fn push_fixed(&mut self, lines: &[Line]) {
        self.text.clear();
        for line in lines {
            let _ = write!(self.text, "{:06}{:06}{:02}", line.item, line.supply_warehouse, line.quantity);
        }
        self.params.push_text(self.text.as_bytes());
    }
}
