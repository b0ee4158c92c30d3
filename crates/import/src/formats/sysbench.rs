//! sysbench's text, 1.0 and 1.1: one run, or several one after the other.

use std::io::Read;

use rqps_model::{EndedBy, QueryPlan, Series};

use crate::error::Broken;
use crate::histogram::Buckets;
use crate::lines::Lines;
use crate::mix::Mix;
use crate::model::{Document, EVENTS, Measurement, QUERIES, Quirk, THOUSAND_ROWS, Value, Work, number};
use crate::names::TestName;

/// What sets a rate.
const SCHEDULE: &str = "sysbench's option --rate";
/// Plans kept per file: there is one for each statement and table.
const PLANS_MAX: usize = 64;
const PLAN_BYTES_MAX: usize = 20_000;

/// What a run says before and while it is measured.
#[derive(Default)]
struct Run {
    options: Options,
    tool: String,
    started: bool,
    measured: Measurement,
    events: Option<u64>,
    /// Statements performed: reads, writes, and all.
    statements: [Option<u64>; 3],
    /// Whether it prepares data, or deletes them.
    prepares: bool,
    /// With its line.
    events_per_s: Option<(String, u32)>,
    /// Their rate is as printed.
    queries: Option<(u64, String, u32)>,
    elapsed_s: Option<f64>,
    is_whole: bool,
    buckets: Buckets,
    statement: String,
    qps: Vec<f64>,
    tps: Vec<f64>,
    p95: Vec<f64>,
}

/// Of the command line, which may come before.
#[derive(Default, Clone)]
struct Options {
    table_size: Option<u64>,
    tables: Option<u64>,
    time_s: Option<u64>,
    warmup_s: Option<u64>,
    threads: Option<u32>,
    cpus: Option<u32>,
    rand_type: Option<String>,
    range: Option<u32>,
    script: Option<String>,
}

/// What built-in tests print of themselves before they begin: the words around a setting, and its name.
const SETTINGS: [(&str, &str, &str); 15] = [
    ("block size: ", "", "bs"),
    ("total size: ", "", "total_size"),
    ("operation: ", "", "operation"),
    ("scope: ", "", "scope"),
    ("Prime numbers limit: ", "", "primes_max"),
    ("Extra file open flags: ", "", FLAGS),
    ("", " each", FILES),
    ("Block size ", "", "bs"),
    ("Merging requests up to ", " for sequential IO.", "merged"),
    ("Read/Write ratio for combined random IO test: ", "", "mixed_reads"),
    ("Periodic FSYNC enabled, calling fsync() each ", " requests.", "fsync_requests"),
    ("Calling fsync() at the end of test, ", ".", "fsync_end"),
    ("Calling fsync() after each write operation", ".", "fsync_all"),
    ("Using ", " I/O mode", "io_mode"),
    ("Doing ", " test", "rw"),
];
/// The first line of a test of files, and that with how many there are of which size: `2 files, 4MiB each`.
const FLAGS: &str = "open_flags";
const FILES: &str = "files";
/// What is not printed where it is off.
const OFF_IF_ABSENT: [&str; 3] = ["fsync_requests", "fsync_end", "fsync_all"];

/// What sysbench says where it prepares data or deletes them.
const PREPARES: [&str; 6] = [
    "Creating table ",
    "Inserting ",
    "Creating a secondary index ",
    "Dropping table ",
    "Creating files for the test",
    "Removing test files",
];

/// The settings in a line of a built-in test.
fn settings_of(line: &str, at: u32) -> Vec<Value> {
    let inside = |(before, after, name): &(&'static str, &str, &'static str)| {
        let text = line.trim().strip_prefix(before)?.strip_suffix(after)?;
        Some((*name, text))
    };
    match SETTINGS.iter().find_map(inside) {
        Some((FILES, text)) => text.split_once(" files, ").map_or_else(Vec::new, |(files, size)| {
            vec![Value::words(FILES, files, at), Value::words("file_size", size, at)]
        }),
        Some((name, text)) => {
            let text = if text.is_empty() { "on" } else { text };
            vec![Value::words(name, text.replace(' ', "-"), at)]
        }
        None => Vec::new(),
    }
}

/// Scripts of sysbench, and how names of tests begin that run them.
const SCRIPTS: [(&str, &[&str]); 13] = [
    ("oltp_delete", &["delete"]),
    ("oltp_inlist_select", &["random-points", "hot-points"]),
    ("oltp_inlist_update", &["update-inlist"]),
    ("oltp_insert", &["insert"]),
    ("oltp_point_select", &["point-query"]),
    ("oltp_points_covered", &["points-"]),
    ("oltp_range_covered", &["range-"]),
    ("oltp_read_only", &["read-only"]),
    ("oltp_read_write", &["read-write"]),
    ("oltp_scan", &["scan"]),
    ("oltp_update_index", &["update-index"]),
    ("oltp_update_non_index", &["update-nonindex", "update-one", "update-zipf"]),
    ("oltp_write_only", &["write-only"]),
];

/// Tests of sysbench that are no scripts of that list.
const OTHER_TESTS: [&str; 3] = ["select_random_points", "select_random_ranges", "bulk_insert"];

/// What sysbench calls its tests.
pub fn tests() -> impl Iterator<Item = &'static str> {
    SCRIPTS.iter().map(|(script, _)| *script).chain(OTHER_TESTS)
}

/// The test that a file's name and content tell: where they disagree, its content is right. Returns the disagreement,
/// too.
pub fn test_of(name: TestName, measured: &Measurement) -> (TestName, Option<String>) {
    let (mut test, mut differ) = (name.clone(), Vec::new());
    if let Some(range) = measured.range.filter(|range| name.range.is_some_and(|own| own != *range)) {
        test.range = Some(range);
        differ.push(format!("--range-size={range}"));
    }
    let starts = |(_, starts): &(&str, &[&str])| starts.iter().any(|start| name.test.starts_with(start));
    let of_script = SCRIPTS.iter().find(|(script, _)| measured.script.as_deref() == Some(*script));
    if let (Some(of_script), true) = (of_script, SCRIPTS.iter().any(starts))
        && !starts(of_script)
    {
        of_script.1[0].trim_end_matches('-').clone_into(&mut test.test);
        differ.push(format!("{}.lua", of_script.0));
    }
    let text = (!differ.is_empty()).then(|| {
        format!(
            "the file's name says {}, but its command line {}: taken as {}",
            name.row(),
            differ.join(" and "),
            test.row()
        )
    });
    (test, text)
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut document = Document::default();
    let (mut run, mut before): (Option<Run>, Options) = (None, Options::default());
    while let Some((number, line, has_end)) = lines.next_with_end()? {
        // After the last line of a run come no figures that count.
        if !(has_end || line.trim().is_empty() || line.trim_start().starts_with("execution time ")) {
            return Err(Broken::cut_off(number));
        }
        if let Some(version) = line.strip_prefix("sysbench ").filter(|rest| is_version(rest)) {
            finish(run.take(), number, &mut document)?;
            let tool = format!("sysbench {}", version.split_whitespace().next().unwrap_or_default());
            run = Some(Run { options: std::mem::take(&mut before), tool, ..Run::default() });
            continue;
        }
        match &mut run {
            None => before.read(line),
            Some(run) if is_finished(run) && is_command(line) => before.read(line),
            Some(run) => run.read(line, number)?,
        }
    }
    finish(run, lines.number(), &mut document)?;
    if document.measurements.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no run of sysbench in it"));
    }
    Ok(document)
}

fn is_version(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_digit())
}

fn is_command(line: &str) -> bool {
    line.contains("--threads=") || line.ends_with(" CPUs")
}

fn is_finished(run: &Run) -> bool {
    run.events.is_some()
}

impl Options {
    fn read(&mut self, line: &str) {
        if let Some(cpus) = line.strip_suffix(" CPUs") {
            self.cpus = cpus.trim().parse().ok();
            return;
        }
        let word =
            |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let option = |name: &str| word(name).and_then(|word| word.parse::<u64>().ok());
        let range = option("--range-size").and_then(|n| n.try_into().ok());
        self.range = range.or(self.range);
        if line.contains("--threads=") {
            let file =
                |word: &str| word.rsplit('/').next().unwrap_or(word).trim_end_matches(".lua").to_owned();
            let script = line.split_whitespace().map(file).find(|word| word.starts_with("oltp_"));
            self.script = script.or(self.script.take());
        }
        self.rand_type = word("--rand-type").map(str::to_owned).or(self.rand_type.take());
        self.table_size = option("--table-size").or(self.table_size);
        self.tables = option("--tables").or(self.tables);
        self.time_s = option("--time").or(self.time_s);
        self.warmup_s = option("--warmup-time").or(self.warmup_s);
        self.threads = option("--threads").and_then(|n| n.try_into().ok()).or(self.threads);
    }
}

impl Run {
    fn read(&mut self, line: &str, at: u32) -> Result<(), Broken> {
        if line.starts_with("FATAL:") {
            return Err(Broken::at(at, format!("sysbench failed: {line}")));
        }
        if !self.started {
            self.started = line.starts_with("Threads started!");
            self.prepares |= PREPARES.iter().any(|start| line.starts_with(start));
            if let Some(threads) = line.strip_prefix("Number of threads: ") {
                self.options.threads = threads.trim().parse().ok();
            }
            self.measured.values.extend(settings_of(line, at));
            if line.starts_with("Target transaction rate: ") {
                self.measured.schedule = Some(SCHEDULE);
            }
            self.read_plan(line);
            return Ok(());
        }
        if line.starts_with("[ ") {
            self.read_interval(line);
            return Ok(());
        }
        let trimmed = line.trim();
        if self.read_bucket(trimmed) {
            return Ok(());
        }
        let Some((key, rest)) = trimmed.split_once(':') else { return Ok(()) };
        let rest = rest.trim();
        let whole = || {
            let word = rest.split_whitespace().next().unwrap_or_default();
            word.parse::<u64>().map_err(|_| Broken::at(at, format!("{key}: no number in {rest:?}")))
        };
        let per_second = || {
            let inside = rest.split_once('(').and_then(|(_, rest)| rest.split_whitespace().next());
            let inside = inside.filter(|text| number(text).is_some());
            inside.map(str::to_owned).ok_or_else(|| Broken::at(at, format!("{key}: no rate in {rest:?}")))
        };
        match key {
            "read" | "write" | "total" if self.queries.is_none() => {
                let at = ["read", "write", "total"].iter().position(|name| *name == key);
                self.statements[at.unwrap_or(0)] = rest.parse().ok();
            }
            "queries" => self.queries = Some((whole()?, per_second()?, at)),
            "transactions" => {
                self.push("transactions", "", &whole()?.to_string(), at);
                self.push("transactions_per_s", "1/s", &per_second()?, at);
            }
            "ignored errors" => {
                let errors = whole()?;
                if errors > 0 {
                    self.measured.retries.insert("ignored".to_owned(), errors);
                }
            }
            "reconnects" => self.push("reconnects", "", &whole()?.to_string(), at),
            "events/s (eps)" | "events per second" => {
                self.events_per_s = number(rest).map(|_| (rest.to_owned(), at));
            }
            "time elapsed" | "total time" => {
                self.elapsed_s = number(rest.trim_end_matches('s'));
                self.measured.line = at;
            }
            "total number of events" => self.events = Some(whole()?),
            "min" | "avg" | "max" | "sum" if self.events.is_some() => {
                self.latency(format!("latency_{key}_ms"), key, rest, at)?;
            }
            // The last lines of a run.
            "execution time (avg/stddev)" => {
                self.is_whole =
                    rest.split_once('/').is_some_and(|(a, b)| number(a).is_some() && number(b).is_some());
            }
            "percentile stats" => {}
            key => {
                if let Some(percentile) = ["th percentile", "st percentile", "nd percentile", "rd percentile"]
                    .iter()
                    .find_map(|end| key.strip_suffix(end))
                    .filter(|text| number(text).is_some())
                {
                    self.latency(format!("latency_p{percentile}_ms"), key, rest, at)?;
                }
            }
        }
        Ok(())
    }

    fn latency(&mut self, name: String, key: &str, text: &str, at: u32) -> Result<(), Broken> {
        if number(text).is_none() {
            return Err(Broken::at(at, format!("{key}: no number in {text:?}: the file is cut off")));
        }
        self.measured.values.push(Value::number(name, "ms", text, at));
        Ok(())
    }

    fn push(&mut self, name: &'static str, unit: &'static str, printed: &str, line: u32) {
        self.measured.values.push(Value::number(name, unit, printed, line));
    }

    /// `[ 2s ] thds: 2 tps: 20.93 qps: 422.63 (…) lat (ms,95%): 48.34 …`; a last one may be cut off.
    fn read_interval(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let (mut rate, mut events, mut latency) = (None, None, None);
        while let Some(word) = words.next() {
            match word {
                "qps:" => rate = words.next().and_then(number),
                "tps:" | "eps:" => events = words.next().and_then(number),
                word if word.starts_with("(ms,") => latency = words.next().and_then(number),
                _ => {}
            }
        }
        self.qps.extend(rate);
        self.tps.extend(events);
        self.p95.extend(latency);
    }

    fn read_bucket(&mut self, line: &str) -> bool {
        let Some((value, rest)) = line.split_once('|') else { return false };
        let count = rest.trim_start_matches('*').trim().parse::<u64>();
        match (number(value), count) {
            (Some(ms), Ok(count)) => {
                self.buckets.add(ms * 1e3, count);
                true
            }
            _ => false,
        }
    }

    /// The plan of each statement on its first table.
    fn read_plan(&mut self, line: &str) {
        if let Some(statement) = line.strip_prefix("for: ").or_else(|| line.strip_prefix("for ")) {
            self.statement = statement.trim().to_owned();
        } else if let Some(sql) = line.strip_prefix("table 1 : explain ") {
            // Each client prints them.
            let is_known = self.measured.plans.iter().any(|plan| plan.statement == self.statement);
            if self.measured.plans.len() < PLANS_MAX && !self.statement.is_empty() && !is_known {
                let statement = std::mem::take(&mut self.statement);
                let (text, json) = (String::new(), String::new());
                self.measured.plans.push(QueryPlan { statement, sql: sql.to_owned(), text, json });
            }
        } else if line.starts_with("table ") {
            self.statement = "of another table".to_owned();
        } else if let (Some(row), true) = (line.strip_prefix('\t'), self.statement.is_empty())
            && let Some(plan) = self.measured.plans.last_mut()
            && plan.text.len() + row.len() < PLAN_BYTES_MAX
        {
            if !plan.text.is_empty() {
                plan.text.push('\n');
            }
            plan.text.push_str(row.trim_end());
        }
    }
}

/// Adds a run to the document. One that breaks off is an error: its figures would cover an unknown part.
fn finish(run: Option<Run>, line: u32, document: &mut Document) -> Result<(), Broken> {
    // What only prepares, or cleans up, measures nothing.
    let Some(mut run) = run.filter(|run| run.started || !run.prepares) else { return Ok(()) };
    let missing = |what: &str| {
        Broken::at(line, format!("the run of sysbench ends without `{what}`: the file is cut off"))
    };
    let events = run.events.ok_or_else(|| missing("total number of events"))?;
    let elapsed_s = run.elapsed_s.ok_or_else(|| missing("total time"))?;
    if !run.measured.values.iter().any(|value| value.name == "latency_avg_ms") {
        return Err(missing("avg"));
    }
    if !run.is_whole {
        return Err(missing("execution time (avg/stddev)"));
    }
    let elapsed_us = (elapsed_s * 1e6).round() as u64;
    if elapsed_us == 0 {
        let why =
            format!("{events} events in a total time of 0 s are no rate: leave this file out, or correct it");
        return Err(Broken::at(run.measured.line.max(1), why));
    }
    let options = &run.options;
    let queries = run.queries.as_ref().map(|(queries, ..)| *queries);
    let (unit, operations) = match queries {
        Some(queries) => (&QUERIES, queries as f64),
        None => (&EVENTS, events as f64),
    };
    let measured = &mut run.measured;
    if let Some((_, per_second, at)) = run.queries {
        measured.line = at;
        measured.values.push(Value::number("queries_per_s", "1/s", &per_second, at));
    } else if let Some((per_second, at)) = run.events_per_s {
        measured.values.push(Value::number("events_per_s", "1/s", &per_second, at));
    }
    (measured.range, measured.script) = (options.range, options.script.clone());
    measured.clients = options.threads;
    let errors = measured.retries.get("ignored").copied().unwrap_or(0);
    if let [Some(reads), Some(writes), Some(all)] = run.statements
        && events > 0
    {
        let [reads, writes, all, failed] =
            [reads, writes, all, errors].map(|count| count as f64 / events as f64);
        measured.mix = Some(Mix { reads, writes, all, failed });
    }
    measured.work = Some(Work {
        ended_by: if options.time_s == Some(0) { EndedBy::Work } else { EndedBy::Time },
        warmup_us: options.warmup_s.map(|s| s.saturating_mul(1_000_000)),
        events: Some(events),
        queries,
        errors: measured.retries.get("ignored").copied().or(Some(0)),
        ..Work::in_time(unit, operations, elapsed_us)
    });
    for (name, value) in [("table_size", options.table_size), ("tables", options.tables)] {
        let value = value.map(|value| Value::number(name, "", &value.to_string(), 1));
        measured.values.extend(value);
    }
    measured.values.extend(options.rand_type.clone().map(|text| Value::words("rand_type", text, 1)));
    let is_told = |name: &str| measured.values.iter().any(|value| value.name == name);
    let absent = OFF_IF_ABSENT.into_iter().filter(|name| is_told(FLAGS) && !is_told(name));
    let absent: Vec<Value> = absent.map(|name| Value::words(name, "off", 1)).collect();
    measured.values.extend(absent);
    measured.metrics.extend(options.cpus.map(|cpus| ("cpus".to_owned(), f64::from(cpus))));
    for (name, unit, values) in
        [("queries", "queries", run.qps), ("events", "events", run.tps), ("latency", "ms", run.p95)]
    {
        if !values.is_empty() {
            measured.series.push(Series { name: name.to_owned(), unit: unit.to_owned(), values });
        }
    }
    measured.histograms.extend(run.buckets.histogram("event"));
    document.tool = Some(run.tool);
    document.measurements.push(run.measured);
    Ok(())
}

/// Makes a result of a full scan of one: its rate counts rows, and the published rate is that of one client by the mean
/// latency.
pub fn as_scan(measured: &mut Measurement) -> Option<Quirk> {
    let value = |name: &str| measured.values.iter().find(|value| value.name == name)?.value;
    let (rows, latency_ms) = (value("table_size")?, value("latency_avg_ms")?);
    let published = rows / 1000.0 / (latency_ms / 1000.0);
    let work = measured.work.as_mut()?;
    work.rows = work.queries.map(|queries| queries.saturating_mul(rows as u64));
    work.operations = work.queries? as f64 * rows / 1000.0;
    work.unit = THOUSAND_ROWS.clone();
    let rate = measured.values.iter_mut().find(|value| value.name == "queries_per_s")?;
    (rate.unit, rate.value) = ("1000 rows/s".into(), Some(work.per_second()));
    rate.published = Some(crate::printf::fixed(published, 0));
    Some(Quirk::ScanOfOneClient)
}
