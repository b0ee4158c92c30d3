//! Tables, keys and indexes, and the stored procedures of the transactions.

use crate::Dialect;

/// How a Postgres version runs stored code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routines {
    /// Called by `CALL`; they commit and roll back themselves.
    Procedures,
    /// Called by `SELECT`, before Postgres 11. An error rolls back.
    Functions,
}

impl Routines {
    /// Asks a Postgres server for its version.
    pub const VERSION_SQL: &str = "SELECT current_setting('server_version_num')::bigint";

    /// What a version of Postgres has.
    pub fn of_version(number: Option<i64>) -> Self {
        const WITH_PROCEDURES: i64 = 110_000;
        if number.is_none_or(|number| number >= WITH_PROCEDURES) { Self::Procedures } else { Self::Functions }
    }
}

/// The SQLSTATE with which a function rolls a new order back.
pub const ROLLED_BACK_STATE: &str = "RQ001";

struct Table {
    name: &'static str,
    columns: &'static str,
    primary_key: &'static str,
}

/// `{time}` is the type of moments.
const TABLES: [Table; 9] = [
    Table {
        name: "warehouse",
        columns: "w_id INT NOT NULL, w_name VARCHAR(10) NOT NULL, w_street_1 VARCHAR(20) NOT NULL, \
                  w_street_2 VARCHAR(20) NOT NULL, w_city VARCHAR(20) NOT NULL, w_state CHAR(2) NOT NULL, \
                  w_zip CHAR(9) NOT NULL, w_tax DECIMAL(4, 4) NOT NULL, w_ytd DECIMAL(14, 2) NOT NULL",
        primary_key: "w_id",
    },
    Table {
        name: "district",
        columns: "d_w_id INT NOT NULL, d_id SMALLINT NOT NULL, d_next_o_id INT NOT NULL, d_ytd DECIMAL(14, 2) NOT NULL, \
                  d_tax DECIMAL(4, 4) NOT NULL, d_name VARCHAR(10) NOT NULL, d_street_1 VARCHAR(20) NOT NULL, \
                  d_street_2 VARCHAR(20) NOT NULL, d_city VARCHAR(20) NOT NULL, d_state CHAR(2) NOT NULL, \
                  d_zip CHAR(9) NOT NULL",
        primary_key: "d_w_id, d_id",
    },
    Table {
        name: "customer",
        columns: "c_w_id INT NOT NULL, c_d_id SMALLINT NOT NULL, c_id INT NOT NULL, c_last VARCHAR(16) NOT NULL, \
                  c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_street_1 VARCHAR(20) NOT NULL, \
                  c_street_2 VARCHAR(20) NOT NULL, c_city VARCHAR(20) NOT NULL, c_state CHAR(2) NOT NULL, \
                  c_zip CHAR(9) NOT NULL, c_phone CHAR(16) NOT NULL, c_since {time} NOT NULL, \
                  c_credit CHAR(2) NOT NULL, c_credit_lim DECIMAL(12, 2) NOT NULL, \
                  c_discount DECIMAL(4, 4) NOT NULL, c_balance DECIMAL(12, 2) NOT NULL, \
                  c_ytd_payment DECIMAL(12, 2) NOT NULL, c_payment_cnt SMALLINT NOT NULL, \
                  c_delivery_cnt SMALLINT NOT NULL, c_data VARCHAR(500) NOT NULL",
        primary_key: "c_w_id, c_d_id, c_id",
    },
    Table {
        name: "history",
        columns: "h_c_id INT NOT NULL, h_c_d_id SMALLINT NOT NULL, h_c_w_id INT NOT NULL, h_d_id SMALLINT NOT NULL, \
                  h_w_id INT NOT NULL, h_date {time} NOT NULL, h_amount DECIMAL(6, 2) NOT NULL, \
                  h_data VARCHAR(24) NOT NULL",
        primary_key: "",
    },
    Table {
        name: "item",
        columns: "i_id INT NOT NULL, i_im_id INT NOT NULL, i_price DECIMAL(5, 2) NOT NULL, \
                  i_name VARCHAR(24) NOT NULL, i_data VARCHAR(50) NOT NULL",
        primary_key: "i_id",
    },
    Table {
        name: "stock",
        columns: "s_w_id INT NOT NULL, s_i_id INT NOT NULL, s_quantity SMALLINT NOT NULL, \
                  s_order_cnt SMALLINT NOT NULL, s_remote_cnt SMALLINT NOT NULL, s_ytd INT NOT NULL, \
                  s_dist_01 CHAR(24) NOT NULL, s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL, \
                  s_dist_04 CHAR(24) NOT NULL, s_dist_05 CHAR(24) NOT NULL, s_dist_06 CHAR(24) NOT NULL, \
                  s_dist_07 CHAR(24) NOT NULL, s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL, \
                  s_dist_10 CHAR(24) NOT NULL, s_data VARCHAR(50) NOT NULL",
        primary_key: "{stock}",
    },
    Table {
        name: "orders",
        columns: "o_w_id INT NOT NULL, o_d_id SMALLINT NOT NULL, o_id INT NOT NULL, o_c_id INT NOT NULL, \
                  o_entry_d {time} NOT NULL, o_carrier_id SMALLINT, o_ol_cnt SMALLINT NOT NULL, \
                  o_all_local SMALLINT NOT NULL",
        primary_key: "o_w_id, o_d_id, o_id",
    },
    Table {
        name: "new_order",
        columns: "no_w_id INT NOT NULL, no_d_id SMALLINT NOT NULL, no_o_id INT NOT NULL",
        primary_key: "no_w_id, no_d_id, no_o_id",
    },
    Table {
        name: "order_line",
        columns: "ol_w_id INT NOT NULL, ol_d_id SMALLINT NOT NULL, ol_o_id INT NOT NULL, ol_number SMALLINT NOT NULL, \
                  ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, ol_delivery_d {time}, \
                  ol_quantity SMALLINT NOT NULL, ol_amount DECIMAL(6, 2) NOT NULL, ol_dist_info CHAR(24) NOT NULL",
        primary_key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
    },
];

/// Columns of the two indexes beside the primary keys: of a customer by name, and of its orders.
const CUSTOMER_BY_NAME: &str = "c_w_id, c_d_id, c_last, c_first, c_id";
const ORDERS_OF_CUSTOMER: &str = "o_w_id, o_d_id, o_c_id, o_id";

impl Table {
    /// Postgres reads stock by item first, MySQL clusters it by warehouse.
    fn primary_key(&self, dialect: Dialect) -> &'static str {
        match (self.primary_key, dialect) {
            ("{stock}", Dialect::Postgres) => "s_i_id, s_w_id",
            ("{stock}", Dialect::Mysql) => "s_w_id, s_i_id",
            (columns, _) => columns,
        }
    }
}

/// Statements that create the empty tables, replacing those of an earlier load. MySQL's have all their keys.
pub fn create_tables(dialect: Dialect, partitions: u32) -> Vec<String> {
    let create = |table: &Table| -> Vec<String> {
        let Table { name, .. } = table;
        let time = if dialect == Dialect::Postgres { "TIMESTAMP" } else { "DATETIME" };
        let columns = table.columns.replace("{time}", time);
        let partitioned = *name == "order_line" && partitions > 1;
        let drop = format!("DROP TABLE IF EXISTS {name}");
        match dialect {
            Dialect::Postgres if partitioned => {
                let table = format!("CREATE TABLE {name} ({columns}) PARTITION BY HASH (ol_w_id)");
                let part = |number: u32| {
                    format!(
                        "CREATE TABLE {name}_{number} PARTITION OF {name} FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number})"
                    )
                };
                [drop, table].into_iter().chain((0..partitions).map(part)).collect()
            }
            Dialect::Postgres => vec![drop, format!("CREATE TABLE {name} ({columns})")],
            Dialect::Mysql => {
                let mut keys = String::new();
                if !table.primary_key.is_empty() {
                    keys = format!(", PRIMARY KEY ({})", table.primary_key(dialect));
                }
                match *name {
                    "customer" => keys += &format!(", KEY customer_by_name ({CUSTOMER_BY_NAME})"),
                    "orders" => keys += &format!(", KEY orders_of_customer ({ORDERS_OF_CUSTOMER})"),
                    _ => {}
                }
                let parts = match partitioned {
                    true => format!(" PARTITION BY HASH (ol_w_id) PARTITIONS {partitions}"),
                    false => String::new(),
                };
                let create = format!(
                    "CREATE TABLE {name} ({columns}{keys}) ENGINE = InnoDB DEFAULT CHARSET = latin1{parts}"
                );
                vec![drop, create]
            }
        }
    };
    TABLES.iter().flat_map(create).collect()
}

/// Statements that build keys and indexes on the filled tables; they do not depend on each other.
pub fn build_indexes(dialect: Dialect) -> Vec<String> {
    if dialect == Dialect::Mysql {
        return Vec::new();
    }
    let keys =
        TABLES.iter().rev().filter(|table| !table.primary_key.is_empty()).map(|table| {
            format!("ALTER TABLE {} ADD PRIMARY KEY ({})", table.name, table.primary_key(dialect))
        });
    let others = [
        format!("CREATE UNIQUE INDEX customer_by_name ON customer ({CUSTOMER_BY_NAME})"),
        format!("CREATE UNIQUE INDEX orders_of_customer ON orders ({ORDERS_OF_CUSTOMER})"),
    ];
    keys.chain(others).collect()
}

/// Statements that create the stored procedures, replacing those of an earlier load.
pub fn create_routines(dialect: Dialect, routines: Routines) -> Vec<String> {
    let (text, kind, roll_back) = match (dialect, routines) {
        (Dialect::Mysql, _) => (include_str!("mysql.sql"), "", String::new()),
        (_, Routines::Procedures) => (include_str!("postgres.sql"), "PROCEDURE", "ROLLBACK;".to_owned()),
        (_, Routines::Functions) => (
            include_str!("postgres.sql"),
            "FUNCTION",
            format!("RAISE EXCEPTION 'item not found' USING ERRCODE = '{ROLLED_BACK_STATE}';"),
        ),
    };
    let pieces = text
        .split("-- next\n")
        .map(|piece| piece.trim_end().replace("{kind}", kind).replace("{roll_back}", &roll_back));
    let drops = super::Transaction::ALL
        .map(|transaction| format!("DROP PROCEDURE IF EXISTS {}", transaction.key().replace('-', "_")));
    let drops = drops.into_iter().filter(|_| dialect == Dialect::Mysql);
    drops.chain(pieces).collect()
}
