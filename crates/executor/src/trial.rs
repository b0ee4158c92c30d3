//! Starts every arm once before the first is measured: a missing library, or a setting that a server rejects,
//! shows in the first minute and not after hours of other arms.

use crate::arm::{ActiveArm, Ingredients, not_started};
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::isolated::entry;
use crate::setup::Setup;
use crate::spec::spec_with_logs;
use rqps_plan::Protocol;
use rqps_servers::ServerSpec;
use rqps_store::RunWriter;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Name of the data directory and of the log folder. No arm's name begins with an underscore.
const TRIAL: &str = "_trial";

/// Starts the arms of a run once.
pub(crate) struct Trial<'a> {
    pub setup: &'a Setup,
    pub writer: &'a mut RunWriter,
}

impl<'a> Trial<'a> {
    /// Creates a data directory for each kind of arm and starts its server on it, one after the other.
    /// Returns the errors of arms that did not start, by index. Equal arms are tried once, and the plan's
    /// first not at all if it is started right after this.
    pub fn failures(&mut self, control: &mut RunControl<'_>) -> Result<BTreeMap<usize, Error>> {
        let arms = 0..self.setup.plan.arms.len();
        let mut tried = BTreeSet::new();
        let all: BTreeSet<_> = arms.clone().map(|arm| self.kind(arm)).collect();
        // Blocks load without the arm's environment and with another config, so their first start neither tries it nor
        // says what other arms are compared with.
        let is_alone = all.len() == 1 && self.setup.plan.arms[0].env.is_empty();
        if self.setup.plan.protocol == Protocol::Sequence || is_alone {
            tried.insert(self.kind(0));
        }
        if all.len() > tried.len() {
            control.progress.stage("test start of each build with its config, before anything is measured");
        }
        let mut failures = BTreeMap::new();
        for arm in arms {
            if !tried.insert(self.kind(arm)) {
                continue;
            }
            let outcome = self.start(arm, control);
            self.setup.place.remove_arm(TRIAL)?;
            match outcome {
                Err(error) if error.faulty_arm().is_some() => {
                    // The next arm of this kind gets an error with its own name.
                    tried.remove(&self.kind(arm));
                    failures.insert(arm, error);
                }
                other => other?,
            }
        }
        Ok(failures)
    }

    /// Build, its place, config and environment: arms with equal ones start alike. Beside equal servers, a place may
    /// have other programs of the driver.
    fn kind(&self, arm: usize) -> (&'a str, &'a Path, &'a str, &'a BTreeMap<String, String>) {
        let Ingredients { build, config, .. } = &self.setup.ingredients[arm];
        (&build.hash, &build.root, &config.hash, &self.setup.plan.arms[arm].env)
    }

    /// Keeps what the server says about itself, so that a run which ends soon tells it.
    fn start(&mut self, arm: usize, control: &mut RunControl<'_>) -> Result<()> {
        let name = &self.setup.plan.arms[arm].name;
        let spec = self.spec(arm);
        let failed = || not_started(name, &spec.data_dir);
        let system = self.setup.ingredients[arm].system;
        control.doing(&format!("creating a data directory for {}", spec.build.label()));
        system.create(&spec, control.stop).map_err(failed())?;
        self.setup.place.write_owner()?;
        let active = ActiveArm::start(arm, name, (system, &spec), control)?;
        let said =
            self.setup.driver.check_instance(name, &*active.instance).and_then(|()| active.read_facts());
        let applied = active.instance.applied().clone();
        active.instance.discard();
        self.writer.put_arm(&entry(self.setup, arm, &applied, said?))?;
        // The server started: its log is of no use.
        let logs = self.logs_dir(arm);
        std::fs::remove_dir_all(&logs).map_err(|source| Error::File { action: "remove", path: logs, source })
    }

    /// With the config as it is written, also for blocks: what these set otherwise would hide what servers say of it.
    fn spec(&self, arm: usize) -> ServerSpec {
        let data_dir = self.setup.place.data_dir(TRIAL);
        let ingredients = &self.setup.ingredients[arm];
        spec_with_logs(&self.setup.plan, arm, ingredients, data_dir, self.logs_dir(arm))
    }

    fn logs_dir(&self, arm: usize) -> PathBuf {
        self.writer.folder().logs_dir().join(&self.setup.plan.arms[arm].name).join(TRIAL)
    }
}
