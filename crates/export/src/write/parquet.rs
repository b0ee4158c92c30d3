//! Parquet: rows are kept by column until there are enough for a row group.

use std::io::{Error, Result, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::table::{Column, Kind, Table};
use crate::value::Value;
use crate::write::Rows;

/// Rows of a row group: large enough to compress well, small enough to be kept in memory.
const ROWS_MAX: usize = 65_536;
/// Text of a row group, so that tables of long texts stay small in memory too.
const TEXT_BYTES_MAX: usize = 16 << 20;

pub(crate) struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Kept>,
    rows: usize,
    text_bytes: usize,
}

impl<W: Write + Send> Parquet<W> {
    pub fn new(table: &'static Table, out: W) -> Result<Self> {
        let fields = table.columns().map(field).collect::<Result<Vec<_>>>()?;
        let schema =
            Type::group_type_builder(table.name).with_fields(fields).build().map_err(Error::other)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(Error::other)?;
        let columns = table.columns().map(Kept::new).collect();
        Ok(Self { writer, columns, rows: 0, text_bytes: 0 })
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group().map_err(unwrap_io)?;
        for kept in &mut self.columns {
            if let Some(mut column) = group.next_column().map_err(unwrap_io)? {
                kept.write(&mut column).map_err(unwrap_io)?;
                column.close().map_err(unwrap_io)?;
            }
        }
        group.close().map_err(unwrap_io)?;
        (self.rows, self.text_bytes) = (0, 0);
        Ok(())
    }
}

impl<W: Write + Send> Rows for Parquet<W> {
    fn put(&mut self, row: &[Value<'_>]) -> Result<()> {
        for (kept, value) in self.columns.iter_mut().zip(row) {
            self.text_bytes += kept.push(value);
        }
        self.rows += 1;
        if self.rows == ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.rows > 0 {
            self.write_group()?;
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

/// What the system said, where it is behind the error: a full disk is told as such.
fn unwrap_io(error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::External(source) => match source.downcast::<Error>() {
            Ok(io) => *io,
            Err(source) => Error::other(source),
        },
        other => Error::other(other),
    }
}

/// A column's values until they are written. Missing ones are in `levels` alone.
struct Kept {
    values: Values,
    /// 1 where there is a value; none when none may be missing.
    levels: Option<Vec<i16>>,
}

enum Values {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Bools(Vec<bool>),
}

impl Kept {
    fn new(column: &'static Column) -> Self {
        let values = match column.kind {
            Kind::Text => Values::Texts(Vec::new()),
            Kind::Integer | Kind::Time => Values::Integers(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
            Kind::Bool => Values::Bools(Vec::new()),
        };
        Self { values, levels: column.nullable.then(Vec::new) }
    }

    /// Keeps a value and returns the bytes of text that it took.
    fn push(&mut self, value: &Value<'_>) -> usize {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(*value != Value::Null));
        }
        match (&mut self.values, value) {
            (Values::Texts(kept), Value::Text(text)) => {
                // Names repeat from row to row: they share their bytes.
                let last = kept.last().filter(|last| last.data() == text.as_bytes()).cloned();
                let taken = if last.is_some() { 0 } else { text.len() };
                kept.push(last.unwrap_or_else(|| ByteArray::from(&**text)));
                return taken;
            }
            (Values::Integers(kept), Value::Integer(value) | Value::Time(value)) => kept.push(*value),
            (Values::Reals(kept), Value::Real(value)) => kept.push(*value),
            (Values::Bools(kept), Value::Bool(value)) => kept.push(*value),
            _ => {}
        }
        0
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Texts(kept) => {
                column.typed::<ByteArrayType>().write_batch(kept, levels, None)?;
                kept.clear();
            }
            Values::Integers(kept) => {
                column.typed::<Int64Type>().write_batch(kept, levels, None)?;
                kept.clear();
            }
            Values::Reals(kept) => {
                column.typed::<DoubleType>().write_batch(kept, levels, None)?;
                kept.clear();
            }
            Values::Bools(kept) => {
                column.typed::<BoolType>().write_batch(kept, levels, None)?;
                kept.clear();
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}
