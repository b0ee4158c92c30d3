//! What work costs: host, process and server counters, query plans.
