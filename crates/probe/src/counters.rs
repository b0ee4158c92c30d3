//! The server's own counters before and after a stretch of work, in a form common to all DBMSs: view, row, column,
//! number. Each DBMS's folder lists its views.

use std::collections::{HashMap, HashSet};

use rqps_model::Counter;

/// Object name of the sums over all tables or indexes.
pub const ALL: &str = "all";

/// All counters at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterSet {
    /// In the order of the views, their rows and columns.
    pub values: Vec<CounterValue>,
}

/// One counter at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterValue {
    /// The view, such as `pg_stat_all_tables` or `global_status`.
    pub view: String,
    /// The row: a table, `table.index`, a file, [`ALL`] for a sum; empty for views of one row.
    pub object: String,
    pub column: String,
    /// Integers are exact up to 2^53.
    pub value: f64,
}

/// The sum of every column over all objects of a view.
pub(crate) fn sums(view: &str, rows: &[CounterValue]) -> Vec<CounterValue> {
    let mut sums: Vec<CounterValue> = Vec::new();
    for row in rows {
        match sums.iter_mut().find(|sum| sum.column == row.column) {
            Some(sum) => sum.value += row.value,
            None => {
                sums.push(CounterValue { view: view.to_string(), object: ALL.to_string(), ..row.clone() })
            }
        }
    }
    sums
}

impl CounterSet {
    /// Every counter of `after` with its value in `before`. Dropped objects are left out.
    pub fn difference(before: &Self, after: &Self) -> Vec<Counter> {
        let earlier: HashMap<_, _> = before.values.iter().map(|value| (value.key(), value.value)).collect();
        let delta = |value: &CounterValue| Counter {
            view: value.view.clone(),
            object: value.object.clone(),
            column: value.column.clone(),
            before: earlier.get(&value.key()).copied(),
            after: Some(value.value),
        };
        after.values.iter().map(delta).collect()
    }

    /// The views of this server.
    pub fn views(&self) -> HashSet<&str> {
        self.values.iter().map(|value| value.view.as_str()).collect()
    }
}

impl CounterValue {
    fn key(&self) -> (&str, &str, &str) {
        (&self.view, &self.object, &self.column)
    }
}
