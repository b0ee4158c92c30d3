//! Run folders as flat tables that other tools read: CSV, JSON Lines and Parquet.
//!
//! What a table has is written down once, in `docs/EXPORT.md`; what is in it, nearly always in a view of the run's
//! database (`crates/store/src/schema/views.sql`). A column is added in these two places; [`rows`] has the few tables
//! that take code.

mod error;
mod export;
mod format;
mod rows;
mod table;
mod write;

pub use error::{Error, Result};
pub use export::{Exported, File, Options, export, print};
pub use format::Format;
pub use table::{ALL, Column, Kind, Table, schema, table};
