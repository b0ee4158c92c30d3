//! What the two programs do. It stands in the library, which is so compiled once for tests, not once more for programs.

pub mod bench;
pub mod fuzz;
