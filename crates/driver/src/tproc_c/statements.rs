//! Transactions sent statement by statement, as text: the client reads what it needs for the next one.

use rqps_wire::{Error, Outcome, Session, Table};
use rqps_workloads::tproc_c::Transaction;
use rqps_workloads::tproc_c::inputs::{Customer, DISTRICTS, Inputs, Line, last_name};

/// One transaction in work.
pub(super) struct Statements<'a, S: Session> {
    session: &'a mut S,
    inputs: &'a Inputs,
    outcome: Outcome,
}

/// Runs a transaction.
pub(super) fn run<S: Session>(session: &mut S, inputs: &Inputs) -> Result<Outcome, Error> {
    let mut statements = Statements { session, inputs, outcome: Outcome::default() };
    statements.write("BEGIN")?;
    match inputs.transaction {
        Transaction::NewOrder => statements.new_order()?,
        Transaction::Payment => statements.payment()?,
        Transaction::Delivery => statements.delivery()?,
        Transaction::StockLevel => statements.stock_level()?,
        Transaction::OrderStatus => statements.order_status()?,
    }
    statements.write(if inputs.rolls_back() { "ROLLBACK" } else { "COMMIT" })?;
    Ok(statements.outcome)
}

impl<S: Session> Statements<'_, S> {
    fn read(&mut self, sql: &str) -> Result<Table, Error> {
        let table = self.session.query(sql)?;
        self.outcome.rows += table.rows.len() as u64;
        Ok(table)
    }

    fn write(&mut self, sql: &str) -> Result<(), Error> {
        self.outcome.affected += self.session.simple(sql)?.affected;
        Ok(())
    }

    /// The first row, which must be there.
    fn row(&mut self, sql: &str) -> Result<Vec<String>, Error> {
        let row = self.read(sql)?.rows.into_iter().next();
        let row = row.ok_or_else(|| Error::Misuse(format!("no row from: {sql}")))?;
        Ok(row.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn new_order(&mut self) -> Result<(), Error> {
        let &Inputs { warehouse: w, district: d, ref customer, ref lines, .. } = self.inputs;
        let c = self.number(*customer, w, d)?;
        self.row(&format!(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
             WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {c}"
        ))?;
        let district = self.row(&format!(
            "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = {w} AND d_id = {d} FOR UPDATE"
        ))?;
        let order = &district[0];
        self.write(&format!(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = {w} AND d_id = {d}"
        ))?;
        let all_local = u8::from(lines.iter().all(|line| line.supply_warehouse == w));
        self.write(&format!(
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES ({order}, {d}, {w}, {c}, CURRENT_TIMESTAMP, {}, {all_local})",
            lines.len()
        ))?;
        self.write(&format!("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ({order}, {d}, {w})"))?;
        for (number, line) in (1..).zip(lines) {
            if !self.order_line(order, number, line)? {
                break;
            }
        }
        Ok(())
    }

    /// Orders an item; false if it does not exist.
    fn order_line(&mut self, order: &str, number: u32, line: &Line) -> Result<bool, Error> {
        let &Inputs { warehouse: w, district: d, .. } = self.inputs;
        let &Line { item, supply_warehouse: supply, quantity } = line;
        let found = self.read(&format!("SELECT i_price, i_name, i_data FROM item WHERE i_id = {item}"))?;
        let Some(price) = found.value() else {
            return Ok(false);
        };
        let amount = decimal(cents(price) * i64::from(quantity));
        let stock = self.row(&format!(
            "SELECT s_quantity, s_dist_{d:02}, s_data FROM stock WHERE s_w_id = {supply} AND s_i_id = {item} FOR UPDATE"
        ))?;
        let left = stock[0].parse::<i64>().unwrap_or(0) - i64::from(quantity);
        let left = if left >= 10 { left } else { left + 91 };
        let remote = u8::from(supply != w);
        self.write(&format!(
            "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + {remote} WHERE s_w_id = {supply} AND s_i_id = {item}"
        ))?;
        self.write(&format!(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
             ol_amount, ol_dist_info) \
             VALUES ({order}, {d}, {w}, {number}, {item}, {supply}, {quantity}, {amount}, '{}')",
            stock[1]
        ))?;
        Ok(true)
    }

    /// The customer's number: of those with a last name, the one in the middle by first name.
    fn number(&mut self, customer: Customer, w: u32, d: u32) -> Result<u32, Error> {
        let name = match customer {
            Customer::Number(number) => return Ok(number),
            Customer::LastName(number) => last_name(number.into()),
        };
        let sql = format!(
            "SELECT c_id FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_last = '{name}' ORDER BY c_first"
        );
        let found = self.read(&sql)?.rows;
        let middle = found.get(found.len().saturating_sub(1) / 2).and_then(|row| row.first()?.as_deref());
        let number = middle.and_then(|number| number.parse().ok());
        number.ok_or_else(|| Error::Misuse(format!("no row from: {sql}")))
    }

    fn payment(&mut self) -> Result<(), Error> {
        let &Inputs { warehouse: w, district: d, amount, customer, .. } = self.inputs;
        let &Inputs { customer_warehouse: cw, customer_district: cd, .. } = self.inputs;
        self.write(&format!("UPDATE warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {w}"))?;
        let warehouse = self.row(&format!("SELECT w_name FROM warehouse WHERE w_id = {w}"))?;
        self.write(&format!(
            "UPDATE district SET d_ytd = d_ytd + {amount} WHERE d_w_id = {w} AND d_id = {d}"
        ))?;
        let district = self.row(&format!("SELECT d_name FROM district WHERE d_w_id = {w} AND d_id = {d}"))?;
        let c = self.number(customer, cw, cd)?;
        let is_customer = format!("c_w_id = {cw} AND c_d_id = {cd} AND c_id = {c}");
        let found = self.row(&format!(
            "SELECT c_balance, c_credit, c_data FROM customer WHERE {is_customer} FOR UPDATE"
        ))?;
        let balance = decimal(cents(&found[0]) - i64::from(amount) * 100);
        let mut set = format!(
            "c_balance = {balance}, c_ytd_payment = c_ytd_payment + {amount}, c_payment_cnt = c_payment_cnt + 1"
        );
        if found[1] == "BC" {
            let data: String =
                format!("{c} {cd} {cw} {d} {w} {amount} {}", found[2]).chars().take(500).collect();
            set += &format!(", c_data = '{data}'");
        }
        self.write(&format!("UPDATE customer SET {set} WHERE {is_customer}"))?;
        self.write(&format!(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES ({c}, {cd}, {cw}, {d}, {w}, CURRENT_TIMESTAMP, {amount}, '{}    {}')",
            warehouse[0], district[0]
        ))
    }

    fn delivery(&mut self) -> Result<(), Error> {
        let &Inputs { warehouse: w, carrier, .. } = self.inputs;
        for d in 1..=DISTRICTS {
            let oldest = self.read(&format!(
                "SELECT no_o_id FROM new_order WHERE no_w_id = {w} AND no_d_id = {d} ORDER BY no_o_id LIMIT 1 FOR UPDATE"
            ))?;
            let Some(order) = oldest.value() else {
                continue;
            };
            self.write(&format!(
                "DELETE FROM new_order WHERE no_w_id = {w} AND no_d_id = {d} AND no_o_id = {order}"
            ))?;
            let is_order = format!("o_w_id = {w} AND o_d_id = {d} AND o_id = {order}");
            let customer = self.row(&format!("SELECT o_c_id FROM orders WHERE {is_order}"))?;
            self.write(&format!("UPDATE orders SET o_carrier_id = {carrier} WHERE {is_order}"))?;
            let is_line = format!("ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {order}");
            self.write(&format!("UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE {is_line}"))?;
            let total = self.row(&format!("SELECT sum(ol_amount) FROM order_line WHERE {is_line}"))?;
            self.write(&format!(
                "UPDATE customer SET c_balance = c_balance + {}, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {}",
                total[0], customer[0]
            ))?;
        }
        Ok(())
    }

    fn stock_level(&mut self) -> Result<(), Error> {
        let &Inputs { warehouse: w, district: d, threshold, .. } = self.inputs;
        let next =
            self.row(&format!("SELECT d_next_o_id FROM district WHERE d_w_id = {w} AND d_id = {d}"))?;
        let next = &next[0];
        self.row(&format!(
            "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id \
             WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id >= {next} - 20 AND ol_o_id < {next} \
             AND s_w_id = {w} AND s_quantity < {threshold}"
        ))?;
        Ok(())
    }

    fn order_status(&mut self) -> Result<(), Error> {
        let &Inputs { warehouse: w, district: d, customer, .. } = self.inputs;
        let c = self.number(customer, w, d)?;
        self.row(&format!(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {c}"
        ))?;
        let order = self.row(&format!(
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_c_id = {c} \
             ORDER BY o_id DESC LIMIT 1"
        ))?;
        self.read(&format!(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {}",
            order[0]
        ))?;
        Ok(())
    }
}

/// A decimal with two places, in its last place.
fn cents(text: &str) -> i64 {
    text.chars().filter(|c| *c != '.').collect::<String>().parse().unwrap_or(0)
}

fn decimal(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_keeps_its_cents() {
        for text in ["0.00", "-10.05", "99.99", "-0.01"] {
            assert_eq!(decimal(cents(text)), text);
        }
    }
}
