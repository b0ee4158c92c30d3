//! The functions of the module: what each asks of the core, and the null rows that it adds.

use crate::column::{Column, Nulls, with_keys};
use crate::pull::SortedIter;
use crate::rows::Rows;
use orasort::{Options, Order, Sorter};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Where rows without a key go, whatever the direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NullsAt {
    /// Before all keys.
    First,
    /// Behind all keys.
    Last,
}

impl<'py> FromPyObject<'_, 'py> for NullsAt {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<NullsAt> {
        match object.extract::<String>()?.as_str() {
            "first" => Ok(NullsAt::First),
            "last" => Ok(NullsAt::Last),
            other => Err(PyValueError::new_err(format!("nulls is \"first\" or \"last\", not {other:?}"))),
        }
    }
}

fn options(descending: bool, stable: bool) -> Options {
    Options { order: if descending { Order::Descending } else { Order::Ascending }, stable }
}

/// The rows of keys in their order.
#[pyfunction]
#[pyo3(signature = (keys, *, descending=false, stable=false, nulls=NullsAt::Last),
       text_signature = "(keys, *, descending=False, stable=False, nulls='last')")]
pub fn argsort(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    descending: bool,
    stable: bool,
    nulls: NullsAt,
) -> PyResult<Rows> {
    let column = Column::of(keys, false)?;
    let options = options(descending, stable);
    Ok(Rows::new(py.detach(|| in_order(&column, options, nulls, usize::MAX))))
}

/// The first rows of keys in their order.
#[pyfunction]
#[pyo3(signature = (keys, k, *, descending=false, stable=false, nulls=NullsAt::Last),
       text_signature = "(keys, k, *, descending=False, stable=False, nulls='last')")]
pub fn top_k(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    k: usize,
    descending: bool,
    stable: bool,
    nulls: NullsAt,
) -> PyResult<Rows> {
    let column = Column::of(keys, false)?;
    let options = options(descending, stable);
    Ok(Rows::new(py.detach(|| in_order(&column, options, nulls, k))))
}

/// The first `k` rows, null ones included.
fn in_order(column: &Column, options: Options, nulls_at: NullsAt, k: usize) -> Vec<u32> {
    let k = k.min(column.len());
    let Some(Nulls { valid, null }) = &column.nulls else {
        return with_keys!(&column.layout, keys => first(keys, options, k));
    };
    let nulls_before = if nulls_at == NullsAt::First { k.min(null.len()) } else { 0 };
    let sorted = (k - nulls_before).min(valid.len());
    let nulls_behind = k - nulls_before - sorted;
    let places = with_keys!(&column.layout, keys => first(keys, options, sorted));
    let mut rows = Vec::with_capacity(k);
    rows.extend_from_slice(&null[..nulls_before]);
    rows.extend(places.into_iter().map(|place| valid[place as usize]));
    rows.extend_from_slice(&null[..nulls_behind]);
    rows
}

/// The first `k` rows of keys, of which there are at least as many.
fn first<K: orasort::Keys>(keys: &K, options: Options, k: usize) -> Vec<u32> {
    let mut sorter = Sorter::new();
    if k == keys.len() { sorter.argsort_with(keys, options) } else { sorter.top_k_with(keys, k, options) }
}

/// The keys themselves in their order: a list for a list or tuple, else what the array's own `take` or `gather` gives.
#[pyfunction]
#[pyo3(signature = (keys, *, descending=false, stable=false, nulls=NullsAt::Last),
       text_signature = "(keys, *, descending=False, stable=False, nulls='last')")]
pub fn sort<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    descending: bool,
    stable: bool,
    nulls: NullsAt,
) -> PyResult<Bound<'py, PyAny>> {
    // A list is read again when its rows are known, and might have changed by then: a tuple cannot.
    let held = keys.cast::<PyList>().map(|list| list.to_tuple());
    let keys = held.as_ref().map_or(keys, |tuple| tuple.as_any());
    let rows = argsort(py, keys, descending, stable, nulls)?;
    if let Ok(objects) = keys.cast::<PyTuple>() {
        let object = |row: &u32| objects.get_item(*row as usize);
        let sorted: Vec<Bound<'py, PyAny>> = rows.as_slice().iter().map(object).collect::<PyResult<_>>()?;
        return Ok(PyList::new(py, sorted)?.into_any());
    }
    let rows = Bound::new(py, rows)?.into_any();
    let is_arrow = keys.hasattr("__arrow_c_array__")? || keys.hasattr("__arrow_c_stream__")?;
    if keys.hasattr("gather")? {
        let series = py.import("polars")?.getattr("Series")?.call1((rows,))?;
        keys.call_method1("gather", (series,))
    } else if keys.hasattr("take")? && is_arrow {
        keys.call_method1("take", (py.import("pyarrow")?.call_method1("array", (rows,))?,))
    } else if keys.hasattr("take")? {
        let axis = pyo3::types::PyDict::new(py);
        axis.set_item("axis", 0)?;
        keys.call_method("take", (rows,), Some(&axis))
    } else {
        let message =
            "no way to put these keys in order: they have neither take nor gather. argsort gives their rows";
        Err(PyTypeError::new_err(message))
    }
}

/// An iterator over the rows of keys in their order.
#[pyfunction]
#[pyo3(signature = (keys, *, descending=false, stable=false, nulls=NullsAt::Last),
       text_signature = "(keys, *, descending=False, stable=False, nulls='last')")]
pub fn sorted_iter(
    keys: &Bound<'_, PyAny>,
    descending: bool,
    stable: bool,
    nulls: NullsAt,
) -> PyResult<SortedIter> {
    Ok(SortedIter::new(Column::of(keys, true)?, options(descending, stable), nulls))
}
