//! Benchmarks as data: schema, rows, statements, order.
