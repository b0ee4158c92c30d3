//! Run folders: everything that a run leaves behind. No other crate knows their format.
//!
//! `results/<run>/` holds `plan.toml` (the plan as resolved), `run.db` (SQLite: journal, arms, observations, host
//! facts), `logs/` and `profiles/`. The executor writes through [`RunWriter`], one transaction per finished action, so
//! that a run killed at any moment has complete actions only. Reports read through [`Run`], without servers and without
//! write access. `docs/SCHEMA.md` describes the schema.

mod arm;
mod block;
mod error;
mod flat;
mod folder;
mod imported;
mod journal;
mod lock;
mod meta;
mod observation;
mod profile;
mod put;
mod read;
mod read_blocks;
mod read_details;
mod read_rows;
mod runs;
mod schema;
mod slices;
#[cfg(feature = "testing")]
pub mod testing;
mod text_enum;
mod write_block;
mod write_observation;
mod writer;

pub use arm::{Arm, Role};
pub use block::{Block, BlockArm, BlockStatus, Canary, Count, Moment, Placement, TestWork};
pub use error::{Error, Result};
pub use flat::Cell;
pub use folder::{RunFolder, UPGRADE_FILE, now_ms};
pub use imported::{ImportedResult, ImportedValue, RATE_WAS_SET, Source};
pub use journal::{ActionRecord, Note, Outcome, RunStatus, Status};
pub use lock::{RunProgress, Until};
pub use meta::{Certificates, Fact, IMPORTED, Meta, PlannedStep};
pub use observation::{
    Histogram, LatencyFrom, Load, Measured, Observation, PROFILE_KIND, Profile, Recorded, Window,
};
pub use read::Run;
pub use read_details::{InvalidInPart, NoResult};
pub use runs::RunSummary;
pub use schema::VERSION as SCHEMA_VERSION;
pub use writer::{CUT_OFF, RunWriter};
