//! Walks a schedule: servers, load, settle, windows, journal.
