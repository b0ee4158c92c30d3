//! Tables and reports from a run folder.
