//! The flat views of a run's database, for other tools.

use crate::error::{Error, Result};
use crate::read::Run;

/// A value of the database.
pub use rusqlite::types::Value as Cell;

impl Run {
    /// Calls `each` with every row of the view `flat_TABLE`; stops at its first error.
    ///
    /// # Errors
    /// If the view does not exist or cannot be read, or `each` fails.
    pub fn flat<E: From<Error>>(
        &self,
        table: &str,
        mut each: impl FnMut(Vec<Cell>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let path = self.folder.db_path();
        let to_error = |error| E::from(Error::sql(&path)(error));
        let select = format!("SELECT * FROM flat_{table}");
        let mut select = self.connection()?.prepare(&select).map_err(to_error)?;
        let columns = select.column_count();
        let mut rows = select.query([]).map_err(to_error)?;
        while let Some(row) = rows.next().map_err(to_error)? {
            let cells: rusqlite::Result<Vec<Cell>> = (0..columns).map(|column| row.get(column)).collect();
            each(cells.map_err(to_error)?)?;
        }
        Ok(())
    }

    /// Columns of the view `flat_TABLE`, in order.
    ///
    /// # Errors
    /// If the view does not exist.
    pub fn flat_columns(&self, table: &str) -> Result<Vec<String>> {
        let select = self.connection()?.prepare(&format!("SELECT * FROM flat_{table}"));
        let select = select.map_err(Error::sql(&self.folder.db_path()))?;
        Ok(select.column_names().map(str::to_owned).collect())
    }

    /// Begins a read transaction: until the guard is dropped, all reads see the same snapshot.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn at_one_moment(&self) -> Result<impl Sized> {
        self.connection()?.unchecked_transaction().map_err(Error::sql(&self.folder.db_path()))
    }
}
