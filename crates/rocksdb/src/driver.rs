//! Drivers of db_bench's steps: threads in the engine process, and the build's own db_bench as its child.

use std::path::PathBuf;
use std::time::Instant;

use rqps_builds::rocksdb::program_in;

use rqps_driver::{Observer, StepError, StepResult};
use rqps_executor::{
    ActiveArm, Admin, Driver, Error, Finished, Instance, Job, Loaded, Result, RunControl, StepFindings,
    WatchOptions, Window,
};
use rqps_model::random::name_word;
use rqps_model::{BuildSource, BuildSpec, EndedBy, Limit, Warmup};
use rqps_plan::{Benchmark, Driver as Program, Plan};
use rqps_rocksdb_engine::protocol::{End, OpenOptions, Request, RunSpec, Shape, Work, shares};
use rqps_store::Load;
use rqps_workloads::db_bench::{
    DbBench, DbBenchPlan, ENTRIES_PER_SCAN, KEY_BYTES, Kind, OPERATIONS, test_by_name,
};

use crate::connection::Connection;
use crate::direct::{OfProgram, OpenTables};
use crate::metrics::{Changes, drop_unfinished, of_shape};
use crate::system::RocksdbAddress;
use crate::window::Lead;

/// rqps' own clients.
pub static CLIENTS: &dyn Driver = &Clients(Program::Rqps);

/// The db_bench of each build.
pub static DB_BENCH: &dyn Driver = &Clients(Program::DbBench);

struct Clients(Program);

impl Driver for Clients {
    fn id(&self) -> &'static str {
        self.0.key()
    }

    fn described(&self) -> Result<Option<String>> {
        Ok((self.0 == Program::DbBench).then(|| "db_bench of each build".to_owned()))
    }

    fn check_build(&self, build: &BuildSpec) -> Result<()> {
        let has_program = match &build.source {
            // A published build is a library alone.
            BuildSource::Version(_) => false,
            BuildSource::Path(path) => program_in(path).is_some(),
            BuildSource::Source(_) => true,
        };
        if self.0 != Program::DbBench || has_program {
            return Ok(());
        }
        Err(Error::NoProgram {
            build: build.to_string(),
            program: "bin/db_bench",
            driver: self.0.key(),
            remedy: "name a directory with lib/librocksdb.so and the db_bench of the same release as bin/db_bench, or a \
                     build that `rqps build rocksdb` compiled",
        })
    }

    fn benchmark(&self) -> &'static str {
        DbBench.id()
    }

    fn check_instance(&self, arm: &str, instance: &dyn Instance) -> Result<()> {
        let address = address_of(arm, instance)?;
        let program = address.program.clone().filter(|_| self.0 == Program::DbBench);
        program.map_or(Ok(()), |program| check_program(arm, &address, program))
    }

    /// The database was created when it was opened; fillseq fills it.
    fn load(
        &self,
        _plan: &Plan,
        _test: &str,
        arm: &ActiveArm,
        _control: &mut RunControl<'_>,
    ) -> Result<Loaded> {
        let start = Instant::now();
        if let Some(program) = self.program(arm)? {
            check_program(&arm.name, &address(arm)?, program)?;
        }
        shape_of(arm, "looking at the new database")?;
        let load = Load { tables: 1, rows: 0, load_us: start.elapsed().as_micros() as u64, index_us: 0 };
        Ok(Loaded { load, summary: "an empty database: fillseq fills it".to_owned() })
    }

    /// A window's cache is empty when it begins.
    fn warm(&self, _plan: &Plan, _arm: &ActiveArm, _rows_max: u64) -> Result<()> {
        Ok(())
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        _admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let spec = spec(&job, self.program(arm)?)
            .ok_or_else(|| Error::NoClients { step: job.step.name.clone(), driver: self.id() })?;
        let ended_by = if job.limit.time().is_some() { EndedBy::Time } else { EndedBy::Work };
        let connection = connect(arm, "preparing a step")?;
        let seen = OfProgram::default();
        Ok(Box::new(DbBenchWindow {
            spec,
            ended_by,
            connection: Some(connection),
            before: Shape::default(),
            address: address(arm)?,
            seen,
        }))
    }
}

impl Clients {
    /// The program that works in windows on this arm; `None` if clients of rqps do.
    fn program(&self, arm: &ActiveArm) -> Result<Option<PathBuf>> {
        Ok(if self.0 == Program::DbBench { address(arm)?.program } else { None })
    }
}

fn address(arm: &ActiveArm) -> Result<RocksdbAddress> {
    address_of(&arm.name, &*arm.instance)
}

fn address_of(arm: &str, instance: &dyn Instance) -> Result<RocksdbAddress> {
    let address = instance.address().of::<RocksdbAddress>().cloned();
    address.ok_or_else(|| Error::NoAddress { arm: arm.to_owned(), driver: CLIENTS.id() })
}

/// Whether a build's db_bench runs, and is of its library's release.
fn check_program(arm: &str, address: &RocksdbAddress, program: PathBuf) -> Result<()> {
    let doing = "looking at db_bench";
    let mut connection = Connection::open(&address.socket).map_err(failed(arm, doing))?;
    connection.ask(&Request::CheckProgram(program), doing).map(drop).map_err(failed(arm, doing))
}

fn connect(arm: &ActiveArm, doing: &str) -> Result<Connection> {
    Connection::open(&address(arm)?.socket).map_err(failed(&arm.name, doing))
}

fn failed(arm: &str, doing: &str) -> impl FnOnce(rqps_wire::Error) -> Error + use<> {
    let (arm, doing) = (arm.to_owned(), doing.to_owned());
    move |source| Error::Session { arm, doing, source: Box::new(source) }
}

fn shape_of(arm: &ActiveArm, doing: &str) -> Result<Shape> {
    connect(arm, doing)?.shape().map_err(failed(&arm.name, doing))
}

/// What an engine process is to run; `None` for a step of another benchmark.
fn spec(job: &Job<'_>, program: Option<PathBuf>) -> Option<RunSpec> {
    let options = &job.plan.work.of::<DbBenchPlan>()?.options;
    let test = test_by_name(&job.step.test)?;
    let clients = job.step.clients;
    let (warmup, window) = match &job.limit {
        Limit::Time(time) => (warm_up(job.warmup), End::Seconds(time.as_secs_f64())),
        Limit::Events(events) => (warm_up(job.warmup), End::Operations(shares(*events, clients))),
        Limit::Rows(each) => (warm_up(job.warmup), End::Operations(vec![*each; clients as usize])),
        Limit::Work(work) => (End::Operations(work.warmup.clone()), End::Operations(work.window.clone())),
    };
    Some(RunSpec {
        open: OpenOptions { statistics: options.statistics, fills: test.kind == Kind::FillSequential },
        program,
        work: match test.kind {
            Kind::FillSequential => Work::FillSequential,
            Kind::Overwrite => Work::Overwrite,
            Kind::Get => Work::Get,
            Kind::MultiGet => Work::MultiGet,
            Kind::Scan { reverse } => Work::Scan { entries: ENTRIES_PER_SCAN, reverse },
        },
        clients,
        keys: options.keys,
        key_bytes: KEY_BYTES,
        value_bytes: options.value_bytes as usize,
        compression_ratio: options.compression_ratio,
        seed: job.plan.seed ^ name_word(&job.step.name) ^ u64::from(job.draws),
        warmup,
        window,
        background_bytes_per_s: test.while_writing.then_some(options.background_bytes_per_second as f64),
    })
}

fn warm_up(warmup: Warmup) -> End {
    match warmup {
        Warmup::Time(time) => End::Seconds(time.as_secs_f64()),
        // Plans refuse it.
        Warmup::Detect => End::Seconds(0.0),
    }
}

struct DbBenchWindow {
    spec: RunSpec,
    ended_by: EndedBy,
    /// `None` once it runs.
    connection: Option<Connection>,
    /// When the window opens.
    before: Shape,
    address: RocksdbAddress,
    /// What was seen of a program.
    seen: OfProgram,
}

impl Window for DbBenchWindow {
    fn watch_options(&self) -> WatchOptions {
        WatchOptions { has_tail: false, progress: (1.0, &OPERATIONS), debt: self.spec.program.is_none() }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        let connection = self.connection.take().ok_or(StepError::Cancelled)?;
        let (pid, ended_by) = (self.address.pid, self.ended_by);
        let (seen, before) = (&mut self.seen, &mut self.before);
        Lead { spec: &self.spec, ended_by, connection, observer, pid, seen, before }.run()
    }

    fn finish(self: Box<Self>, arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let after = shape_of(arm, "reading the state after a step")?;
        let result = &findings.result;
        let mut metrics = of_shape(&self.before, "before");
        metrics.extend(of_shape(&after, "after"));
        metrics.extend(Changes::of(&findings.counters).metrics());
        if self.spec.program.is_some() && self.spec.open.fills {
            drop_unfinished(&mut metrics);
        }
        let open = match self.spec.program {
            Some(_) => self.seen.tables,
            None => OpenTables::of(self.address.pid),
        };
        if self.seen.memory_kb > 0 {
            // The probe saw the engine process, which has closed the database.
            metrics.insert("server_proportional_kb".to_owned(), self.seen.memory_kb as f64);
        }
        metrics.insert("open_tables".to_owned(), open.all as f64);
        metrics.insert("open_tables_direct".to_owned(), open.direct as f64);
        let not_direct = (self.address.reads_directly && open.direct < open.all).then(|| {
            format!(
                "the config has use_direct_reads, but {} of {} open tables are without O_DIRECT",
                open.all - open.direct,
                open.all
            )
        });
        Ok(Finished {
            unit: OPERATIONS.clone(),
            operations: result.events as f64,
            rows: result.rows + result.changed_rows,
            pacer: None,
            metrics,
            invalid: not_direct,
            remark: background(result),
        })
    }
}

/// The achieved rate of the background writer, and whether it missed its target, for the summary.
fn background(result: &StepResult) -> String {
    let total = |name: &str| result.totals.get(name).copied();
    match (total("background_bytes_per_s"), total("background_target_bytes_per_s")) {
        (Some(achieved), Some(target)) if total("background_kept") == Some(0.0) => {
            format!(" beside {:.2} of {:.2} MB/s of puts: TARGET MISSED", achieved / 1e6, target / 1e6)
        }
        (Some(achieved), _) => format!(" beside {:.2} MB/s of puts", achieved / 1e6),
        _ => String::new(),
    }
}
