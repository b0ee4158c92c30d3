//! Random keys against the sort of std: which keys, which functions, and how a failing case becomes small.

pub mod cases;
pub mod functions;
pub mod shrink;
