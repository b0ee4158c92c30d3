//! Parquet: rows are buffered until they fill a row group, then written column by column.

use std::io::{Error, Result, Write};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::table::{Column, Kind, Table};
use crate::write::{Row, Rows};
use rqps_store::Cell;

/// Rows per row group: large enough to compress well, small enough to fit in memory.
const ROWS_MAX: usize = 16_384;
/// Bytes of text per row group, to bound memory for tables of long texts too.
const TEXT_BYTES_MAX: usize = 16 << 20;

pub(crate) struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    table: &'static Table,
    rows: Vec<Row>,
    text_bytes: usize,
}

impl<W: Write + Send> Parquet<W> {
    pub fn new(table: &'static Table, out: W) -> Result<Self> {
        let fields = table.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let schema =
            Type::group_type_builder(table.name).with_fields(fields).build().map_err(Error::other)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(Error::other)?;
        Ok(Self { writer, table, rows: Vec::new(), text_bytes: 0 })
    }

    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let mut group = self.writer.next_row_group()?;
        for (at, column) in self.table.columns.iter().enumerate() {
            if let Some(mut out) = group.next_column()? {
                write_column(&mut out, column, self.rows.iter().map(|row| &row[at]))?;
                out.close()?;
            }
        }
        group.close()?;
        self.rows.clear();
        self.text_bytes = 0;
        Ok(())
    }
}

impl<W: Write + Send> Rows for Parquet<W> {
    fn put(&mut self, row: &Row) -> Result<()> {
        let text_bytes = row.iter().map(|cell| if let Cell::Text(text) = cell { text.len() } else { 0 });
        self.text_bytes += text_bytes.sum::<usize>();
        self.rows.push(Row::clone(row));
        if self.rows.len() == ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX {
            self.write_group().map_err(unwrap_io)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group().map_err(unwrap_io)?;
        }
        self.writer.close().map_err(unwrap_io)?;
        Ok(())
    }
}

fn field(column: &'static Column) -> Result<TypePtr> {
    let (physical, logical) = match column.kind {
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (PhysicalType::INT64, None),
        Kind::Real => (PhysicalType::DOUBLE, None),
        Kind::Bool => (PhysicalType::BOOLEAN, None),
        Kind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
        .map_err(Error::other)?;
    Ok(Arc::new(field))
}

/// The system error behind a Parquet error, so that a full disk is reported as such.
fn unwrap_io(error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::External(source) => match source.downcast::<Error>() {
            Ok(io) => *io,
            Err(source) => Error::other(source),
        },
        other => Error::other(other),
    }
}

/// Writes the values that are not null; definition levels mark the nulls.
fn write_column<'c>(
    out: &mut SerializedColumnWriter<'_>,
    column: &Column,
    cells: impl Iterator<Item = &'c Cell> + Clone,
) -> parquet::errors::Result<()> {
    let present = cells.clone().map(|cell| i16::from(*cell != Cell::Null));
    let levels: Option<Vec<i16>> = column.nullable.then(|| present.collect());
    let levels = levels.as_deref();
    let integers = cells.clone().filter_map(|cell| match cell {
        Cell::Integer(integer) => Some(*integer),
        Cell::Text(time) => Some(since_1970_ms(time)),
        _ => None,
    });
    match column.kind {
        Kind::Text => out.typed::<ByteArrayType>().write_batch(&texts(cells), levels, None)?,
        Kind::Integer | Kind::Time => {
            out.typed::<Int64Type>().write_batch(&integers.collect::<Vec<_>>(), levels, None)?
        }
        Kind::Bool => {
            let bools: Vec<bool> = integers.map(|integer| integer != 0).collect();
            out.typed::<BoolType>().write_batch(&bools, levels, None)?
        }
        Kind::Real => {
            let reals = cells.filter_map(|cell| if let Cell::Real(real) = cell { Some(*real) } else { None });
            out.typed::<DoubleType>().write_batch(&reals.collect::<Vec<_>>(), levels, None)?
        }
    };
    Ok(())
}

/// Equal texts in consecutive rows share their bytes: most names repeat from row to row.
fn texts<'c>(cells: impl Iterator<Item = &'c Cell>) -> Vec<ByteArray> {
    let mut texts: Vec<ByteArray> = Vec::new();
    for cell in cells {
        if let Cell::Text(text) = cell {
            let repeated = texts.last().filter(|last| last.data() == text.as_bytes()).cloned();
            texts.push(repeated.unwrap_or_else(|| ByteArray::from(text.as_str())));
        }
    }
    texts
}

/// Converts the views' ISO 8601 to milliseconds since 1970, Parquet's representation.
fn since_1970_ms(text: &str) -> i64 {
    let time = humantime::parse_rfc3339(text).unwrap_or(UNIX_EPOCH);
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
