//! The queries of transactions whose plans are worth watching, with literal values, for EXPLAIN: the same on every arm.

/// Each after its name.
pub fn examples() -> Vec<(&'static str, String)> {
    let all = [
        (
            "customer-by-name",
            "SELECT c_id FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_last = 'BARBARBAR' ORDER BY c_first",
        ),
        (
            "last-order",
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_c_id = 1 \
             ORDER BY o_id DESC LIMIT 1",
        ),
        (
            "order-lines",
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 3000",
        ),
        (
            "oldest-new-order",
            "SELECT no_o_id FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 ORDER BY no_o_id LIMIT 1",
        ),
        (
            "stock-level",
            "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id \
             WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id >= 2981 AND ol_o_id < 3001 \
             AND s_w_id = 1 AND s_quantity < 15",
        ),
    ];
    all.into_iter().map(|(name, sql)| (name, sql.to_owned())).collect()
}
