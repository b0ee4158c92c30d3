//! What is measured: a first run for the cost of a multiplication, a second one with doses that nobody knows.
//!
//! Both are plans of the protocol `isolated` like any others. Every arm, base and control included, loads the same
//! library and reads a file of the same length under a name of the same length, so that arms differ by their doses
//! alone.

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
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arms of the second run beside base and control, unless said otherwise.
pub const ARMS_DEFAULT: usize = 6;
/// What is measured unless said otherwise: cheap and dear reads, and a write.
pub const TESTS_DEFAULT: [&str; 6] = [
    "point-query",
    "points-covered-pk",
    "range-covered-pk",
    "range-notcovered-si",
    "read-only-count",
    "update-nonindex",
];
/// Multiplications per message of the arms that tell what one costs. Many, since what is fitted to them is a line
/// through 0, and noise is small beside a large change.
const RUNGS: [u64; 3] = [500, 1500, 4500];
/// Blocks of the first run.
const LADDER_BLOCKS: u32 = 4;
/// Blocks of the second run: more than any budget pays for.
const BLIND_BLOCKS: u32 = 1_000;
/// The variable that holds the digest of the doses.
pub const SEAL_VARIABLE: &str = "RQPS_DOSE_SEAL";
/// The variable that names an arm's dose.
const FILE_VARIABLE: &str = "RQPS_DOSE_FILE";
/// Name of the sealed file.
const SEALED_FILE: &str = "sealed.json";

/// What is to be calibrated.
#[derive(Debug, Clone)]
pub struct Options {
    pub build: BuildSpec,
    pub config: String,
    pub tests: Vec<String>,
    /// Arms beside base and control; half of them have no dose.
    pub arms: usize,
    /// Wall-clock time of the second run.
    pub budget: Duration,
    pub rows: u64,
    /// Seconds of a window.
    pub window_seconds: f64,
}

/// A campaign's directory: the library, the doses, the seal.
#[derive(Debug)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    /// Makes one in `work`, which servers can reach.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(work: &Path) -> Result<Self> {
        let directory = work.join(format!("calibrate-{:08x}", secret()? as u32));
        fs::create_dir(&directory).map_err(Error::file("create", &directory))?;
        let open = fs::set_permissions(&directory, Permissions::from_mode(0o755));
        open.map_err(Error::file("set the rights of", &directory))?;
        shim::write_to(&directory)?;
        Ok(Self { directory })
    }

    /// The one that an arm's environment names.
    ///
    /// # Errors
    /// When it names none.
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

    /// Removes it with the doses.
    ///
    /// # Errors
    /// When something of it stays.
    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.directory).map_err(Error::file("remove", &self.directory))
    }

    /// Writes doses and their seal; returns arms with the environment that makes servers take them. The first arm is
    /// base and the second control.
    fn arms(&self, options: &Options, (prefix, own_loads): (char, bool), doses: &[Dose]) -> Result<Vec<Arm>> {
        let name = |at: usize| format!("{prefix}{at:02}");
        let by_arm = doses.iter().enumerate().map(|(at, dose)| (name(at), *dose)).collect();
        let sealed = Sealed { nonce: format!("{:032x}", secret()?), doses: by_arm };
        let seal = seal::write(&self.sealed_path(), &sealed)?;
        let library = self.directory.join("librqps_dose.so");
        let arm = |(at, dose): (usize, &Dose)| {
            let file = self.directory.join(name(at));
            fs::write(&file, dose.file_text()).map_err(Error::file("write", &file))?;
            let open = fs::set_permissions(&file, Permissions::from_mode(0o644));
            open.map_err(Error::file("set the rights of", &file))?;
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

    /// The first run: known numbers of multiplications.
    ///
    /// # Errors
    /// When options contradict each other or files cannot be written.
    pub fn ladder(&self, options: &Options) -> Result<Plan> {
        let doses: Vec<Dose> = [0, 0].into_iter().chain(RUNGS).map(Dose::spin).collect();
        plan("calibrate-ladder", options, self.arms(options, ('r', false), &doses)?, (LADDER_BLOCKS, None))
    }

    /// The second run: doses that nobody knows, sized by what the first run has shown. It takes as long as the budget
    /// of the options says.
    ///
    /// # Errors
    /// When options contradict each other, files cannot be written, or the first run has shown nothing.
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
    /// When they cannot be read or are not those that were sealed.
    pub fn open_seal(&self, committed: &str) -> Result<Sealed> {
        Sealed::open(&self.sealed_path(), committed)
    }
}

/// A plan that measures every test in this many blocks, or in as many as fit into a budget.
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
        let parsed = Plan::parse(text, name, &PlanContext::trusting(&rqps_workloads::BENCHMARKS));
        parsed.map(|checked| checked.plan).map_err(|problems| Error::Design(problems.to_string()))
    };
    let mut plan = check(&text)?;
    plan.budget = budget;
    plan.base = first;
    plan.arms = arms;
    check(&plan.to_toml().map_err(|error| Error::Design(error.to_string()))?)
}

/// Multiplications of the arms of the first run, in its order.
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
    fn a_plan_names_doses_by_file_and_digest_alone() {
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
        assert!(sizes.iter().all(|size| *size == sizes[0]), "files tell doses by their length: {sizes:?}");
        let sealed = Place::from_env(&plan.arms[3].env, work.path()).unwrap();
        let sealed = sealed.open_seal(&plan.arms[3].env[SEAL_VARIABLE]).unwrap();
        assert!(sealed.doses["a00"].is_null() && sealed.doses["a01"].is_null());
        assert_eq!(sealed.doses.values().filter(|dose| dose.is_null()).count(), 5);
        let text = plan.to_toml().unwrap();
        // What is said of arms; a build's version and the keys of the workload are numbers, too.
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
    fn what_cannot_be_planned_is_said() {
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
