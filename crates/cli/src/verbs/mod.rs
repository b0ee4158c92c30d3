//! The verbs, one file each.

pub mod build;
pub mod builds;
pub mod calibrate;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod configs;
pub mod demo;
pub mod drive;
pub mod explain;
pub mod export;
pub mod gate;
pub mod host;
pub mod import;
pub mod install;
pub mod ls;
pub mod man;
pub mod plan;
pub mod profile;
pub mod report;
pub mod resume;
pub mod run;
pub mod serve;
pub mod show;
pub mod status;
pub mod upgrade;
