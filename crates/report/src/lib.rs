//! Tables and reports: reads a run folder and returns text. Nothing here starts a server, reads a clock or
//! depends on a terminal.
//!
//! Where to look: `tables/` has one file per table, with the meaning of its columns; `per_op.rs` has the
//! formulas of the per-operation columns; `render/` has one file per output format; `comparable.rs` decides
//! whether two runs may share a table.

mod answer;
mod answers;
mod background;
mod comparable;
mod compare;
mod comparison;
mod document;
mod error;
mod explain;
mod explain_json;
mod explain_summary;
mod families;
mod format;
mod gate;
mod histograms;
mod html;
mod invalid;
mod markdown_report;
mod number;
mod per_op;
mod reading;
mod render;
mod section;
mod series;
mod show;
mod tables;
mod tame;
mod title;
mod upgrade;
mod verdict_lines;
mod words;

pub use comparable::Difference;
pub use compare::{CompareOptions, compare};
pub use error::{Error, Result};
pub use explain::{ExplainOptions, explain_text};
pub use format::{Format, Screen};
pub use gate::{Gate, GateRules, Outcome, fail_on_of, gate, gate_of_failed};
pub use html::{
    ChartFile, JointPage, JointRow, SiteFile, SiteRun, chart_files, html_report, joint_levels, joint_page,
    site_pages, site_run, site_stems,
};
pub use markdown_report::{markdown_report, report};
pub use render::{Aligned, GAP, aligned, wrapped};
pub use section::Section;
pub use series::{Series, SeriesLink};
pub use show::{Options, show};
pub use tame::tame;
pub use upgrade::upgrade;
pub use words::{host_remarks, less};

pub use rqps_stats::Detector;
