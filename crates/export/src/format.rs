//! The file formats, by the names that a command line takes.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Columns by name and type, compressed with Snappy.
    Parquet,
    /// Comma-separated, names first.
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Parquet, Format::Csv, Format::JsonLines];

    /// Its name, which is also what its files end in.
    pub fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Format::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| format!("unknown format {text:?}: take parquet, csv or jsonl"))
    }
}
