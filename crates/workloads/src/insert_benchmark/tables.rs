//! SQL for the tables of the queue: creates, indexes and partitions them, and reads the queue's position from
//! their rows.

use crate::dialect::Dialect;

/// The name of table number `table` (from 1).
pub fn table_name(table: u32) -> String {
    format!("pi{table}")
}

/// The secondary indexes in the order in which they are built: the suffix of their name, and their columns.
const INDEXES: [(&str, &str); 3] = [
    ("marketsegment", "productid, customerid, price"),
    ("registersegment", "cashregisterid, customerid, price"),
    ("pdc", "price, dateandtime, customerid"),
];

/// A row's date is its statement's number in seconds after the start of this day.
const FIRST_DAY: &str = "2020-01-01";

fn index_name(table: u32, index: &str) -> String {
    format!("{}_{index}", table_name(table))
}

/// Partitions of a table by ranges of its primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partitions {
    /// Number of partitions; the last one is unbounded.
    pub count: u32,
    /// Keys per partition.
    pub keys: u64,
}

impl Partitions {
    /// The first key after partition `number` (from 0); `None` for the last partition.
    fn end(self, number: u32) -> Option<u64> {
        (number + 1 < self.count).then(|| (u64::from(number) + 1) * self.keys + 1)
    }
}

/// Statements that create empty table number `table` without secondary indexes; they drop an existing one.
pub fn create_table(dialect: Dialect, table: u32, partitions: Option<Partitions>) -> Vec<String> {
    let name = table_name(table);
    let (key, date, options) = match dialect {
        Dialect::Postgres => ("bigserial", "timestamp without time zone", ""),
        Dialect::Mysql => ("bigint NOT NULL AUTO_INCREMENT", "datetime", " ENGINE=InnoDB"),
    };
    let columns = format!(
        "transactionid {key}, dateandtime {date}, cashregisterid int NOT NULL, customerid int NOT NULL, \
         productid int NOT NULL, price int NOT NULL, data varchar(4000), PRIMARY KEY (transactionid)"
    );
    let partition_by = partitions.map_or(String::new(), |partitions| partition_clause(dialect, partitions));
    let mut statements = vec![
        format!("DROP TABLE IF EXISTS {name}"),
        format!("CREATE TABLE {name} ({columns}){options}{partition_by}"),
    ];
    if dialect == Dialect::Postgres {
        statements.extend(partitions.iter().flat_map(|partitions| create_partitions(&name, *partitions)));
        // Leaves gaps between the keys of different sessions.
        let cache = sequence_cache(dialect);
        statements.push(format!("ALTER SEQUENCE {name}_transactionid_seq CACHE {cache}"));
    }
    statements
}

/// The number of keys that a session takes from the sequence at a time.
pub(super) fn sequence_cache(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Postgres => 1_000,
        Dialect::Mysql => 1,
    }
}

/// Sets the key counter: the next row's key follows `key`, or the table's largest key if that is larger.
pub fn last_key_sql(dialect: Dialect, table: u32, key: u64) -> String {
    let name = table_name(table);
    match dialect {
        Dialect::Postgres => format!(
            "SELECT setval('{name}_transactionid_seq', \
             greatest({key}, (SELECT max(transactionid) FROM {name})))"
        ),
        Dialect::Mysql => format!("ALTER TABLE {name} AUTO_INCREMENT = {}", key + 1),
    }
}

fn partition_clause(dialect: Dialect, partitions: Partitions) -> String {
    if dialect == Dialect::Postgres {
        return " PARTITION BY RANGE (transactionid)".to_owned();
    }
    let partition = |number: u32| {
        let end = partitions.end(number).map_or("MAXVALUE".to_owned(), |end| end.to_string());
        format!("PARTITION p{number} VALUES LESS THAN ({end})")
    };
    let all: Vec<String> = (0..partitions.count).map(partition).collect();
    format!(" PARTITION BY RANGE (transactionid) ({})", all.join(", "))
}

fn create_partitions(name: &str, partitions: Partitions) -> Vec<String> {
    let create = |number: u32| {
        let from = match number {
            0 => "MINVALUE".to_owned(),
            number => partitions.end(number - 1).unwrap_or_default().to_string(),
        };
        let to = partitions.end(number).map_or("MAXVALUE".to_owned(), |end| end.to_string());
        format!("CREATE TABLE {name}_p{number} PARTITION OF {name} FOR VALUES FROM ({from}) TO ({to})")
    };
    (0..partitions.count).map(create).collect()
}

/// Statements that build the secondary indexes of a table: one per index in Postgres, one for all in MySQL.
pub fn create_indexes(dialect: Dialect, table: u32) -> Vec<String> {
    let name = table_name(table);
    match dialect {
        Dialect::Postgres => INDEXES
            .iter()
            .map(|(index, columns)| {
                format!("CREATE INDEX {} ON {name} ({columns})", index_name(table, index))
            })
            .collect(),
        Dialect::Mysql => {
            let add = |(index, columns): &(&str, &str)| {
                format!("ADD INDEX {} ({columns})", index_name(table, index))
            };
            vec![format!("ALTER TABLE {name} {}", INDEXES.iter().map(add).collect::<Vec<_>>().join(", "))]
        }
    }
}

/// Returns the names of a table's existing secondary indexes.
pub fn existing_indexes_sql(dialect: Dialect, table: u32) -> String {
    let name = table_name(table);
    let names: Vec<String> =
        INDEXES.iter().map(|(index, _)| format!("'{}'", index_name(table, index))).collect();
    let names = names.join(", ");
    match dialect {
        // Before version 12, the view pg_indexes lacks the indexes of partitioned tables.
        Dialect::Postgres => {
            format!("SELECT relname FROM pg_class WHERE relkind IN ('i', 'I') AND relname IN ({names})")
        }
        Dialect::Mysql => format!(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = database() \
             AND table_name = '{name}' AND index_name IN ({names})"
        ),
    }
}

/// Statements that drop `existing` indexes of a table, the names returned by [`existing_indexes_sql`].
pub fn drop_indexes(dialect: Dialect, table: u32, existing: &[String]) -> Vec<String> {
    let drop = |index: &String| match dialect {
        Dialect::Postgres => format!("DROP INDEX {index}"),
        Dialect::Mysql => format!("ALTER TABLE {} DROP INDEX {index}", table_name(table)),
    };
    existing.iter().map(drop).collect()
}

/// SQL expression for a row's [`date_number`](super::date_number): the seconds from the first day to its
/// date.
fn date_number_sql(dialect: Dialect) -> String {
    match dialect {
        Dialect::Postgres => {
            format!("CAST(extract(epoch FROM dateandtime - timestamp '{FIRST_DAY}') AS bigint)")
        }
        Dialect::Mysql => format!("TIMESTAMPDIFF(SECOND, '{FIRST_DAY}', dateandtime)"),
    }
}

/// Returns the newest row's date number; no row from an empty table.
pub fn newest_number_sql(dialect: Dialect, table: u32) -> String {
    let (number, name) = (date_number_sql(dialect), table_name(table));
    format!("SELECT {number} FROM {name} ORDER BY transactionid DESC LIMIT 1")
}

/// Returns the oldest row's date number; no row from an empty table.
pub fn oldest_number_sql(dialect: Dialect, table: u32) -> String {
    let (number, name) = (date_number_sql(dialect), table_name(table));
    format!("SELECT {number} FROM {name} ORDER BY transactionid LIMIT 1")
}

/// Returns the number of rows that are left of the oldest row's statement.
pub fn oldest_rows_sql(table: u32) -> String {
    let name = table_name(table);
    let rows = super::LOAD_BATCH_ROWS;
    format!(
        "SELECT count(*) FROM (SELECT dateandtime FROM {name} ORDER BY transactionid LIMIT {rows}) tail \
         WHERE dateandtime = (SELECT dateandtime FROM {name} ORDER BY transactionid LIMIT 1)"
    )
}

/// Returns the largest date number of a client's rows in a shared table; NULL if it has none. Scans the whole
/// table.
pub fn newest_number_of_lane_sql(dialect: Dialect, table: u32, client: u32, sharing: u32) -> String {
    let (number, name) = (date_number_sql(dialect), table_name(table));
    format!("SELECT max({number}) FROM {name} WHERE mod({number}, {sharing}) = {client}")
}

/// Returns a table's number of rows.
pub fn count_sql(table: u32) -> String {
    format!("SELECT count(*) FROM {}", table_name(table))
}

/// Returns a checksum of a table's content as text, `rows:sum`: the sum over all rows of the first 32 bits of
/// the MD5 of all columns except the key. It is the same in every DBMS and does not depend on keys or the
/// order of rows.
pub fn checksum_sql(dialect: Dialect, table: u32) -> String {
    let name = table_name(table);
    match dialect {
        Dialect::Postgres => format!(
            "SELECT concat(count(*), ':', coalesce(sum(CAST(CAST('x' || substr(md5(concat_ws('|', \
             to_char(dateandtime, 'YYYY-MM-DD HH24:MI:SS'), cashregisterid, customerid, productid, price, data)), \
             1, 8) AS bit(32)) AS bigint)), 0)) FROM {name}"
        ),
        Dialect::Mysql => format!(
            "SELECT concat(count(*), ':', coalesce(sum(CAST(conv(substr(md5(concat_ws('|', \
             date_format(dateandtime, '%Y-%m-%d %H:%i:%s'), cashregisterid, customerid, productid, price, data)), \
             1, 8), 16, 10) AS unsigned)), 0)) FROM {name}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_indexes_are_as_published() {
        let sql = |dialect| {
            let mut all = create_table(dialect, 1, None);
            all.extend(create_table(dialect, 2, Some(Partitions { count: 3, keys: 500 })));
            all.extend(create_indexes(dialect, 1));
            all.push(existing_indexes_sql(dialect, 1));
            all.extend(drop_indexes(dialect, 1, &["pi1_pdc".to_owned()]));
            all.extend([newest_number_sql(dialect, 1), oldest_number_sql(dialect, 1), oldest_rows_sql(1)]);
            all.extend([newest_number_of_lane_sql(dialect, 1, 2, 4), count_sql(1), checksum_sql(dialect, 1)]);
            all.push(last_key_sql(dialect, 1, 4_000));
            all.join("\n")
        };
        insta::assert_snapshot!("postgres", sql(Dialect::Postgres));
        insta::assert_snapshot!("mysql", sql(Dialect::Mysql));
    }
}
