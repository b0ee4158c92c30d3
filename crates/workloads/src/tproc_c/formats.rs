//! Rows in the forms that DBMSs load: COPY's text, and INSERT statements.

use std::io::Write;

use super::rows::RowWriter;

fn push_int(text: &mut Vec<u8>, value: i64) {
    // Writing to a Vec can't fail.
    let _ = write!(text, "{value}");
}

/// Rows in COPY's text format; each value is followed by a tab, which at a row's end becomes a line end.
#[derive(Default)]
pub struct CopyRows(Vec<u8>);

impl CopyRows {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn value(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
        self.0.push(b'\t');
    }
}

impl RowWriter for CopyRows {
    fn int(&mut self, value: i64) {
        push_int(&mut self.0, value);
        self.0.push(b'\t');
    }

    fn literal(&mut self, value: &str) {
        self.value(value.as_bytes());
    }

    fn text(&mut self, value: &[u8]) {
        self.value(value);
    }

    fn null(&mut self) {
        self.value(b"\\N");
    }

    fn end_row(&mut self) {
        self.0.pop();
        self.0.push(b'\n');
    }
}

/// Rows as SQL, each followed by a comma.
pub struct SqlRows {
    text: Vec<u8>,
    head: usize,
}

impl SqlRows {
    /// For INSERTs that begin with `head`.
    pub fn new(head: String) -> Self {
        Self { head: head.len(), text: head.into_bytes() }
    }

    pub fn len_bytes(&self) -> usize {
        self.text.len()
    }

    /// The statement with the rows so far; the next one begins without any.
    pub fn take_statement(&mut self) -> String {
        self.text.pop();
        let statement = String::from_utf8_lossy(&self.text).into_owned();
        self.text.truncate(self.head);
        statement
    }

    /// Values are separated by commas; a row begins with its first value.
    fn separate(&mut self) {
        match self.text.last() {
            Some(b',' | b' ') => self.text.push(b'('),
            _ => self.text.push(b','),
        }
    }

    fn quoted(&mut self, value: &[u8]) {
        self.separate();
        self.text.push(b'\'');
        self.text.extend_from_slice(value);
        self.text.push(b'\'');
    }
}

impl RowWriter for SqlRows {
    fn int(&mut self, value: i64) {
        self.separate();
        push_int(&mut self.text, value);
    }

    fn literal(&mut self, value: &str) {
        self.quoted(value.as_bytes());
    }

    fn text(&mut self, value: &[u8]) {
        self.quoted(value);
    }

    fn null(&mut self) {
        self.separate();
        self.text.extend_from_slice(b"NULL");
    }

    fn end_row(&mut self) {
        self.text.extend_from_slice(b"),");
    }
}
