//! Plans the two runs of a campaign: the first measures the cost of a multiplication, the second has secret
//! doses.
//!
//! Both are plans with protocol `isolated`. Every arm, including base and control, loads the same library and
//! reads a file of the same length with a name of the same length, so that arms differ only in their doses.

use crate::dose::Dose;
use crate::draw::{ARMS, draw, secret};
use crate::error::{Error, Result};
use crate::seal::{self, Sealed};
use crate::shim;
use crate::truth::Truth;
use rqps_model::BuildSpec;
use rqps_plan::{Arm, Plan, PlanContext};
use rqps_stats::sim::Rng;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Default number of arms of the second run, without base and control.
pub const ARMS_DEFAULT: usize = 6;
/// Default tests: cheap and expensive reads, and a write.
pub const TESTS_DEFAULT: [&str; 6] = [
    "point-query",
    "points-covered-pk",
    "range-covered-pk",
    "range-notcovered-si",
    "read-only-count",
    "update-nonindex",
];
/// Multiplications per message of the arms that measure their cost. Large numbers, since a line through 0 is
/// fitted and noise is small relative to a large change.
const RUNGS: [u64; 3] = [500, 1500, 4500];
/// Blocks of the first run.
const LADDER_BLOCKS: u32 = 4;
/// Blocks of the second run: more than any budget allows.
const BLIND_BLOCKS: u32 = 1_000;
/// Environment variable with the digest of the doses.
pub const SEAL_VARIABLE: &str = "RQPS_DOSE_SEAL";
/// Environment variable with the path of an arm's dose.
const FILE_VARIABLE: &str = "RQPS_DOSE_FILE";
const SEALED_FILE: &str = "sealed.json";

/// What to calibrate.
#[derive(Debug, Clone)]
pub struct Options {
    pub build: BuildSpec,
    pub config: String,
    pub tests: Vec<String>,
    /// Arms without base and control; half of them have no dose.
    pub arms: usize,
    /// Wall-clock time of the second run.
    pub budget: Duration,
    pub rows: u64,
    /// Length of a window in seconds.
    pub window_seconds: f64,
}

/// A campaign's directory: the library, the doses, the seal.
#[derive(Debug)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    /// Creates one in `work`, which servers must be able to read.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn create(work: &Path) -> Result<Self> {
        let directory = work.join(format!("calibrate-{:08x}", secret()? as u32));
        fs::create_dir(&directory).map_err(Error::file("create", &directory))?;
        shim::set_mode(&directory, 0o755)?;
        shim::write_to(&directory)?;
        Ok(Self { directory })
    }

    /// The directory that an arm's environment names.
    ///
    /// # Errors
    /// Returns an error if the environment names none.
    pub fn from_env(env: &BTreeMap<String, String>, run: &Path) -> Result<Self> {
        let file = env.get(FILE_VARIABLE).map(PathBuf::from);
        match file.as_deref().and_then(Path::parent) {
            Some(directory) => Ok(Self { directory: directory.to_owned() }),
            None => Err(Error::NoCalibration {
                path: run.to_owned(),
                reason: format!("its arms have no {FILE_VARIABLE}"),
            }),
        }
    }

    pub fn sealed_path(&self) -> PathBuf {
        self.directory.join(SEALED_FILE)
    }

    /// Deletes the directory with the doses.
    ///
    /// # Errors
    /// Returns an error if anything cannot be deleted.
    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.directory).map_err(Error::file("remove", &self.directory))
    }

    /// Writes doses and their seal. Returns arms with the environment that applies them to servers; the first
    /// arm is base, the second one control.
    fn arms(&self, options: &Options, (prefix, own_loads): (char, bool), doses: &[Dose]) -> Result<Vec<Arm>> {
        let name = |at: usize| format!("{prefix}{at:02}");
        let by_arm = doses.iter().enumerate().map(|(at, dose)| (name(at), *dose)).collect();
        let sealed = Sealed { nonce: format!("{:032x}", secret()?), doses: by_arm };
        let seal = seal::write(&self.sealed_path(), &sealed)?;
        let library = self.directory.join("librqps_dose.so");
        let arm = |(at, dose): (usize, &Dose)| {
            let file = self.directory.join(name(at));
            fs::write(&file, dose.file_text()).map_err(Error::file("write", &file))?;
            shim::set_mode(&file, 0o644)?;
            let mut arm = Arm::new(options.build.clone(), options.config.clone());
            arm.name = name(at);
            arm.control = at == 1;
            arm.own_load = own_loads;
            arm.env = BTreeMap::from([
                ("LD_PRELOAD".to_owned(), library.to_string_lossy().into_owned()),
                (FILE_VARIABLE.to_owned(), file.to_string_lossy().into_owned()),
                (SEAL_VARIABLE.to_owned(), seal.clone()),
            ]);
            Ok(arm)
        };
        doses.iter().enumerate().map(arm).collect()
    }

    /// The plan of the first run, with known numbers of multiplications.
    ///
    /// # Errors
    /// Returns an error if the options are inconsistent or files cannot be written.
    pub fn ladder(&self, options: &Options) -> Result<Plan> {
        let doses: Vec<Dose> = ladder_spins().into_iter().map(Dose::spin).collect();
        plan("calibrate-ladder", options, self.arms(options, ('r', false), &doses)?, (LADDER_BLOCKS, None))
    }

    /// The plan of the second run, with secret doses sized by the first run. Its length is the options' budget.
    ///
    /// # Errors
    /// Returns an error if the options are inconsistent, files cannot be written, or the first run gave no cost.
    pub fn blind(&self, options: &Options, truth: &Truth) -> Result<Plan> {
        let Some(spins_per_share) = truth.spins_per_share() else {
            let what = "the first run did not show what a multiplication costs".to_owned();
            return Err(Error::TooLittle { what });
        };
        let mut rng = Rng::new(secret()? as u64);
        let mut doses = vec![Dose::default(); 2];
        doses.extend(draw(options.arms, spins_per_share, &mut rng));
        let length = (BLIND_BLOCKS, Some(options.budget));
        plan("calibrate", options, self.arms(options, ('a', true), &doses)?, length)
    }

    /// The doses of a run, checked against the digest in its arms' environment.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or differ from the sealed ones.
    pub fn open_seal(&self, committed: &str) -> Result<Sealed> {
        Sealed::open(&self.sealed_path(), committed)
    }
}

/// A plan that measures every test in this many blocks, or in as many as fit into the budget.
fn plan(
    name: &str,
    options: &Options,
    arms: Vec<Arm>,
    (blocks, budget): (u32, Option<Duration>),
) -> Result<Plan> {
    if !ARMS.contains(&options.arms) {
        let (least, most) = (ARMS.start(), ARMS.end());
        return Err(Error::Design(format!("--arms {}: choose {least} to {most}", options.arms)));
    }
    let quoted: Vec<String> = options.tests.iter().map(|test| format!("\"{test}\"")).collect();
    let first = arms.first().map(|arm| arm.name.clone()).unwrap_or_default();
    let text = format!(
        "name = \"{name}\"\nprotocol = \"isolated\"\nseed = {seed}\n\
         [workload]\nrows = {rows}\nsteps = [{steps}]\n\
         [isolated]\ncontrol = false\nwindow_seconds = {window:?}\nblocks_min = {blocks}\nblocks_max = {blocks}\n\
         [[arm]]\nname = \"x\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n\
         [[arm]]\nname = \"y\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n",
        seed = secret()? as u32,
        rows = options.rows,
        steps = quoted.join(", "),
        window = options.window_seconds,
    );
    let check = |text: &str| {
        let parsed = Plan::parse(text, name, &PlanContext::trusting(rqps_workloads::BENCHMARKS));
        parsed.map(|checked| checked.plan).map_err(|problems| Error::Design(problems.to_string()))
    };
    let mut plan = check(&text)?;
    plan.budget = budget;
    plan.base = first;
    plan.arms = arms;
    check(&plan.to_toml().map_err(|error| Error::Design(error.to_string()))?)
}

/// Multiplications of the first run's arms, in its order.
pub fn ladder_spins() -> Vec<u64> {
    [0, 0].into_iter().chain(RUNGS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::{Size, Slope};

    fn options() -> Options {
        Options {
            build: "postgres-18.1".parse().unwrap(),
            config: "sized".to_owned(),
            tests: TESTS_DEFAULT.map(str::to_owned).to_vec(),
            arms: ARMS_DEFAULT,
            budget: Duration::from_secs(1800),
            rows: 10_000,
            window_seconds: 0.5,
        }
    }

    #[test]
    fn plan_does_not_reveal_doses() {
        let work = tempfile::tempdir().unwrap();
        let place = Place::create(work.path()).unwrap();
        let ladder = place.ladder(&options()).unwrap();
        assert_eq!(ladder.arms.len(), ladder_spins().len());
        let size = Size { share: 1e-4, low: 0.9e-4, high: 1.1e-4 };
        let slope = Slope { test: "point-query".to_owned(), metric: "instructions".to_owned(), size };
        let truth = Truth { slopes: vec![slope], ..Truth::default() };
        let plan = place.blind(&options(), &truth).unwrap();
        assert_eq!((plan.arms.len(), plan.base.as_str()), (8, "a00"));
        assert_eq!(plan.arms.iter().position(|arm| arm.control), Some(1));
        let files: Vec<PathBuf> =
            plan.arms.iter().map(|arm| PathBuf::from(&arm.env[FILE_VARIABLE])).collect();
        let sizes: Vec<u64> = files.iter().map(|file| fs::metadata(file).unwrap().len()).collect();
        assert!(sizes.iter().all(|size| *size == sizes[0]), "length of files reveals doses: {sizes:?}");
        let sealed = Place::from_env(&plan.arms[3].env, work.path()).unwrap();
        let sealed = sealed.open_seal(&plan.arms[3].env[SEAL_VARIABLE]).unwrap();
        assert!(sealed.doses["a00"].is_null() && sealed.doses["a01"].is_null());
        assert_eq!(sealed.doses.values().filter(|dose| dose.is_null()).count(), 5);
        let text = plan.to_toml().unwrap();
        // Only the arms: a build's version and the keys of the workload contain numbers too.
        let arms: Vec<&str> = text
            .lines()
            .skip_while(|line| *line != "[[arm]]")
            .filter(|line| !line.starts_with("build = "))
            .collect();
        assert!(arms.len() > 3 * plan.arms.len(), "{text}");
        for dose in sealed.doses.values().filter(|dose| dose.spin > 0) {
            let number = dose.spin.to_string();
            let mut words = arms.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
            assert!(words.all(|word| word != number), "{number} in {text}");
        }
        place.remove().unwrap();
    }

    #[test]
    fn invalid_options_are_reported() {
        let work = tempfile::tempdir().unwrap();
        let place = Place::create(work.path()).unwrap();
        let message = |change: fn(&mut Options)| {
            let mut options = options();
            change(&mut options);
            place.ladder(&options).unwrap_err().to_string()
        };
        assert!(message(|options| options.arms = 1).contains("2 to 14"));
        assert!(message(|options| options.tests = vec!["point".to_owned()]).contains("point"));
    }
}
