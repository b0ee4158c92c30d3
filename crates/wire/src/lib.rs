//! Lean protocol clients for the hot path.
