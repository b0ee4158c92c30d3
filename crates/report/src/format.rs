//! Output formats; the names are values of `--format`.

/// Where text is shown; by default in a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen {
    /// Colours: red at 0.95 and below, green at 1.05 and above.
    pub color: bool,
    /// Columns of the terminal: longer lines are broken, and wider tables printed in parts. None: neither.
    pub width: Option<usize>,
    /// Takes the warnings about tables of [`Format::Csv`], whose rows are figures only.
    pub warn: Option<fn(&str)>,
}

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
