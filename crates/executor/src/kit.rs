//! The parts that a program is composed of. The program lists them; the executor names none.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::system::System;
use rqps_model::{Dbms, HostFigure};
use rqps_plan::{Benchmark, Plan};
use rqps_probe::{Canaries, HostFacts, certify};
use rqps_store::Fact;
use std::path::Path;

/// Systems, benchmarks, drivers, and the host that they run on.
#[derive(Clone, Copy)]
pub struct Kit {
    pub systems: &'static [&'static dyn System],
    pub benchmarks: &'static [&'static dyn Benchmark],
    pub drivers: &'static [&'static dyn Driver],
    pub host: &'static dyn Host,
}

impl Kit {
    /// The system that runs builds of `dbms`.
    ///
    /// # Errors
    /// If the program was composed without it.
    pub fn system(&self, dbms: Dbms) -> Result<&'static dyn System> {
        let found = self.systems.iter().copied().find(|system| system.runs(dbms));
        found.ok_or(Error::NoSystem(dbms))
    }

    /// The driver that a plan names, for its benchmark.
    ///
    /// # Errors
    /// If the program was composed without it.
    pub fn driver(&self, plan: &Plan) -> Result<&'static dyn Driver> {
        let (id, benchmark) = (plan.workload.driver.key(), plan.work.benchmark().id());
        let matches = |driver: &&dyn Driver| driver.id() == id && driver.benchmark() == benchmark;
        self.drivers.iter().copied().find(matches).ok_or(Error::NoDriver { driver: id, benchmark })
    }
}

/// The machine that a run is measured on.
pub trait Host: Sync {
    /// Facts about the host; `dir` is on the disk of the data.
    fn facts(&self, dir: &Path) -> Result<Vec<Fact>>;

    /// Measures how fast the host is now, by small fixed pieces of work, each with its name.
    fn canaries(&self, dir: &Path) -> Result<Vec<(&'static str, f64)>>;

    /// Measures what the host can do, in some seconds.
    fn certificate(&self, dir: &Path) -> Result<Vec<HostFigure>>;
}

/// The machine that this process runs on.
pub struct ThisHost;

impl Host for ThisHost {
    fn facts(&self, dir: &Path) -> Result<Vec<Fact>> {
        let facts = HostFacts::collect(dir)?;
        let comparable: Vec<String> = facts.fingerprint();
        let fact = |(key, value): (&str, String)| Fact {
            key: key.to_owned(),
            value,
            // The kernel reserves a varying part of the memory, so `memory_gb` below is compared instead.
            comparable: key != "memory_bytes"
                && comparable.iter().any(|fact| fact.split('=').next() == Some(key)),
        };
        let memory_gb = (facts.memory_bytes as f64 / 1e9).round();
        let memory = Fact { key: "memory_gb".to_owned(), value: memory_gb.to_string(), comparable: true };
        Ok(facts.key_values().into_iter().map(fact).chain([memory]).collect())
    }

    fn canaries(&self, dir: &Path) -> Result<Vec<(&'static str, f64)>> {
        Ok(Canaries::measure(dir)?.pairs().into_iter().collect())
    }

    fn certificate(&self, dir: &Path) -> Result<Vec<HostFigure>> {
        Ok(certify(dir)?)
    }
}
