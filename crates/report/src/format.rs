//! Output formats; the names are values of `--format`.

rqps_model::words! {
    #[derive(Default)]
    Format {
        /// Aligned text for a terminal.
        #[default]
        Text = "text",
        /// Tables for a blog or a pull request.
        Markdown = "markdown",
        /// Comma-separated, the row's name first; an empty line and a `# title` separate several tables.
        Csv = "csv",
        /// One object with all tables, with numbers in full precision.
        Json = "json",
    }
}
