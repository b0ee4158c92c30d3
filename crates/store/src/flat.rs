//! The flat views of a run's database: what other tools read.

use crate::error::{Error, Result};
use crate::read::Run;

/// A value as the database has it.
pub use rusqlite::types::Value as Cell;

impl Run {
    /// Hands each row of the view `flat_TABLE` to `each`, until that fails.
    ///
    /// # Errors
    /// When there is no such view, it cannot be read, or `each` fails.
    pub fn flat<E: From<Error>>(
        &self,
        table: &str,
        mut each: impl FnMut(Vec<Cell>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let path = self.folder.db_path();
        let wrong = |error| E::from(Error::sql(&path)(error));
        let select = format!("SELECT * FROM flat_{table}");
        let mut select = self.connection()?.prepare(&select).map_err(wrong)?;
        let columns = select.column_count();
        let mut rows = select.query([]).map_err(wrong)?;
        while let Some(row) = rows.next().map_err(wrong)? {
            let cells: rusqlite::Result<Vec<Cell>> = (0..columns).map(|column| row.get(column)).collect();
            each(cells.map_err(wrong)?)?;
        }
        Ok(())
    }

    /// Columns of the view `flat_TABLE`, in their order.
    ///
    /// # Errors
    /// When there is no such view.
    pub fn flat_columns(&self, table: &str) -> Result<Vec<String>> {
        let select = self.connection()?.prepare(&format!("SELECT * FROM flat_{table}"));
        let select = select.map_err(Error::sql(&self.folder.db_path()))?;
        Ok(select.column_names().map(str::to_owned).collect())
    }

    /// Lets all that is read until the guard is gone be of one moment, whatever a writer does meanwhile.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn at_one_moment(&self) -> Result<impl Sized> {
        self.connection()?.unchecked_transaction().map_err(Error::sql(&self.folder.db_path()))
    }
}
