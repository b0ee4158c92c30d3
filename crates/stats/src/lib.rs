//! From measured blocks to verdicts: which differences between arms are real, how large they are, and what is
//! undecided.
//!
//! The unit of replication is the block: one restart of every arm from the same data. Windows make a block's
//! figure more precise but are not a sample. [`judge`] compares arms with base; [`series`] joins changes
//! along versions, [`steady`] decides whether a window is usable, [`counts`] computes intervals of
//! shares of verdicts, and [`sim`] generates data with known truth. All results are functions of the
//! arguments: no clock, no files, and randomness only from a seed.

mod adjust;
pub mod bisect;
mod ceiling;
pub mod counts;
pub mod course;
mod cuts;
mod direction;
mod distribution;
mod exact;
mod experiment;
mod figures;
mod host_share;
mod hosts;
mod judge;
mod looks;
pub mod order;
mod pairs;
mod prior;
mod priors;
pub mod rounds;
mod rules;
pub mod series;
mod shape;
mod shared;
mod signs;
pub mod sim;
pub mod steady;
mod together;
mod verdict;

pub use direction::Direction;
pub use distribution::t_upper;
pub use experiment::{BlockData, Experiment, InvalidData, MetricData, TestData, WindowData, WindowFigure};
pub use hosts::{Agreement, HOSTS_MIN, Hosts, Joint, OnHost, judge_hosts};
pub use judge::judge;
pub use rqps_model::{Detector, Metric};
pub use rules::{Look, Rules, STALL_SECONDS, stall_seconds_min};
pub use together::{OfBlock, Together, base_figure, blocks_of, together};
pub use verdict::{COMMON_CONFIDENCE, Class, Judgement, Tag, Verdict};
