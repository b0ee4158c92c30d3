//! Measures how often verdicts are wrong on this host: arms equal to base and arms slowed down by a known
//! dose are judged blind.
//!
//! [`campaign`] plans two runs: one that measures the cost of a dose, and one with secret sealed doses.
//! [`conclude`] freezes the verdicts of the second, opens the seal and compares. In addition, [`pairing`]
//! makes many more verdicts from the same blocks: arms without a dose take turns as base, and blocks are
//! reordered.

pub mod analysis;
pub mod campaign;
pub mod conclude;
pub mod confusion;
pub mod dose;
pub mod draw;
mod error;
pub mod frozen;
pub mod goals;
pub mod noise;
pub mod pairing;
pub mod report;
pub mod seal;
pub mod share;
pub mod shim;
pub mod truth;

pub use error::{Error, Result};

use rqps_stats::Detector;

/// The detectors that doses affect, which are calibrated. Doses do not stall.
pub(crate) const DETECTORS: [Detector; 7] = [
    Detector::Rate,
    Detector::Cost,
    Detector::Cpu,
    Detector::Wal,
    Detector::Fsyncs,
    Detector::Rows,
    Detector::Blocks,
];
