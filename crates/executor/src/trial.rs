//! Starting every arm once before the first is measured: a library that is not there, or a value that a server refuses,
//! shows in the first minute and not after hours of other arms.

use crate::arm::not_started;
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::isolated::undisturbed;
use crate::setup::Setup;
use crate::spec::server_spec;
use rqps_plan::Protocol;
use rqps_servers::ServerSpec;
use rqps_store::RunFolder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Name of the data directory and of the folder of logs; no arm has one that begins so.
const TRIAL: &str = "_trial";

/// A run whose arms are to be tried.
pub(crate) struct Trial<'a> {
    pub setup: &'a Setup,
    pub folder: &'a RunFolder,
}

impl Trial<'_> {
    /// Makes a data directory for each kind of arm and starts its server on it, one after the other. Returns what keeps
    /// arms from being started, by index. Arms that are alike are tried once, and the plan's first not at all: it is
    /// started right after this.
    pub fn failures(&self, control: &mut RunControl<'_>) -> Result<BTreeMap<usize, Error>> {
        let arms = 0..self.setup.plan.arms.len();
        let mut tried = BTreeSet::new();
        // Blocks load without the environment of arms.
        if self.setup.plan.protocol == Protocol::Sequence || self.setup.plan.arms[0].env.is_empty() {
            tried.insert(self.kind(0));
        }
        if arms.clone().any(|arm| !tried.contains(&self.kind(arm))) {
            control.progress.stage("starting each kind of arm once, before anything is measured");
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
                    // The next of its kind says so under its own name.
                    tried.remove(&self.kind(arm));
                    failures.insert(arm, error);
                }
                other => other?,
            }
        }
        Ok(failures)
    }

    /// Arms of one kind are started from the same files with the same options.
    fn kind(&self, arm: usize) -> (&str, &str, &BTreeMap<String, String>) {
        let made_of = &self.setup.ingredients[arm];
        (&made_of.build.hash, &made_of.config.hash, &self.setup.plan.arms[arm].env)
    }

    fn start(&self, arm: usize, control: &RunControl<'_>) -> Result<()> {
        let name = &self.setup.plan.arms[arm].name;
        let spec = self.spec(arm)?;
        let failed = || not_started(name, &spec.data_dir);
        let system = self.setup.ingredients[arm].system;
        system.create(&spec, control.stop).map_err(failed())?;
        self.setup.place.sign()?;
        system.open(&spec, control.stop).map_err(failed())?.discard();
        // It went well: nobody needs its log.
        let logs = self.logs_dir(arm);
        std::fs::remove_dir_all(&logs).map_err(|source| Error::File { action: "remove", path: logs, source })
    }

    fn spec(&self, arm: usize) -> Result<ServerSpec> {
        let data_dir = self.setup.place.data_dir(TRIAL);
        let spec = server_spec(&self.setup.plan, arm, &self.setup.ingredients[arm], data_dir, self.folder);
        let spec = ServerSpec { log_dir: self.logs_dir(arm), ..spec };
        match self.setup.plan.protocol {
            Protocol::Sequence => Ok(spec),
            Protocol::Isolated => undisturbed(self.setup.ingredients[arm].system, spec),
        }
    }

    fn logs_dir(&self, arm: usize) -> PathBuf {
        self.folder.logs_dir().join(&self.setup.plan.arms[arm].name).join(TRIAL)
    }
}
