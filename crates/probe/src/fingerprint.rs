//! The server's state just before a step. Arms whose steps start from different states (dead rows or just vacuumed,
//! dirty pages or just after a checkpoint) are not comparable, however similar their work. Each DBMS's folder lists its
//! facts.

use rqps_model::ServerSetting;
use rqps_wire::Table;

use crate::cells::{cell, number, text};
use crate::error::{Error, Result};

/// The column of [`TableState::statistics`].
const STATISTICS: &str = "statistics";

/// Facts by name: totals first, then each table (`table.sbtest1.live_rows`), then settings (`setting.shared_buffers`,
/// with the source).
#[derive(Debug, Clone, PartialEq)]
pub struct Fingerprint(Vec<(String, String)>);

/// The state of one table.
#[derive(Debug)]
pub(crate) struct TableState {
    pub name: String,
    pub figures: Vec<(String, u64)>,
    /// The optimizer's statistics as text: equal if the server gathered the same.
    pub statistics: String,
}

impl TableState {
    /// One state per row: the first column is the name, `statistics` is text, all other columns are figures.
    pub fn from_rows(table: &Table) -> Result<Vec<Self>> {
        let columns = || table.columns.iter().enumerate().skip(1);
        let statistics = columns().find(|(_, column)| *column == STATISTICS).map(|(at, _)| at);
        let state = |row: &Vec<Option<String>>| -> Result<Self> {
            let figure = |(at, column): (usize, &String)| {
                let found = || cell(row, at).unwrap_or("NULL").to_owned();
                let unknown = || Error::Answer { what: "table states".to_owned(), found: found() };
                Ok((column.clone(), number(row, at).ok_or_else(unknown)?))
            };
            let figures = columns().filter(|(at, _)| Some(*at) != statistics).map(figure);
            Ok(TableState {
                name: text(row, 0),
                figures: figures.collect::<Result<_>>()?,
                statistics: statistics.map(|at| text(row, at)).unwrap_or_default(),
            })
        };
        table.rows.iter().map(state).collect()
    }
}

/// The sum of a figure over all tables.
pub(crate) fn sum(tables: &[TableState], figure: &str) -> u64 {
    let figures = tables.iter().flat_map(|table| &table.figures);
    figures.filter(|(name, _)| name == figure).map(|(_, value)| value).sum()
}

impl Fingerprint {
    pub(crate) fn new(totals: &[(&str, u64)], tables: &[TableState], settings: &[ServerSetting]) -> Self {
        let mut facts: Vec<(String, String)> =
            totals.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        for table in tables {
            let named = |figure: &str, value: String| (format!("table.{}.{figure}", table.name), value);
            facts.extend(table.figures.iter().map(|(figure, value)| named(figure, value.to_string())));
            facts.push(named(STATISTICS, table.statistics.clone()));
        }
        let setting = |setting: &ServerSetting| {
            (format!("setting.{}", setting.name), format!("{} ({})", setting.value, setting.source))
        };
        facts.extend(settings.iter().map(setting));
        Self(facts)
    }

    pub fn key_values(self) -> Vec<(String, String)> {
        self.0
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A fact as a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}
