//! The rows of the nine tables: a pure function of seed, table, warehouse and position, the same on every arm.
//!
//! A loader takes the tables apart into [`Part`]s and writes each with an encoder of its own.

use rqps_model::random::{Stream, name_word};

use super::ITEMS;
use super::inputs::{CUSTOMERS, DISTRICTS, last_name};

/// Writes rows in the form that a DBMS loads.
pub trait RowWriter {
    fn int(&mut self, value: i64);
    /// Digits and a decimal point, or a moment in ISO form.
    fn literal(&mut self, value: &str);
    /// Letters, digits and blanks: nothing that needs an escape.
    fn text(&mut self, value: &[u8]);
    fn null(&mut self);
    fn end_row(&mut self);
}

/// The rows of one table for one warehouse; `item` belongs to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub table: &'static str,
    pub columns: &'static str,
    pub warehouse: u32,
    seed: u64,
}

/// The moment of everything loaded.
const LOADED_AT: &str = "2026-01-01 00:00:00";
/// Orders of a district after the load, and the last of them that is delivered.
pub const ORDERS: u64 = 3_000;
const DELIVERED: u64 = 2_100;
/// Warehouse and district begin with what their customers have paid.
const PAID_PER_DISTRICT: &str = "30000.00";
const PAID_PER_WAREHOUSE: &str = "300000.00";
/// The constant of NURand for last names in the load: differs from that of transactions as the specification asks.
const LAST_NAME_C: u64 = 157;

const COLUMNS: [(&str, &str); 9] = [
    ("item", "i_id, i_im_id, i_price, i_name, i_data"),
    ("warehouse", "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd"),
    (
        "district",
        "d_w_id, d_id, d_next_o_id, d_ytd, d_tax, d_name, d_street_1, d_street_2, d_city, d_state, d_zip",
    ),
    (
        "stock",
        "s_w_id, s_i_id, s_quantity, s_order_cnt, s_remote_cnt, s_ytd, s_dist_01, s_dist_02, s_dist_03, \
         s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_data",
    ),
    (
        "order_line",
        "ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, \
         ol_dist_info",
    ),
    (
        "customer",
        "c_w_id, c_d_id, c_id, c_last, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
         c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data",
    ),
    ("history", "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data"),
    ("orders", "o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local"),
    ("new_order", "no_w_id, no_d_id, no_o_id"),
];

/// All parts of a load, the largest first within each warehouse.
pub fn parts(seed: u64, warehouses: u32) -> Vec<Part> {
    let part = |warehouse: u32, (table, columns): (&'static str, &'static str)| Part {
        table,
        columns,
        warehouse,
        seed,
    };
    let of_warehouse = |warehouse: u32| COLUMNS[1..].iter().map(move |columns| part(warehouse, *columns));
    std::iter::once(part(0, COLUMNS[0])).chain((1..=warehouses).flat_map(of_warehouse)).collect()
}

impl Part {
    /// Positions to be written, from 0. A position of `order_line` is all lines of an order.
    pub fn positions(&self) -> u64 {
        let districts = u64::from(DISTRICTS);
        match self.table {
            "warehouse" => 1,
            "district" => districts,
            "item" | "stock" => ITEMS,
            "customer" | "history" => districts * u64::from(CUSTOMERS),
            "new_order" => districts * (ORDERS - DELIVERED),
            _ => districts * ORDERS,
        }
    }

    fn stream(&self, what: &str, position: u64) -> Stream {
        Stream::new(&[self.seed, name_word("tproc-c"), name_word(what), u64::from(self.warehouse), position])
    }

    /// Writes the rows at a position; returns their number.
    pub fn write(&self, position: u64, to: &mut dyn RowWriter) -> u64 {
        let mut draw = Draws(self.stream(self.table, position));
        let warehouse = i64::from(self.warehouse);
        match self.table {
            "item" => {
                to.int(position as i64 + 1);
                to.int(draw.between(1, 10_000));
                draw.decimal(to, 100, 10_000, 2);
                draw.text(to, 14, 24);
                draw.data(to);
            }
            "warehouse" => {
                to.int(warehouse);
                draw.text(to, 6, 10);
                draw.address(to);
                draw.decimal(to, 0, 2_000, 4);
                to.literal(PAID_PER_WAREHOUSE);
            }
            "district" => {
                to.int(warehouse);
                to.int(position as i64 + 1);
                to.int(ORDERS as i64 + 1);
                to.literal(PAID_PER_DISTRICT);
                draw.decimal(to, 0, 2_000, 4);
                draw.text(to, 6, 10);
                draw.address(to);
            }
            "stock" => {
                to.int(warehouse);
                to.int(position as i64 + 1);
                to.int(draw.between(10, 100));
                for _ in 0..3 {
                    to.int(0);
                }
                for _ in 0..10 {
                    draw.text(to, 24, 24);
                }
                draw.data(to);
            }
            "customer" => self.customer(position, &mut draw, to),
            "history" => {
                let (district, customer) = split(position, u64::from(CUSTOMERS));
                for value in [customer, district, warehouse, district, warehouse] {
                    to.int(value);
                }
                to.literal(LOADED_AT);
                to.literal("10.00");
                draw.text(to, 12, 24);
            }
            "orders" => {
                let (district, order) = split(position, ORDERS);
                for value in [warehouse, district, order, self.customer_of(district, order)] {
                    to.int(value);
                }
                to.literal(LOADED_AT);
                match order as u64 <= DELIVERED {
                    true => to.int(draw.between(1, 10)),
                    false => to.null(),
                }
                to.int(self.lines_of(position));
                to.int(1);
            }
            "new_order" => {
                let (district, order) = split(position, ORDERS - DELIVERED);
                for value in [warehouse, district, order + DELIVERED as i64] {
                    to.int(value);
                }
            }
            _ => return self.order_lines(position, &mut draw, to),
        }
        to.end_row();
        1
    }

    fn customer(&self, position: u64, draw: &mut Draws, to: &mut dyn RowWriter) {
        let (district, customer) = split(position, u64::from(CUSTOMERS));
        to.int(i64::from(self.warehouse));
        to.int(district);
        to.int(customer);
        let name = match customer {
            1..=1_000 => customer as u64 - 1,
            _ => nurand(&mut draw.0, 255, LAST_NAME_C, 1_000),
        };
        to.text(last_name(name).as_bytes());
        draw.text(to, 8, 16);
        to.text(b"OE");
        draw.address(to);
        draw.digits(to, 16);
        to.literal(LOADED_AT);
        to.text(if draw.0.key(10) == 1 { b"BC" } else { b"GC" });
        to.literal("50000.00");
        draw.decimal(to, 0, 5_000, 4);
        to.literal("-10.00");
        to.literal("10.00");
        to.int(1);
        to.int(0);
        draw.text(to, 300, 500);
    }

    fn order_lines(&self, position: u64, draw: &mut Draws, to: &mut dyn RowWriter) -> u64 {
        let (district, order) = split(position, ORDERS);
        let lines = self.lines_of(position);
        let warehouse = i64::from(self.warehouse);
        let delivered = order as u64 <= DELIVERED;
        for number in 1..=lines {
            for value in [warehouse, district, order, number, draw.between(1, ITEMS as i64), warehouse] {
                to.int(value);
            }
            match delivered {
                true => to.literal(LOADED_AT),
                false => to.null(),
            }
            to.int(5);
            match delivered {
                true => to.literal("0.00"),
                false => draw.decimal(to, 1, 999_999, 2),
            }
            draw.text(to, 24, 24);
            to.end_row();
        }
        lines as u64
    }

    /// Lines of the order at this position: the same in `orders` and `order_line`.
    fn lines_of(&self, position: u64) -> i64 {
        self.stream("lines", position).key(11) as i64 + 4
    }

    /// The customer of an order: each has one, in an order that differs from district to district.
    fn customer_of(&self, district: i64, order: i64) -> i64 {
        // A step that has no factor in common with their number visits each customer once.
        const STEPS: [i64; 10] = [1_003, 1_009, 1_013, 1_019, 1_021, 1_031, 1_033, 1_039, 1_049, 1_051];
        let first = self.stream("customers", district as u64).key(ORDERS) as i64;
        (first + order * STEPS[district as usize % STEPS.len()]) % ORDERS as i64 + 1
    }
}

/// The district, from 1, and the number within it, from 1.
fn split(position: u64, per_district: u64) -> (i64, i64) {
    ((position / per_district) as i64 + 1, (position % per_district) as i64 + 1)
}

/// The specification's uneven draw below `below`: NURand(a, 0, below - 1) with its constant.
pub(super) fn nurand(stream: &mut Stream, a: u64, constant: u64, below: u64) -> u64 {
    let (first, second) = (stream.key(a + 1) - 1, stream.key(below) - 1);
    ((first | second) + constant) % below
}

/// Draws of values in the form of a column.
struct Draws(Stream);

/// 64 characters: six random bits choose one.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ab";
const CHARS_PER_DRAW: usize = 10;

impl Draws {
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.0.key(high.abs_diff(low) + 1) as i64 - 1
    }

    /// A decimal with so many places, as whole number of its last place.
    fn decimal(&mut self, to: &mut dyn RowWriter, low: i64, high: i64, places: usize) {
        let value = self.between(low, high);
        let unit = 10_i64.pow(places as u32);
        to.literal(&format!("{}.{:0places$}", value / unit, value % unit));
    }

    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(CHARS_PER_DRAW) {
            let mut bits = self.0.bits();
            for byte in chunk {
                *byte = LETTERS[(bits & 63) as usize];
                bits >>= 6;
            }
        }
    }

    fn text(&mut self, to: &mut dyn RowWriter, low: usize, high: usize) {
        let mut text = [0; 500];
        let text = &mut text[..self.between(low as i64, high as i64) as usize];
        self.fill(text);
        to.text(text);
    }

    fn digits(&mut self, to: &mut dyn RowWriter, length: usize) {
        let mut text = [0; 16];
        let text = &mut text[..length];
        text.iter_mut().for_each(|byte| *byte = b'0' + (self.0.key(10) as u8 - 1));
        to.text(text);
    }

    /// 26 to 50 characters, of which one in ten rows has `ORIGINAL` somewhere.
    fn data(&mut self, to: &mut dyn RowWriter) {
        const MARK: &[u8; 8] = b"ORIGINAL";
        let mut text = [0; 50];
        let text = &mut text[..self.between(26, 50) as usize];
        self.fill(text);
        if self.0.key(10) == 1 {
            let at = self.0.key((text.len() - MARK.len()) as u64) as usize;
            text[at..at + MARK.len()].copy_from_slice(MARK);
        }
        to.text(text);
    }

    /// Two streets, a city, a state, a code.
    fn address(&mut self, to: &mut dyn RowWriter) {
        for _ in 0..3 {
            self.text(to, 10, 20);
        }
        self.text(to, 2, 2);
        to.text(format!("{:04}11111", self.between(0, 9_999)).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Keeps rows as lists of texts.
    #[derive(Default)]
    struct Rows {
        rows: Vec<Vec<String>>,
        row: Vec<String>,
    }

    impl RowWriter for Rows {
        fn int(&mut self, value: i64) {
            self.row.push(value.to_string());
        }
        fn literal(&mut self, value: &str) {
            self.row.push(value.to_owned());
        }
        fn text(&mut self, value: &[u8]) {
            self.row.push(String::from_utf8(value.to_vec()).unwrap());
        }
        fn null(&mut self) {
            self.row.push("NULL".to_owned());
        }
        fn end_row(&mut self) {
            self.rows.push(std::mem::take(&mut self.row));
        }
    }

    fn part(table: &str, warehouse: u32) -> Part {
        parts(1, 2).into_iter().find(|part| part.table == table && part.warehouse == warehouse).unwrap()
    }

    fn rows(part: Part, positions: impl Iterator<Item = u64>) -> Vec<Vec<String>> {
        let mut rows = Rows::default();
        let written: u64 = positions.map(|position| part.write(position, &mut rows)).sum();
        assert_eq!(written, rows.rows.len() as u64);
        rows.rows
    }

    #[test]
    fn rows_have_their_columns_and_depend_on_the_warehouse_alone() {
        for part in parts(1, 1) {
            let columns = part.columns.split(',').count();
            assert!(rows(part, 0..1).iter().all(|row| row.len() == columns), "{part:?}");
            assert_eq!(rows(part, 0..1), rows(part, 0..1));
        }
        let stock = |warehouse| rows(part("stock", warehouse), 0..1)[0][16].clone();
        assert_ne!(stock(1), stock(2));
    }

    #[test]
    fn every_customer_of_a_district_has_one_order() {
        for district in 0..10 {
            let orders = rows(part("orders", 2), district * ORDERS..(district + 1) * ORDERS);
            let customers: BTreeSet<&String> = orders.iter().map(|order| &order[3]).collect();
            assert_eq!(customers.len() as u64, ORDERS, "district {district}");
        }
    }

    #[test]
    fn an_order_says_how_many_lines_it_has() {
        let lines = rows(part("order_line", 1), 0..500);
        for order in rows(part("orders", 1), 0..500) {
            let own = lines.iter().filter(|line| line[1] == order[1] && line[2] == order[2]).count();
            assert_eq!(order[6], own.to_string());
            assert!((5..=15).contains(&own));
        }
    }
}
