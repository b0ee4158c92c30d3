//! Did it get slower, by how much, and why: relative benchmarks of database servers.
fn main() {}
