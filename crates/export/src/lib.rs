//! Run folders as flat tables that other tools read: CSV, JSON Lines and Parquet.
//!
//! A [`Table`] is a description (columns with their type, unit and meaning, the columns that tell its rows apart) and a
//! function that gives its rows, one at a time. The writers in `write/` and the schema in `docs/EXPORT.md` are made
//! from the description alone, so a column is added in one place: its table in `tables/`.

mod error;
mod export;
mod format;
mod schema;
mod source;
mod table;
mod tables;
mod value;
mod write;

pub use error::{Error, Result};
pub use export::{Exported, File, Options, export, print};
pub use format::Format;
pub use schema::schema;
pub use table::{Column, Kind, Table};
pub use tables::{ALL, table};
