//! From measured blocks to verdicts: which differences between arms are real, how large, and what is not known.
//!
//! The unit of replication is the block: one restart of every arm from the same data. Windows make a block's figure
//! better, they are never a sample of their own. [`judge`] is the whole of it for arms against base; [`series`] is for
//! versions in a row, [`steady`] for the question whether a window may be used at all, [`counts`] for shares of
//! verdicts, [`sim`] for data with known truth. Everything is a function of its arguments: no clock, no files, and
//! chance only from a seed.

mod adjust;
pub mod counts;
mod cuts;
mod direction;
mod distribution;
mod exact;
mod experiment;
mod figures;
mod judge;
mod looks;
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
mod verdict;

pub use direction::Direction;
pub use distribution::t_upper;
pub use experiment::{BlockData, Experiment, MetricData, Misshapen, TestData, WindowData, WindowFigure};
pub use judge::judge;
pub use rqps_model::{Detector, Metric};
pub use rules::{Look, Rules, STALL_SECONDS, stall_seconds_min};
pub use verdict::{Class, Judgement, Prior, Tag, Verdict};
