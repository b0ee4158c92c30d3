//! The runs that were made, in the folder of a search.

use crate::context::Context;
use crate::verbs::plan::check_plan;
use crate::{out, search};
use rqps_model::Metric;
use rqps_plan::Plan;
use rqps_stats::Experiment;
use rqps_store::RunFolder;
use rqps_verdicts::experiment;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    running: Option<Made>,
    done: Vec<Made>,
    #[serde(skip)]
    folder: PathBuf,
    /// Those of `done`.
    #[serde(skip)]
    runs: Vec<Figures>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    /// All steps, in their order.
    steps: Vec<String>,
    /// Name of the run's folder.
    run: String,
}

/// A run and its figures.
#[derive(Debug)]
pub struct Figures {
    pub steps: Vec<String>,
    pub path: PathBuf,
    /// Names of the arms, as numbered in `experiment`.
    pub arms: Vec<String>,
    experiment: Experiment,
}

impl Journal {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut journal: Journal = search::read(folder, search::OF_ORDER)?;
        journal.folder = folder.to_owned();
        for made in &journal.done {
            journal.runs.push(Figures::read(made, folder)?);
        }
        Ok(journal)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn runs(&self) -> &[Figures] {
        &self.runs
    }

    /// Ends the run that an earlier call began.
    pub fn resume(&mut self, context: &Context) -> anyhow::Result<()> {
        let Some(running) = self.running.clone() else {
            return Ok(());
        };
        let what = running.steps.join(", ");
        if search::resume(context, &self.folder.join(&running.run), &what)? {
            return self.record();
        }
        self.running = None;
        search::write(&self.folder, search::OF_ORDER, self)
    }

    /// Runs these steps in this order.
    pub fn measure(
        &mut self,
        context: &Context,
        template: &Plan,
        steps: Vec<String>,
        passes: usize,
    ) -> anyhow::Result<()> {
        let plan = plan(template, &steps, passes, self.done.is_empty())?;
        let mut execution = crate::verbs::run::begin_in(context, plan, &self.folder)?;
        let run = search::name(&execution.folder());
        self.running = Some(Made { steps, run });
        search::write(&self.folder, search::OF_ORDER, self)?;
        search::run(context, &mut execution)?;
        drop(execution);
        self.record()
    }

    /// The running one is done.
    fn record(&mut self) -> anyhow::Result<()> {
        if let Some(made) = self.running.take() {
            self.runs.push(Figures::read(&made, &self.folder)?);
            self.done.push(made);
        }
        search::write(&self.folder, search::OF_ORDER, self)
    }
}

impl Figures {
    fn read(made: &Made, folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(&made.run);
        let run = RunFolder::open(&path)?;
        for missing in run.without_result() {
            out::message(&format!(
                "{}: {} has no valid result on {}: {}",
                made.run, missing.step, missing.arm, missing.reason
            ));
        }
        Ok(Figures {
            steps: made.steps.clone(),
            experiment: experiment(&run)?,
            arms: run.arms.iter().map(|arm| arm.name.clone()).collect(),
            path,
        })
    }

    /// Logarithms of an arm's figure over base's, one for each pass in which both were measured.
    pub fn passes(&self, test: &str, metric: Metric, arm: &str) -> Vec<f64> {
        let arm = self.arms.iter().position(|name| name == arm);
        let of_test = self.experiment.tests.iter().find(|one| one.name == test);
        let data = of_test.and_then(|test| test.metrics.iter().find(|data| data.metric == metric));
        let base = self.experiment.base;
        let (Some(arm), Some(data)) = (arm, data) else {
            return Vec::new();
        };
        data.blocks.iter().filter_map(|block| Some(block.ln[arm]? - block.ln[base]?)).collect()
    }
}

/// The plan of a run; checked like any other.
fn plan(template: &Plan, steps: &[String], passes: usize, is_first: bool) -> anyhow::Result<Plan> {
    let mut plan = template.clone();
    "order".clone_into(&mut plan.name);
    plan.passes = u32::try_from(passes)?;
    plan.workload.steps = steps.to_vec();
    // One certificate of the host suffices.
    plan.certificate &= is_first;
    let text = plan.to_toml()?;
    Ok(check_plan(&text, "the plan of a variant")?.plan)
}
