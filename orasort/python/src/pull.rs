//! `SortedIter`: rows that are pulled while the sort goes on.

use crate::column::{Column, Nulls, with_keys};
use crate::sort::NullsAt;
use orasort::{Options, sorted_with};
use pyo3::prelude::*;
use std::ptr::NonNull;
use std::sync::Mutex;

/// The first pulls take one row, two, four and so on, up to this many at a time: the interpreter is released and taken
/// back once for each.
const PULLED_MAX: usize = 1024;

type Order = Box<dyn Iterator<Item = u32> + Send>;

/// Row numbers in the order of their keys; the first come long before all are sorted.
#[pyclass(frozen, module = "orasort")]
pub struct SortedIter {
    pulled: Mutex<Pulled>,
}

struct Pulled {
    /// Rows that were sorted and not asked for yet, the next one last.
    ready: Vec<u32>,
    pull_next: usize,
    rows: Rows,
}

/// Rows still to come, and the column that they borrow: on the heap, freed after them.
struct Rows {
    order: Option<Order>,
    options: Options,
    nulls_at: NullsAt,
    column: NonNull<Column>,
}

// SAFETY: it owns the column, which any thread may read, and the iterator is `Send`.
unsafe impl Send for Rows {}

impl SortedIter {
    /// Begins when the first row is asked for.
    pub fn new(column: Column, options: Options, nulls_at: NullsAt) -> SortedIter {
        let column = NonNull::from(Box::leak(Box::new(column)));
        let rows = Rows { order: None, options, nulls_at, column };
        SortedIter { pulled: Mutex::new(Pulled { ready: Vec::new(), pull_next: 1, rows }) }
    }
}

#[pymethods]
impl SortedIter {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        // Another thread may be sorting with the lock in its hands, and need the interpreter to go on.
        let pulled = py.detach(|| self.pulled.lock().map(|mut pulled| pulled.next()).map_err(|_| ()));
        pulled.map_err(|()| pyo3::exceptions::PyRuntimeError::new_err("the sort failed before"))
    }
}

impl Pulled {
    fn next(&mut self) -> Option<u32> {
        if self.ready.is_empty() {
            let more = self.rows.order().take(self.pull_next);
            self.ready.extend(more);
            self.ready.reverse();
            self.pull_next = (2 * self.pull_next).min(PULLED_MAX);
        }
        self.ready.pop()
    }
}

impl Rows {
    fn order(&mut self) -> &mut Order {
        let (options, nulls_at) = (self.options, self.nulls_at);
        // SAFETY: on the heap until `drop`, which drops `order` before it. Only shared references are made to it.
        let column: &'static Column = unsafe { self.column.as_ref() };
        self.order.get_or_insert_with(|| order(column, options, nulls_at))
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.order = None;
        // SAFETY: it came from a box, and what borrowed it is gone.
        drop(unsafe { Box::from_raw(self.column.as_ptr()) });
    }
}

fn order(column: &'static Column, options: Options, nulls_at: NullsAt) -> Order {
    let rows: Order = with_keys!(&column.layout, keys => Box::new(sorted_with(keys, options)));
    let Some(Nulls { valid, null }) = &column.nulls else {
        return rows;
    };
    let rows = rows.map(|place| valid[place as usize]);
    let null = null.iter().copied();
    match nulls_at {
        NullsAt::First => Box::new(null.chain(rows)),
        NullsAt::Last => Box::new(rows.chain(null)),
    }
}
