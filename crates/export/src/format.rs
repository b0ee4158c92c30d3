//! File formats. Each name is both the command-line value and the file extension.

rqps_model::words! {
    Format {
        /// Typed columns, compressed with Snappy.
        Parquet = "parquet",
        /// Comma-separated, with a header row.
        Csv = "csv",
        /// One JSON object per line.
        JsonLines = "jsonl",
    }
}
