//! A plan that measures one build against another, for verbs that take builds in place of a plan.

use crate::Usage;
use crate::verbs::plan::{check_plan, known_config, read_plan, set_budget};
use rqps_model::{BuildSource, BuildSpec, DEFAULT_FLAVOUR, did_you_mean};
use rqps_plan::{Arm, Plan, Protocol};
use std::path::Path;

/// Most steps of a plan that an error names.
const NAMED_MAX: usize = 12;

/// Two builds and what the command line changes in a plan. The plan's `control` decides if the first is measured twice.
pub struct TwoBuilds<'a> {
    /// The name of the new plan.
    pub name: &'a str,
    /// The plan to start from: a file, or a shipped one.
    pub plan: &'a str,
    pub arms: [BuildArg<'a>; 2],
    /// None: that of the plan's base.
    pub config: Option<&'a str>,
    /// All of the plan if empty.
    pub tests: &'a [String],
    /// The argument that names them, as in `--tests`.
    pub tests_argument: &'static str,
    pub budget: Option<&'a str>,
}

/// A build as given on the command line.
pub struct BuildArg<'a> {
    /// The argument, as in `--base`.
    pub argument: &'static str,
    /// The name of its arm.
    pub arm: &'static str,
    pub build: &'a str,
}

impl TwoBuilds<'_> {
    pub fn plan(&self) -> anyhow::Result<Plan> {
        let mut plan = read_plan(self.plan)?;
        if plan.protocol != Protocol::Isolated {
            let name = self.plan;
            return Err(
                Usage(format!("the plan {name} has no blocks; it needs protocol = \"isolated\"")).into()
            );
        }
        let config = self.config.map_or_else(|| plan.arms[plan.base_index()].config.clone(), str::to_owned);
        plan.arms = self.arms.iter().map(|one| one.arm(&config)).collect::<anyhow::Result<_>>()?;
        let dbms = plan.arms[0].build.dbms;
        if plan.arms.iter().any(|arm| arm.build.dbms != dbms) {
            let [first, second] = &self.arms;
            return Err(Usage(format!(
                "{} is {}, {} is {}: only builds of one DBMS can be compared here; a plan may have arms of several",
                first.argument, first.build, second.argument, second.build
            ))
            .into());
        }
        if !dbms.speaks_sql() {
            let BuildArg { argument, build, .. } = &self.arms[0];
            return Err(Usage(format!(
                "{argument} is {build}: this command measures blocks, in which every test starts from the same data, \
                 and the steps of RocksDB work on what those before them left. Write a plan with `passes` (`rqps plan \
                 print rocksdb-versions`); `rqps gate RUN` judges its run"
            ))
            .into());
        }
        if let Some(config) = self.config {
            known_config(dbms, config).map_err(|why| Usage(format!("--config: {why}")))?;
        }
        plan.base = self.arms[0].arm.to_owned();
        plan.name = self.name.to_owned();
        if let Some(budget) = self.budget {
            set_budget(&mut plan, budget)?;
        }
        if let Some(unknown) = self.tests.iter().find(|name| plan.step(name).is_none()) {
            let steps = &plan.workload.steps;
            let remedy =
                did_you_mean(unknown, steps.iter().map(String::as_str)).unwrap_or_else(|| {
                    match steps.len() {
                        0..=NAMED_MAX => format!("It has {}.", steps.join(", ")),
                        _ => format!("`rqps plan show {}` lists them.", self.plan),
                    }
                });
            let argument = self.tests_argument;
            return Err(Usage(format!("{argument}: no test `{unknown}` in this plan. {remedy}")).into());
        }
        if let Some(twice) = self.tests.iter().enumerate().find(|(at, name)| self.tests[..*at].contains(name))
        {
            return Err(Usage(format!("{}: {} is listed twice", self.tests_argument, twice.1)).into());
        }
        if !self.tests.is_empty() {
            plan.workload.steps = self.tests.to_vec();
        }
        // The resolved plan is checked like any other. Its warnings have been shown before.
        Ok(check_plan(&plan.to_toml()?, self.plan)?.plan)
    }
}

/// The error with the argument that names the version which does not exist.
pub fn naming_argument(builds: &[BuildArg<'_>; 2], error: anyhow::Error) -> anyhow::Error {
    use rqps_builds::Error as Builds;
    let of_build = match error.downcast_ref::<rqps_executor::Error>() {
        Some(rqps_executor::Error::Builds(of_build)) => Some(of_build),
        _ => error.downcast_ref::<Builds>(),
    };
    let Some(Builds::UnknownVersion { dbms, request, .. } | Builds::NotPublished { dbms, request, .. }) =
        of_build
    else {
        return error;
    };
    let names_it = |one: &&BuildArg<'_>| {
        let spec: Option<BuildSpec> = one.build.parse().ok();
        let is_version = |spec: BuildSpec| matches!(&spec.source, BuildSource::Version(of) if of == request);
        spec.filter(|spec| spec.dbms == *dbms).is_some_and(is_version)
    };
    match builds.iter().find(names_it) {
        Some(one) => Usage(format!("{}: {error}", one.argument)).into(),
        None => error,
    }
}

impl BuildArg<'_> {
    fn arm(&self, config: &str) -> anyhow::Result<Arm> {
        let mut build: BuildSpec =
            self.build.parse().map_err(|error| Usage(format!("{}: {error}", self.argument)))?;
        rqps_builds::check_known(&build).map_err(|error| {
            let as_source = source_at_a_reference(&build).unwrap_or_default();
            Usage(format!("{}: {error}{as_source}", self.argument))
        })?;
        match &mut build.source {
            BuildSource::Version(_) => {}
            BuildSource::Path(path) => *path = std::path::absolute(&path)?,
            BuildSource::Source(source) => *source = source.clone().at(&std::env::current_dir()?),
        }
        Ok(Arm { name: self.arm.to_owned(), ..Arm::new(build, config) })
    }
}

/// What to write for `/src/postgres@REF` if that is how a repository was named.
fn source_at_a_reference(build: &BuildSpec) -> Option<String> {
    let BuildSource::Path(path) = &build.source else { return None };
    let (place, reference) = path.to_str()?.rsplit_once('@')?;
    let source = format!("{}+{DEFAULT_FLAVOUR}:{place}@{reference}", build.dbms);
    Path::new(place).is_dir().then(|| format!("; to compile a commit, write {source}"))
}
