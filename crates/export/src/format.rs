//! The file formats, by the names that a command line takes and their files end in.

rqps_model::words! {
    Format {
        /// Columns by name and type, compressed with Snappy.
        Parquet = "parquet",
        /// Comma-separated, names first.
        Csv = "csv",
        /// One JSON object a line.
        JsonLines = "jsonl",
    }
}
