//! Enums stored as words in the database, readable in any SQLite client.

use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Type;

/// Defines an enum that is stored, printed and serialized as words.
macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($body:tt)+ }) => {
        rqps_model::words! { $(#[$doc])* $name { $($body)+ } }

        impl rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.key().into())
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                value.as_str()?.parse().map_err(|why: String| rusqlite::types::FromSqlError::Other(why.into()))
            }
        }
    };
}

pub(crate) use text_enum;

/// Parses a word in a column, for enums that are declared in other crates.
pub(crate) fn word<T: FromStr<Err = String>>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    parsed(&row.get::<_, String>(index)?, index)
}

/// Like [`word`], for a nullable column.
pub(crate) fn maybe_word<T: FromStr<Err = String>>(
    row: &Row<'_>,
    index: usize,
) -> rusqlite::Result<Option<T>> {
    row.get::<_, Option<String>>(index)?.map(|text| parsed(&text, index)).transpose()
}

fn parsed<T: FromStr<Err = String>>(text: &str, index: usize) -> rusqlite::Result<T> {
    text.parse()
        .map_err(|why: String| rusqlite::Error::FromSqlConversionFailure(index, Type::Text, why.into()))
}
