//! The consistency conditions of TPC-C's clause 3.3.2 that hold for these tables, 1 to 7, as queries that count what
//! violates them.

/// Warehouses of which a check reads all orders and lines: those of a large database are a sample.
const READ_WAREHOUSES_MAX: u32 = 10;

/// A query whose columns each count what violates one condition.
#[derive(Debug)]
pub struct Check {
    /// The conditions, in the order of the columns.
    pub conditions: &'static [Condition],
    sql: &'static str,
    /// Whether it reads small tables and keys only, so that it costs next to nothing and covers all warehouses.
    pub is_cheap: bool,
}

/// A condition of clause 3.3.2.
#[derive(Debug)]
pub struct Condition {
    pub number: u32,
    /// What a violation is, in the plural.
    pub violation: &'static str,
}

const fn condition(number: u32, violation: &'static str) -> Condition {
    Condition { number, violation }
}

/// `{of}` lists warehouses.
pub const CHECKS: [Check; 6] = [
    Check {
        conditions: &[condition(1, "warehouses whose payments are not the sum of their districts'")],
        sql: "SELECT count(*) FROM warehouse WHERE w_id IN ({of}) \
              AND w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)",
        is_cheap: true,
    },
    Check {
        conditions: &[condition(2, "districts whose next order does not follow the last one")],
        sql: "SELECT count(*) FROM district WHERE d_w_id IN ({of}) AND (\
              d_next_o_id - 1 <> (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
              OR d_next_o_id - 1 <> coalesce((SELECT max(no_o_id) FROM new_order \
              WHERE no_w_id = d_w_id AND no_d_id = d_id), d_next_o_id - 1))",
        is_cheap: true,
    },
    Check {
        conditions: &[condition(3, "districts with gaps among undelivered orders")],
        sql: "SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order WHERE no_w_id IN ({of}) \
              GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS gaps",
        is_cheap: true,
    },
    Check {
        conditions: &[condition(5, "orders with a carrier and yet undelivered, or without either")],
        sql: "SELECT count(*) FROM orders LEFT JOIN new_order \
              ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
              WHERE o_w_id IN ({of}) AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
        is_cheap: false,
    },
    // Also where an order or its lines are missing altogether, which the joins below do not see: no order is deleted.
    Check {
        conditions: &[condition(
            4,
            "districts that lack orders, or have another number of lines than their orders say",
        )],
        sql: "SELECT count(*) FROM district WHERE d_w_id IN ({of}) AND (\
              d_next_o_id - 1 <> (SELECT count(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
              OR coalesce((SELECT sum(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id), 0) \
              <> (SELECT count(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id))",
        is_cheap: false,
    },
    Check {
        conditions: &[
            condition(6, "orders with another number of lines than they say"),
            condition(7, "orders whose lines are delivered and that have no carrier, or the reverse"),
        ],
        sql: "SELECT coalesce(sum(CASE WHEN o_ol_cnt = count_lines THEN 0 ELSE 1 END), 0), \
              coalesce(sum(CASE WHEN count_delivered = CASE WHEN o_carrier_id IS NULL THEN 0 ELSE count_lines END \
              THEN 0 ELSE 1 END), 0) \
              FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS count_lines, \
              count(ol_delivery_d) AS count_delivered FROM order_line WHERE ol_w_id IN ({of}) \
              GROUP BY ol_w_id, ol_d_id, ol_o_id) AS lines_of \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id IN ({of})",
        is_cheap: false,
    },
];

impl Check {
    /// The query for a database of so many warehouses.
    pub fn sql(&self, warehouses: u32) -> String {
        let of = if self.is_cheap { (1..=warehouses).collect() } else { spread_warehouses(warehouses) };
        let list: Vec<String> = of.iter().map(u32::to_string).collect();
        self.sql.replace("{of}", &list.join(", "))
    }
}

/// How many of so many warehouses the conditions that read whole tables are not checked on.
pub fn unread_warehouses(warehouses: u32) -> u32 {
    warehouses.saturating_sub(READ_WAREHOUSES_MAX)
}

/// All of so many warehouses, or some evenly spread, the first and the last among them.
fn spread_warehouses(warehouses: u32) -> Vec<u32> {
    let checked = warehouses.min(READ_WAREHOUSES_MAX);
    if checked < 2 {
        return vec![1];
    }
    let at = |place: u32| 1 + (u64::from(place) * u64::from(warehouses - 1) / u64::from(checked - 1)) as u32;
    (0..checked).map(at).collect()
}

/// For each district, by warehouse: the number of its next order, which counts committed new orders, and that of its
/// first undelivered one, which counts delivered orders. Both are read by keys.
pub const DISTRICTS_SQL: &str = "SELECT d_next_o_id, coalesce((SELECT no_o_id FROM new_order \
    WHERE no_w_id = d_w_id AND no_d_id = d_id ORDER BY no_o_id LIMIT 1), d_next_o_id) \
    FROM district ORDER BY d_w_id, d_id";

/// The sum of all payments, in hundredths.
pub const PAID_SQL: &str = "SELECT round(sum(w_ytd) * 100) FROM warehouse";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_warehouses_are_checked_and_lines_from_end_to_end() {
        assert_eq!(spread_warehouses(1), [1]);
        assert_eq!(spread_warehouses(3), [1, 2, 3]);
        let many = spread_warehouses(4_000);
        assert_eq!((many.len(), many[0], many[9]), (10, 1, 4_000));
        let of = |check: &Check| check.sql(12).contains("IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)");
        assert!(CHECKS.iter().all(|check| of(check) == check.is_cheap));
    }

    #[test]
    fn seven_conditions_are_checked() {
        let mut numbers: Vec<u32> =
            CHECKS.iter().flat_map(|check| check.conditions).map(|condition| condition.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    }
}
