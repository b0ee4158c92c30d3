//! Tests of the user's own: scripts of SQL on tables that a schema creates and fills.

mod capture;
mod dump;
mod pieces;
mod script;
mod scripted;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use rqps_model::{Dbms, Limit, Role, Warmup, counted, did_you_mean};
use rqps_plan::reader::{Found, Node, Section};
use rqps_plan::{
    ActionKind, Benchmark, BenchmarkParts, Driver, Plan, Protocol, Reading, StepDef, TestOptions, Work,
    Workload, Workplan, limits, shared,
};
use toml::Table;

pub use capture::plan_of;
pub use dump::{Dump, DumpReader, Item, dialect_of_address};
pub use pieces::Piece;
use pieces::{created_tables, split};
use script::WEIGHTS;
use scripted::{alone, test, test_of_mix};

use crate::Dialect;
use crate::microbenchmarks::read_tests;
use crate::model::Test;

const WORKLOAD_KEYS: [&str; 8] = [
    "benchmark",
    "clients",
    "driver",
    "transport",
    "seconds",
    "warmup_seconds",
    "settle_seconds_max",
    "steps",
];
const SQL_KEYS: [&str; 4] = ["dump", "schema", "rows", "tests"];
/// Where the rows that a statement returns or changes are written.
const ROWS_OF_STATEMENT: &str =
    "the script, before the statement that returns or changes so many: -- rows: 5";
const DIALECTS: [Dialect; 2] = [Dialect::Postgres, Dialect::Mysql];
/// End of the name of a file, in place of SQL.
const FILE_END: &str = ".sql";
/// Rows of all tables together if a plan does not say.
const ROWS_DEFAULT: u64 = 100_000;
/// Bytes of a row with its index entries, for estimates.
const ROW_BYTES: u64 = 200;

/// Own SQL.
pub struct Sql;

impl Benchmark for Sql {
    fn id(&self) -> &'static str {
        "sql"
    }

    fn title(&self) -> &'static str {
        "own SQL"
    }

    fn revision(&self) -> &'static str {
        "1"
    }

    fn plan_tables(&self) -> &'static [&'static str] {
        &["sql"]
    }

    fn section_of_key(&self, key: &str) -> Option<&'static str> {
        ["schema", "dump"].contains(&key).then_some("[sql], with benchmark = \"sql\" in [workload]")
    }

    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts {
        read(plan)
    }
}

/// The part of a plan that is specific to own SQL.
#[derive(Debug, Clone)]
pub struct SqlPlan {
    /// Loaded before the schema.
    dump: Option<Dump>,
    /// The schema's text; empty if there is none.
    schema: String,
    /// The schema's statements.
    pieces: Vec<Piece>,
    tables: Vec<String>,
    /// Rows of all tables together, if the plan says.
    rows: Option<u64>,
    seconds: u32,
    warmup: Warmup,
    /// The schema's file as the plan names it, if it does.
    schema_file: Option<String>,
    /// Scripts by name.
    scripts: BTreeMap<String, Written>,
    mixes: BTreeMap<String, Mix>,
    tests: BTreeMap<String, &'static Test>,
}

/// A script as it is written.
#[derive(Debug, Clone)]
struct Written {
    text: String,
    /// The file as the plan names it, if it does.
    file: Option<String>,
    /// The lines of its statements.
    lines: Vec<usize>,
}

/// The place of a line in messages: `browse.sql:3`, or in the plan.
fn line_at(file: Option<&str>, place: &str, line: usize) -> String {
    file.map_or_else(|| format!("{place}, line {line}"), |file| format!("{file}:{line}"))
}

/// The scripts of a test that runs one of them in each event, with their weights.
type Mix = BTreeMap<String, u32>;

fn read(plan: &Reading<'_>) -> BenchmarkParts {
    let Reading { top, workload, problems, .. } = *plan;
    workload.check_keys(&WORKLOAD_KEYS, |key| match key {
        "rows" => Some(format!(
            "[sql], if it is of all tables together, for estimates; else in {ROWS_OF_STATEMENT}"
        )),
        _ if SQL_KEYS.contains(&key) => Some("[sql]".to_owned()),
        _ if plan.plan_keys.contains(&key) => Some(shared::TOP.to_owned()),
        _ => None,
    });
    let section = top.table("sql", "[sql]");
    if top.node("sql").is_none() {
        let remedy = "Add [sql] with `schema` or `dump`, and a script for each test in [sql.tests].";
        problems.missing(&(0..0), "[sql]", "missing", remedy);
    }
    let OwnSql { dump, schema, schema_file, pieces, rows, scripts, mixes, named } =
        section.map(|section| read_sql(&section, plan)).unwrap_or_default();
    let names: BTreeSet<String> = scripts.keys().chain(mixes.keys()).cloned().collect();
    let unknown = |step: &str| -> Option<String> {
        let name = shared::without_clients(step).0;
        // That there are none is told.
        let named = named.as_ref()?;
        if named.contains(name) || name == shared::SETTLE && plan.protocol == Protocol::Sequence {
            return None;
        }
        let question = did_you_mean(name, named.iter().map(String::as_str));
        Some(question.unwrap_or_else(|| "Write the name of a script in [sql.tests].".to_owned()))
    };
    let repeated = |_: &str| shared::KEEP_ONE.to_owned();
    let listed = shared::listed_steps(workload, problems, &unknown, &repeated);
    let small = |key, range, default: u32| {
        workload.integer(key, range).map_or(default, |found: Found<u64>| found.value as u32)
    };
    let clients = shared::clients(workload, problems, plan.protocol);
    let mut shared_keys = Workload {
        clients: clients[0],
        driver: shared::driver(workload, problems, &[Driver::Rqps]),
        transport: shared::transport(workload),
        settle_seconds_max: small(
            "settle_seconds_max",
            limits::SETTLE_SECONDS,
            limits::settle_seconds_default(estimated_rows(rows, dump.as_ref())),
        ),
        steps: listed.map_or(names.iter().cloned().collect(), |steps| {
            steps.into_iter().map(|step| step.value).collect()
        }),
    };
    let mut tests = read_tests(top, problems, &shared_keys, &unknown, ROWS_OF_STATEMENT);
    shared_keys.steps = shared::each_with_clients(shared_keys.steps, &clients);
    shared::add_clients(&mut tests, &shared_keys.steps);
    let of_dump = dump.iter().flat_map(|dump| dump.tables.iter().cloned());
    let work = SqlPlan {
        tables: of_dump.chain(created_tables(&pieces)).collect(),
        rows,
        seconds: small("seconds", limits::WINDOW_SECONDS, 60),
        warmup: shared::warmup(workload, problems).unwrap_or(Warmup::Time(Duration::from_secs(5))),
        tests: scripts
            .iter()
            .map(|(name, (_, script))| (name.clone(), test(name, script)))
            .chain(mixes.iter().map(|(name, mix)| (name.clone(), test_of_mix(name, mix, &scripts))))
            .collect(),
        mixes,
        dump,
        schema,
        schema_file,
        pieces,
        scripts: scripts.into_iter().map(|(name, (written, _))| (name, written)).collect(),
    };
    BenchmarkParts { workload: shared_keys, tests, work: Work::new(work) }
}

/// The section `[sql]`.
#[derive(Default)]
struct OwnSql {
    dump: Option<Dump>,
    schema: String,
    schema_file: Option<String>,
    pieces: Vec<Piece>,
    rows: Option<u64>,
    scripts: BTreeMap<String, (Written, script::Script)>,
    mixes: BTreeMap<String, Mix>,
    /// Names of all tests, also of those with mistakes, if the plan has tests.
    named: Option<BTreeSet<String>>,
}

/// Parses SQL in the dialects of all arms, which must agree on it; or returns all mistakes. If no arm's is known, only
/// what is one in every dialect.
fn in_every_dialect<T: PartialEq>(
    dbms: &[Dbms],
    parse: impl Fn(Dialect) -> Result<T, Vec<String>>,
) -> Result<T, Vec<String>> {
    let is_of_arm = |one: &Dialect| dbms.iter().any(|dbms| dialect(*dbms) == *one);
    let (mut parsed, mut refused) = (Vec::new(), Vec::new());
    for one in DIALECTS.into_iter().filter(|one| dbms.is_empty() || is_of_arm(one)) {
        match parse(one) {
            Ok(one) => parsed.push(one),
            Err(mistakes) => refused.push(mistakes),
        }
    }
    if dbms.is_empty() && !parsed.is_empty() {
        return Ok(parsed.swap_remove(0));
    }
    let is_one = |why: &String| !dbms.is_empty() || refused.iter().all(|all| all.contains(why));
    let mut mistakes: Vec<String> = Vec::new();
    for why in refused.iter().flatten().filter(|why| is_one(why)) {
        if !mistakes.contains(why) {
            mistakes.push(why.clone());
        }
    }
    if refused.is_empty() && parsed.windows(2).any(|pair| pair[0] != pair[1]) {
        mistakes.push("its quotes or comments mean different things to the DBMSs of the arms".to_owned());
    }
    match parsed.pop() {
        Some(parsed) if refused.is_empty() && mistakes.is_empty() => Ok(parsed),
        _ => Err(mistakes),
    }
}

/// Whether a text of a plan names a file with SQL.
fn is_file(text: &str) -> bool {
    text.ends_with(FILE_END) && !text.contains('\n')
}

fn read_sql(section: &Section<'_>, plan: &Reading<'_>) -> OwnSql {
    let problems = plan.problems;
    section.check_keys(&SQL_KEYS, |_| None);
    let text = |section: &Section<'_>, key: &str| -> Option<Found<String>> {
        let Found { value, at } = section.text(key)?;
        if !is_file(value) {
            return Some(Found { value: value.to_owned(), at });
        }
        match (plan.read_text)(value) {
            Ok(value) => Some(Found { value, at }),
            Err(why) => {
                let remedy =
                    "Correct the path, which is relative to the plan's directory, or write the SQL here.";
                problems.error(&at, section.place_of(key), format!("cannot read {value}: {why}"), remedy);
                None
            }
        }
    };
    let file = |section: &Section<'_>, key: &str| -> Option<String> {
        section.text(key).map(|found| found.value.to_owned()).filter(|value| is_file(value))
    };
    // A line of the script is one of its file.
    let in_file = |section: &Section<'_>, key: &str, why: String| match file(section, key) {
        Some(file) => format!("{file}: {why}"),
        None => why,
    };
    let dump = dump::read(section, plan);
    let schema = text(section, "schema");
    let mut pieces = Vec::new();
    match &schema {
        Some(Found { value, at }) => {
            let split = in_every_dialect(plan.dbms, |dialect| split(value, dialect));
            let tables = split.and_then(|split| {
                pieces = split;
                // That a dump cannot be read is told.
                match section.node("dump").is_none() && created_tables(&pieces).is_empty() {
                    true => Err(vec!["it creates no table".to_owned()]),
                    false => Ok(()),
                }
            });
            for why in tables.err().unwrap_or_default() {
                let why = in_file(section, "schema", why);
                problems.error(at, section.place_of("schema"), why, "");
            }
        }
        None if section.node("schema").is_none() && section.node("dump").is_none() => {
            let remedy = "Write the statements that create and fill the tables, or the path of a .sql file, or name a \
                          `dump`.";
            problems.missing(&section.at, section.place_of("schema"), "missing", remedy);
        }
        None => {}
    }
    let rows = section.integer("rows", 1..=*limits::ROWS.end()).map(|found| found.value);
    let schema_file = schema.as_ref().and_then(|_| file(section, "schema"));
    let schema = schema.map(|found| found.value).unwrap_or_default();
    let mut sql = OwnSql { dump, schema, schema_file, pieces, rows, ..OwnSql::default() };
    let before = problems.count();
    let Some(tests) = section.table("tests", "[sql.tests]").filter(|tests| tests.entries().next().is_some())
    else {
        if problems.count() == before {
            let remedy = "Add [sql.tests] with a script for each test, such as by-id = \"SELECT 1;\".";
            problems.missing(&section.at, "[sql.tests]", "no test", remedy);
        }
        return sql;
    };
    sql.named = Some(tests.entries().map(|(name, ..)| name.to_owned()).collect());
    for (name, at, node) in tests.entries() {
        let place = tests.place_of(name);
        if let Err(why) = check_name(name) {
            problems.error(&at, place, why, "Use letters, digits, - and _, for example \"order-by-id\".");
            continue;
        }
        if node.get_ref().is_table() {
            continue;
        }
        let Some(Found { value, at }) = text(&tests, name) else { continue };
        match in_every_dialect(plan.dbms, |dialect| script::parse(&value, dialect)) {
            Ok(script) => {
                let lines = script.statements.iter().map(|one| one.line).collect();
                let written = Written { text: value, file: file(&tests, name), lines };
                sql.scripts.insert(name.to_owned(), (written, script));
            }
            Err(mistakes) => mistakes.into_iter().for_each(|why| {
                problems.error(&at, &place, in_file(&tests, name, why), "");
            }),
        }
    }
    sql.mixes = read_mixes(&tests, plan, &|script| sql.scripts.contains_key(script));
    sql
}

/// All mixes, each without scripts that have mistakes: what is right is tried without the rest.
fn read_mixes(
    tests: &Section<'_>,
    plan: &Reading<'_>,
    is_right: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, Mix> {
    let mixes =
        tests.entries().filter(|(name, _, node)| node.get_ref().is_table() && check_name(name).is_ok());
    let mixes = mixes.filter_map(|(name, ..)| Some((name.to_owned(), read_mix(name, tests, plan)?)));
    let mut mixes: BTreeMap<String, Mix> = mixes.collect();
    mixes.values_mut().for_each(|mix| mix.retain(|script, _| is_right(script)));
    mixes.retain(|_, mix| !mix.is_empty());
    mixes
}

/// The weights of scripts: `{ browse = 9, buy = 1 }`.
fn read_mix(name: &str, tests: &Section<'_>, plan: &Reading<'_>) -> Option<Mix> {
    let place = tests.place_of(name);
    let weights = tests.table(name, &place)?;
    let is_script = |node: &Node<'_>| !node.get_ref().is_table();
    let scripts = || tests.entries().filter(|(_, _, node)| is_script(node)).map(|(script, ..)| script);
    let mut mix = Mix::new();
    for (script, at, _) in weights.entries() {
        if !scripts().any(|known| known == script) {
            let remedy = did_you_mean(script, scripts())
                .unwrap_or_else(|| "Write the names of scripts in [sql.tests].".to_owned());
            plan.problems.error(
                &at,
                weights.place_of(script),
                format!("there is no script `{script}`"),
                remedy,
            );
        } else if let Some(Found { value, .. }) = weights.integer(script, WEIGHTS) {
            mix.insert(script.to_owned(), value as u32);
        }
    }
    if weights.entries().next().is_none() {
        let remedy = format!("Write the weights of scripts, for example {name} = {{ browse = 9, buy = 1 }}.");
        plan.problems.error(&weights.at, place, "it mixes no scripts".to_owned(), remedy);
    }
    Some(mix)
}

/// Rows of all tables together, about, until the load counts them.
fn estimated_rows(stated: Option<u64>, dump: Option<&Dump>) -> u64 {
    let taken = dump.filter(|dump| dump.address().is_none());
    stated.unwrap_or_else(|| taken.map_or(ROWS_DEFAULT, |dump| (dump.bytes / ROW_BYTES).max(1)))
}

fn dialect(dbms: Dbms) -> Dialect {
    if dbms == Dbms::Postgres { Dialect::Postgres } else { Dialect::Mysql }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name == shared::SETTLE {
        return Err("settle is a step of its own".to_owned());
    }
    if shared::without_clients(name).1.is_some() {
        return Err("a number of clients is written by `clients`".to_owned());
    }
    match name.len() <= 60
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_valid)
    {
        true => Ok(()),
        false => Err(format!("\"{name}\" cannot name a test")),
    }
}

impl SqlPlan {
    /// Loaded before the schema.
    pub fn dump(&self) -> Option<&Dump> {
        self.dump.as_ref()
    }

    /// The statements that create and fill the tables, in order.
    pub fn schema(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn test(&self, name: &str) -> Option<&'static Test> {
        self.tests.get(name).copied()
    }

    /// The place of a line of the schema in messages.
    pub fn schema_line(&self, line: usize) -> String {
        line_at(self.schema_file.as_deref(), "[sql] schema", line)
    }

    /// Each statement of a test as a test of its own, with its place in messages.
    pub fn statements(&self, test: &str) -> Vec<(String, &'static Test)> {
        let mixed = self.mixes.get(test);
        let scripts = mixed.map_or_else(|| vec![test], |mix| mix.keys().map(String::as_str).collect());
        let mut all = Vec::new();
        for name in scripts {
            let (Some(script), Some(whole)) = (self.scripts.get(name), self.test(name)) else { continue };
            let statements = whole.parts.iter().flat_map(|part| part.statements.chunks(1));
            for (line, statements) in script.lines.iter().zip(statements) {
                let place = line_at(script.file.as_deref(), &format!("[sql.tests] {name}"), *line);
                all.push((place, alone(whole, statements)));
            }
        }
        all
    }
}

impl Workplan for SqlPlan {
    fn benchmark(&self) -> &'static dyn Benchmark {
        &Sql
    }

    fn own_keys(&self) -> Table {
        let warmup = match self.warmup {
            Warmup::Time(time) => toml::Value::Float(time.as_secs_f64()),
            Warmup::Detect => "detect".into(),
        };
        let seconds = toml::Value::Integer(self.seconds.into());
        Table::from_iter([("seconds".to_owned(), seconds), ("warmup_seconds".to_owned(), warmup)])
    }

    fn own_tables(&self) -> Table {
        // With a line end, no text can be taken for the name of a file.
        let line = |text: &String| toml::Value::from(format!("{}\n", text.trim_end()));
        let scripts = self.scripts.iter().map(|(name, written)| (name.clone(), line(&written.text)));
        let mixes = self.mixes.iter().map(|(name, mix)| {
            let weights = mix.iter().map(|(name, weight)| (name.clone(), i64::from(*weight).into()));
            (name.clone(), toml::Value::Table(weights.collect()))
        });
        let tests = toml::Value::Table(scripts.chain(mixes).collect());
        let mut sql = Table::from_iter([("tests".to_owned(), tests)]);
        if let Some(rows) = self.rows {
            sql.insert("rows".to_owned(), toml::Value::Integer(rows as i64));
        }
        if !self.schema.is_empty() {
            sql.insert("schema".to_owned(), line(&self.schema));
        }
        if let Some(dump) = &self.dump {
            sql.insert("dump".to_owned(), dump.kept());
        }
        Table::from_iter([("sql".to_owned(), toml::Value::Table(sql))])
    }

    fn with_dump_at(&self, path: PathBuf) -> Option<Work> {
        let dump = Dump { path, ..self.dump.clone()? };
        Some(Work::new(Self { dump: Some(dump), ..self.clone() }))
    }

    fn tables(&self) -> u32 {
        self.tables.len() as u32
    }

    fn table_name(&self, number: u32) -> String {
        self.tables.get(number as usize - 1).cloned().unwrap_or_default()
    }

    fn data(&self) -> String {
        let tables = counted(self.tables.len(), "table");
        match self.rows {
            Some(rows) => format!("about {} in {tables}", counted(rows, "row")),
            None => tables,
        }
    }

    fn describe(&self, kind: &ActionKind) -> Option<String> {
        let ActionKind::Load(_) = kind else { return None };
        let parts = self.dump.iter().map(|_| "dump").chain((!self.schema.is_empty()).then_some("schema"));
        Some(match self.rows {
            Some(rows) => format!("about {}", counted(rows, "row")),
            None => parts.collect::<Vec<_>>().join(" and "),
        })
    }

    fn rows_per_table(&self) -> u64 {
        self.rows_total() / self.tables.len().max(1) as u64
    }

    fn rows_total(&self) -> u64 {
        estimated_rows(self.rows, self.dump.as_ref())
    }

    fn row_bytes(&self) -> u64 {
        ROW_BYTES
    }

    fn step(&self, name: &str, workload: &Workload, all: &BTreeMap<String, TestOptions>) -> Option<StepDef> {
        let test = self.test(shared::without_clients(name).0)?;
        let options = all.get(name).cloned().unwrap_or_default();
        let seconds = Duration::from_secs(options.seconds.unwrap_or(self.seconds).into());
        Some(StepDef {
            name: name.to_owned(),
            position: 0,
            test: test.name.to_owned(),
            group: test.group,
            role: Role::Test,
            clients: options.clients.unwrap_or(workload.clients),
            limit: options.events.map_or(Limit::Time(seconds), Limit::Events),
            as_base: test.writes(),
            warmup: options.warmup.unwrap_or(self.warmup),
            rate_per_second: options.rate_per_second,
            removed_share_max: None,
            writes: test.writes(),
            writes_by_time: false,
            shrinks: false,
            operations_per_event: test.operations_per_event(self.rows_total()),
        })
    }

    fn has_independent_tests(&self) -> bool {
        true
    }

    fn repeats_base(&self) -> bool {
        true
    }

    fn summary(&self) -> String {
        format!(
            "{} of a schema of its own; warm-up {}; every arm does the writes that base did",
            counted(self.tables.len(), "table"),
            shared::warmup_text(self.warmup)
        )
    }

    fn warmup(&self) -> Warmup {
        self.warmup
    }

    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let connections = ("connections", plan.workload.transport.text().to_owned());
        let settle = ("settle at most", format!("{} s", plan.workload.settle_seconds_max));
        let windows = match &plan.isolated {
            Some(isolated) => shared::method_of_blocks(self, isolated).to_vec(),
            None => vec![
                ("window", format!("{} s", self.seconds)),
                ("work of writes", "base by time, every other arm exactly base's operations".to_owned()),
                ("warm-up", shared::warmup_text(self.warmup)),
            ],
        };
        windows.into_iter().chain([connections, settle]).collect()
    }
}
