//! The Python module `orasort`: functions over keys that stay where Python keeps them.
//!
//! What Python sees is described in `orasort.pyi`. `column` finds where keys lie, the core sorts them with the
//! interpreter released, `rows` hands row numbers back without copying them.

mod arrow;
mod buffer;
mod column;
mod find;
mod objects;
mod pull;
mod rows;
mod sort;

use pyo3::prelude::*;

/// Sorts keys that are byte arrays. See the functions `argsort`, `sort`, `top_k` and `sorted_iter`.
#[pymodule]
fn orasort(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(sort::argsort, module)?)?;
    module.add_function(wrap_pyfunction!(sort::sort, module)?)?;
    module.add_function(wrap_pyfunction!(sort::top_k, module)?)?;
    module.add_function(wrap_pyfunction!(sort::sorted_iter, module)?)?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<pull::SortedIter>()?;
    Ok(())
}
