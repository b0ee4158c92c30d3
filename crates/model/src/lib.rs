//! Types shared by all other crates: builds, limits of steps, observations. Plain data without behaviour.

#[doc(hidden)]
pub use serde;

mod build;
mod certificate;
mod digits;
mod family;
mod group;
mod measure;
mod observed;
pub mod random;
pub mod sample;
mod server;
mod source;
mod step;
mod terms;
mod text;
mod unit;
mod words;

pub use build::{BuildError, BuildSource, BuildSpec, Dbms};
pub use certificate::{HostFigure, HostQuantity};
pub use digits::Digits;
pub use family::Family;
pub use group::Group;
pub use measure::{Detector, Events, Measure, Metric};
pub use observed::{
    ConnectionCpu, Counter, CounterName, Metrics, Series, Settle, SettleCondition, Slice, Wait,
};
pub use server::{
    BLOCKS_SET, LeftOut, QueryPlan, SET_IN_BLOCKS, START_WARNING, ServerSetting, Setting, later_words,
};
pub use source::{DEFAULT_FLAVOUR, SourceSpec};
pub use step::{EndedBy, FixedWork, LOADS, Limit, Pacer, Role, Warmup, load_of};
pub use terms::{SIZE, Terms};
pub use text::{
    Natural, clipped, counted, cut, did_you_mean, edit_distance, grouped, if_meant, natural, nearest,
    numbers_of, part_of, sentence, short_hash, size_bytes, without_middle,
};
pub use unit::Unit;
