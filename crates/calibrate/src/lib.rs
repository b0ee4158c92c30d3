//! Measures how often verdicts are wrong on this host: arms identical to base, and arms slowed down by a known dose,
//! are judged without knowing which is which.
//!
//! [`campaign`] plans two runs: one that measures the cost of a dose, one with doses that were drawn and sealed.
//! [`conclude`] freezes the verdicts of the second, opens the seal and compares. Beside these verdicts, [`pairing`]
//! makes many more from the same blocks: arms without a dose take turns as base, and blocks come in other orders.

pub mod analysis;
pub mod campaign;
pub mod conclude;
pub mod confusion;
pub mod dose;
pub mod draw;
mod error;
pub mod frozen;
pub mod goals;
pub mod pairing;
pub mod report;
pub mod seal;
pub mod share;
pub mod shim;
pub mod truth;

pub use error::{Error, Result};

use rqps_stats::Detector;

/// What doses change, and what is therefore calibrated. They stall nothing.
pub(crate) const DETECTORS: [Detector; 7] = [
    Detector::Rate,
    Detector::Cost,
    Detector::Cpu,
    Detector::Wal,
    Detector::Fsyncs,
    Detector::Rows,
    Detector::Blocks,
];
