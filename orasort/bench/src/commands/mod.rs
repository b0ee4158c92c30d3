//! What the measuring program does, a verb per file.

pub mod count;
pub mod early;
pub mod memory;
pub mod sets;
pub mod small;
pub mod sort;
pub mod threads;
pub mod wide;
