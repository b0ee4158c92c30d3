//! The output formats, by the names that `--format` takes.

rqps_model::words! {
    #[derive(Default)]
    Format {
        /// Aligned text for a terminal.
        #[default]
        Text = "text",
        /// Tables for a blog or a pull request.
        Markdown = "markdown",
        /// Comma-separated, the name first; several tables are parted by an empty line and a `# title`.
        Csv = "csv",
        /// One object with all tables, numbers in full precision.
        Json = "json",
    }
}
