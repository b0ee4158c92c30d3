//! Results in their places: arms, steps, repeats.

use rqps_model::{Group, Role};
use rqps_store::Source;

use crate::arms::ImportedArm;
use crate::loaded::LeftOut;
use crate::model::{Measurement, Sampled, Value};
use crate::names::TestName;

/// What was found: arm, text.
pub type Findings = Vec<(Option<usize>, String)>;

/// A figure that should be checked before it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    pub arm: usize,
    /// Indexes of its steps: of one, or of most on that arm.
    pub steps: Vec<usize>,
    /// `None`: in all repeats.
    pub repeat: Option<u32>,
    pub text: String,
}

impl Doubt {
    /// About one result.
    pub fn of(placed: &Placed, text: String) -> Self {
        Self { arm: placed.arm, steps: vec![placed.step], repeat: Some(placed.repeat), text }
    }

    /// About all repeats of one test.
    pub fn of_test(arm: usize, step: usize, text: String) -> Self {
        Self { arm, steps: vec![step], repeat: None, text }
    }
}

/// Files as arms, steps and results.
#[derive(Debug)]
pub struct Assembled {
    pub arms: Vec<ImportedArm>,
    pub base: usize,
    pub base_as: BaseAs,
    pub steps: Vec<Step>,
    pub results: Vec<Placed>,
    pub sources: Vec<Source>,
    /// Repeats of the arm and test that have most.
    pub repeats: u32,
    /// What to know about it: arm, text.
    pub notes: Vec<(Option<usize>, String)>,
    /// What the notes begin with.
    pub doubts: Vec<Doubt>,
    /// Repeats that have no partner on base: a part of the notes.
    pub unpaired: Findings,
    /// What directories were taken for, which may be wrong: a part of the notes.
    pub taken: Vec<String>,
    /// Tables of which nothing is in the run, since the results they were made of are.
    pub left_out: Vec<LeftOut>,
}

/// Why an arm is base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseAs {
    /// By `--base`.
    Chosen,
    /// It is named so.
    Named,
    /// Of arms that are named, the one named first; else the oldest version.
    First,
    /// Nothing tells it: it is the first in the files, or the first of several that are named so.
    Guessed,
}

/// A step of the run.
#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub test: String,
    /// The name in published tables.
    pub row: String,
    /// The same without settings.
    pub bare: String,
    /// Settings in which results of the test differ.
    pub settings: Vec<(&'static str, String)>,
    pub group: Group,
    pub role: Role,
    pub writes: bool,
    pub clients: u32,
}

/// A result in its place.
#[derive(Debug, Clone)]
pub struct Placed {
    pub arm: usize,
    /// Index of its step.
    pub step: usize,
    /// From 1.
    pub repeat: u32,
    pub measurement: Measurement,
    /// Its values, each with the index of its source.
    pub values: Vec<(usize, Value)>,
    /// What time figures of the host beside it are of, each with the index of its source.
    pub sampled: Vec<(usize, Sampled)>,
    pub source: usize,
}

/// A measurement on its way to its place.
pub struct Found {
    pub arm: usize,
    /// What tells it from others of its arm that are no repeats of it.
    pub part: String,
    /// Number of the repeat that its file was given as.
    pub repeat: Option<u32>,
    pub test: TestName,
    pub measurement: Measurement,
    pub source: usize,
}
