//! Plan files: parsing, checking, and the schedule they become.
