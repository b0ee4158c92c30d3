//! Results of other programs: reads their files, makes a run of them, and recomputes published tables from them.
//!
//! `formats/` has one file per format, each from bytes to a [`Document`]; nothing there opens a file. [`load_all`]
//! reads files and finds their formats by content, [`Assembled`] names arms, tests and repeats, [`write_run`] makes the
//! run folder. `check/` recomputes tables digit by digit, with what their author's programs do.

mod apart;
mod arms;
mod assemble;
mod check;
mod complement;
mod consistency;
mod coverage;
mod dates;
mod derived;
mod error;
mod formats;
mod gather;
mod grouped;
mod held;
mod histogram;
mod in_names;
mod input;
mod layout;
mod levels;
mod lines;
mod loaded;
mod mix;
mod model;
mod names;
mod near_names;
mod one_arm;
mod out_of_line;
mod pairing;
mod path_classes;
mod paths;
mod placed;
mod printed_rate;
mod printf;
mod releases;
mod same;
mod scripts;
mod series;
mod settings;
mod two_readings;
mod unlike;
mod word_numbers;
mod words;
mod write;

pub use arms::ArmRule;
pub use assemble::Choices;
pub use check::{Checked, Difference, Doubled, Exchanged, OtherBase, Reading, Renamed, check};
pub use error::{Error, NotUnderstood, Result};
pub use formats::Format;
pub use input::{LoadedFiles, files, load_all, repeats};
pub use loaded::{Given, LeftOut, Loaded, Repeat, Why};
pub use mix::Mix;
pub use model::{Document, Measurement, Quirk, Value, Work};
pub use one_arm::taken_for_one;
pub use placed::{Assembled, BaseAs, Doubt};
pub use write::write_run;
