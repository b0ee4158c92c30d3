//! Run folders as flat tables that other tools read: CSV, JSON Lines and Parquet.
//!
//! `docs/EXPORT.md` is the only description of each table. Its rows usually come from a view of the run's
//! database (`crates/store/src/schema/views.sql`). To add a column, change these two; [`rows`] has the few
//! tables that need code.

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
