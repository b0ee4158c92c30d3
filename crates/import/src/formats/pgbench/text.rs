//! What pgbench prints when it ends, and the progress that `-P` prints before: both in one file, or progress alone.

use std::io::Read;

use rqps_model::{EndedBy, Series};

use super::headings::Headings;
use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, TRANSACTIONS, Value, Work, number};
use crate::settings::{CONNECTIONS, KEPT, NONE, PARTITION_METHOD, PARTITIONS};

/// The value with the number of pgbench's threads.
pub const THREADS: &str = "threads";
/// How long it was to run, and the rate that includes the time to connect.
pub const DURATION: &str = "duration_s";
pub const CONNECTION_MS: &str = "connection_ms";
pub const RATE_WITH_CONNECTIONS: &str = "transactions_with_connections_per_s";
/// What transactions waited for their turn, and what made them wait.
const SCHEDULE_LAG: &str = "schedule_lag_avg_ms";
pub const SCHEDULE: &str = "pgbench's option -R";
/// How the first line of a run begins, since 14.
const BANNER: &str = "pgbench (";
/// Progress after more seconds than a run takes has those since 1970 (`--progress-timestamp`).
const EPOCH_S_MIN: f64 = 1e6;
/// Statements kept per script.
const STATEMENTS_MAX: usize = 1000;
/// What a script's printed percentage may be off.
const TARGET_ROUNDED: f64 = 0.051;

/// Values that tell tests apart.
const SETTINGS: [&str; 4] = ["scale", "mode", PARTITIONS, DURATION];

/// One run of pgbench.
#[derive(Default)]
pub struct Run {
    has_banner: bool,
    client: Option<String>,
    server: Option<String>,
    measured: Measurement,
    script: Option<String>,
    duration_s: Option<f64>,
    transactions: Option<u64>,
    failed: Option<u64>,
    /// Also as printed, and its line.
    tps: Option<(f64, String, u32)>,
    progress: Vec<Progress>,
    /// Number of the script whose figures follow; 0: of all together.
    in_script: u32,
    scripts: Vec<Script>,
    statements: usize,
}

/// One of several scripts.
struct Script {
    name: String,
    weight: String,
    /// Its share of all transactions, in percent.
    target: f64,
}

struct Progress {
    at_s: f64,
    tps: f64,
    latency_ms: Option<f64>,
}

impl Run {
    /// Runs that may be repeats of one another have the same.
    pub fn settings(&self) -> Vec<String> {
        let told = self.measured.values.iter().filter(|value| SETTINGS.contains(&value.name.as_ref()));
        let told = told.filter_map(|value| value.published.clone());
        let clients = self.measured.clients.map(|clients| clients.to_string());
        self.script.iter().cloned().chain(clients).chain(told).collect()
    }

    fn has_figures(&self) -> bool {
        self.tps.is_some() || !self.progress.is_empty()
    }
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut document = Document::default();
    let mut run = Run::default();
    let mut headings = Headings::default();
    while let Some((at, line, has_end)) = lines.next_with_end()? {
        if !has_end && (line.starts_with("progress: ") || !is_whole(line)) {
            return Err(Broken::cut_off(at));
        }
        // The banner of another run after the progress of one that has not ended; `--version` prints one before.
        let is_next = line.starts_with(BANNER) && run.has_banner && !run.progress.is_empty();
        if is_start(line) && run.tps.is_some() || is_next {
            headings.end(&run);
            finish(std::mem::take(&mut run), at, &mut document)?;
        }
        match is_start(line) {
            true => headings.begin(),
            false if run.script.is_none() || run.tps.is_some() => headings.read(line, at),
            false => {}
        }
        run.read(line, at)?;
    }
    headings.end(&run);
    headings.expect_one_build()?;
    if run.has_figures() || run.script.is_some() || run.client.is_some() || document.measurements.is_empty() {
        finish(run, lines.number().max(1), &mut document)?;
    }
    Ok(document)
}

/// What pgbench says of a run that failed; until 12 without its name.
pub fn error_of(line: &str) -> Option<&str> {
    let starts = ["pgbench: fatal: ", "pgbench: error: "];
    let is_aborted = line.starts_with("Run was aborted");
    starts.iter().find_map(|start| line.strip_prefix(start)).or(is_aborted.then_some(line))
}

/// Whether a line has all of its last figure, which a word, a parenthesis or a statement follows.
fn is_whole(line: &str) -> bool {
    let is_statement = || line.starts_with("  ") && line.contains(char::is_alphabetic);
    let has_figure = || line.contains(" = ") || line.contains(": ") && !line.starts_with("SQL script ");
    let ends = || line.ends_with(|c: char| c.is_alphabetic() || ");".contains(c));
    line.is_empty() || has_figure() && ends() || is_statement()
}

/// The first line of a run: a banner since 14, else the start of the vacuum, progress, or the first figure.
fn is_start(line: &str) -> bool {
    [BANNER, "starting vacuum", "transaction type: ", "progress: "]
        .iter()
        .any(|start| line.starts_with(start))
}

impl Run {
    fn read(&mut self, line: &str, at: u32) -> Result<(), Broken> {
        if let Some(banner) = line.strip_prefix(BANNER) {
            self.read_banner(banner);
            return Ok(());
        }
        if let Some(progress) = line.strip_prefix("progress: ") {
            return self.read_progress(progress, at);
        }
        if let Some(error) = error_of(line) {
            let why = format!(
                "pgbench failed: {error}: its results are incomplete and count for nothing; leave out all files of this run"
            );
            return Err(Broken::at(at, why));
        }
        if let Some(script) = line.strip_prefix("SQL script ") {
            let (number, name) = script.split_once(": ").unwrap_or((script, ""));
            self.in_script = number.trim().parse().ok().unwrap_or(self.in_script + 1);
            self.scripts.push(Script { name: script_name(name), weight: String::new(), target: 0.0 });
            return Ok(());
        }
        if self.in_script > 0 {
            self.read_script(line, at);
            return Ok(());
        }
        let (key, rest) = match (line.split_once(" = "), line.split_once(": ")) {
            (Some(pair), None) | (_, Some(pair)) if !pair.0.is_empty() => pair,
            _ => {
                self.read_statement(line, at);
                return Ok(());
            }
        };
        let first = rest.split_whitespace().next().unwrap_or_default();
        let whole =
            || first.parse::<u64>().map_err(|_| Broken::at(at, format!("{key}: no number in {rest:?}")));
        match key.trim() {
            "transaction type" => self.script = Some(rest.trim().to_owned()),
            "scaling factor" => self.words("scale", first, at),
            "query mode" => self.words("mode", first, at),
            "partition method" => self.words(PARTITION_METHOD, first, at),
            "partitions" => self.words(PARTITIONS, first, at),
            "maximum number of tries" => self.words("tries_max", first, at),
            "number of clients" => self.measured.clients = u32::try_from(whole()?).ok(),
            "number of threads" => self.value(THREADS, "", first, at),
            "duration" => {
                self.duration_s = number(first);
                self.value(DURATION, "s", first, at);
            }
            // `N`, or `N/M` of M transactions to be done.
            "number of transactions actually processed" => {
                let done = first.split('/').next().unwrap_or_default();
                let done = done.parse().map_err(|_| Broken::at(at, format!("no number in {rest:?}")))?;
                self.transactions = Some(done);
            }
            "number of failed transactions" => self.failed = Some(whole()?),
            "total number of retries" => {
                let retries = whole()?;
                self.measured.retries.extend((retries > 0).then(|| ("retries".to_owned(), retries)));
            }
            // `avg 0.609 (max 8.973) ms`
            "rate limit schedule lag" => {
                let lag = rest.split_whitespace().nth(1).unwrap_or_default();
                self.value(SCHEDULE_LAG, "ms", lag, at);
                self.measured.schedule = Some(SCHEDULE);
            }
            "latency average" => self.value("latency_avg_ms", "ms", first, at),
            "latency stddev" => self.value("latency_sd_ms", "ms", first, at),
            "initial connection time" => {
                self.words(CONNECTIONS, KEPT, at);
                self.value(CONNECTION_MS, "ms", first, at);
            }
            // Of the option -C.
            "average connection time" => {
                self.words(CONNECTIONS, "per-transaction", at);
                self.value("connection_avg_ms", "ms", first, at);
            }
            "tps" => self.read_tps(rest, at)?,
            _ => self.read_statement(line, at),
        }
        Ok(())
    }

    fn value(&mut self, name: &'static str, unit: &'static str, text: &str, at: u32) {
        self.measured.values.push(Value::number(name, unit, text, at));
    }

    fn words(&mut self, name: &'static str, text: &str, at: u32) {
        self.measured.values.push(Value::words(name, text, at));
    }

    /// `15.18 (Debian 15.18-0+deb12u1))`, or `15.18, server 12.20)`.
    fn read_banner(&mut self, banner: &str) {
        let version = banner.strip_prefix("PostgreSQL) ");
        self.has_banner |= version.is_none();
        let banner = version.unwrap_or(banner);
        let version = |text: &str| {
            let end = text.find([' ', ',', ')']).unwrap_or(text.len());
            text[..end].to_owned()
        };
        self.client = Some(version(banner));
        let server = banner.split_once("server ").map_or(banner, |(_, server)| server);
        self.server = Some(version(server));
    }

    /// The rate without the time to connect; until 13 the one with it comes before.
    fn read_tps(&mut self, rest: &str, at: u32) -> Result<(), Broken> {
        let (rate, what) = rest.split_once(' ').unwrap_or((rest, ""));
        let per_second = number(rate).ok_or_else(|| Broken::at(at, format!("tps: no number in {rest:?}")))?;
        if !(what.starts_with('(') && what.trim_end().ends_with(')')) {
            return Err(Broken::cut_off(at));
        }
        if what.contains("including connections establishing") {
            self.value(RATE_WITH_CONNECTIONS, "1/s", rate, at);
            return Ok(());
        }
        self.tps = Some((per_second, rate.to_owned(), at));
        Ok(())
    }

    /// `1.0 s, 408.6 tps, lat 4.756 ms stddev 3.841, 0 failed`
    fn read_progress(&mut self, text: &str, at: u32) -> Result<(), Broken> {
        let mut parts = text.split(", ");
        let mut first =
            |unit: &str| parts.next().and_then(|part| number(part.trim().strip_suffix(unit)?.trim()));
        // The last line of a file that is still written may be cut off.
        let (Some(at_s), Some(tps)) = (first("s"), first("tps")) else {
            return Err(Broken::at(at, format!("progress without time and tps: {text:?}")));
        };
        let latency = parts.find_map(|part| part.strip_prefix("lat "));
        let Some((latency, _)) = latency.and_then(|text| text.split_once(' ')) else {
            return Err(Broken::cut_off(at));
        };
        if parts.any(|part| part.starts_with("lag ")) {
            self.measured.schedule = Some(SCHEDULE);
        }
        self.progress.push(Progress { at_s, tps, latency_ms: number(latency) });
        Ok(())
    }

    fn read_script(&mut self, line: &str, at: u32) {
        let Some(figure) = line.strip_prefix(" - ") else { return self.read_statement(line, at) };
        let script = self.in_script;
        if let Some((_, tps)) = figure.split_once("tps = ") {
            let tps = tps.trim_end_matches(')');
            self.measured.values.push(Value::number(format!("script_{script}_tps"), "1/s", tps, at));
        } else if let Some(latency) = figure.strip_prefix("latency average = ") {
            let ms = latency.split_whitespace().next().unwrap_or_default();
            self.measured.values.push(Value::number(format!("script_{script}_latency_avg_ms"), "ms", ms, at));
        } else if let (Some(weight), Some(last)) = (figure.strip_prefix("weight: "), self.scripts.last_mut())
        {
            // `3 (targets 75.0% of total)`
            let (weight, rest) = weight.split_once(" (targets ").unwrap_or((weight, ""));
            last.weight = weight.to_owned();
            last.target = rest.split('%').next().and_then(number).unwrap_or(0.0);
        }
    }

    /// A row of statement latencies: `0.856  0  BEGIN;`, the statement last.
    fn read_statement(&mut self, line: &str, at: u32) {
        if !line.starts_with("  ") || self.statements >= STATEMENTS_MAX {
            return;
        }
        let mut words = line.trim_start().splitn(2, char::is_whitespace);
        let (Some(ms), Some(rest)) = (words.next(), words.next()) else { return };
        if number(ms).is_none() {
            return;
        }
        let statement = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        self.statements += 1;
        self.measured.values.push(Value::number(format!("statement_ms: {statement}"), "ms", ms, at));
    }
}

/// The name of what was run, in the words of pgbench's option `-b`, or the file's.
fn script_name(text: &str) -> String {
    match text.trim_start_matches('<').trim_end_matches('>') {
        "builtin: TPC-B (sort of)" | "TPC-B (sort of)" => "tpcb-like".to_owned(),
        "builtin: simple update" | "Update only pgbench_accounts" => "simple-update".to_owned(),
        "builtin: select only" | "SELECT only" => "select-only".to_owned(),
        other => other.rsplit('/').next().unwrap_or(other).trim_end_matches(".sql").to_owned(),
    }
}

/// The name of what was run: of several scripts all their names, with weights that differ as options `-b` and `-f` take
/// them: `select-only@3+simple-update@1`.
///
/// # Errors
/// If not all of several scripts are told.
fn test_name(script: &str, scripts: &[Script], line: u32) -> Result<String, Broken> {
    if script != "multiple scripts" {
        return Ok(script_name(script));
    }
    let told: f64 = scripts.iter().map(|one| one.target + TARGET_ROUNDED).sum();
    if told < 100.0 {
        return Err(Broken::at(line, "pgbench's output ends before all of its scripts: the file is cut off"));
    }
    let is_even = scripts.iter().all(|one| one.weight == scripts[0].weight);
    let name = |one: &Script| match is_even {
        true => one.name.clone(),
        false => format!("{}@{}", one.name, one.weight),
    };
    Ok(scripts.iter().map(name).collect::<Vec<_>>().join("+"))
}

/// What versions that print partitions do not, there being none. They look for them for their own scripts only.
fn without_partitions(run: &Run) -> Vec<Value> {
    let is_told = run.measured.values.iter().any(|value| value.name == PARTITIONS);
    let is_builtin = run.script.as_deref().is_some_and(|script| script.starts_with("<builtin: "));
    // The banner is younger than partitions.
    let are_none = run.client.is_some() && is_builtin && !is_told;
    let names = if are_none { &[PARTITION_METHOD, PARTITIONS][..] } else { &[] };
    names.iter().map(|name| Value::words(*name, NONE, 1)).collect()
}

fn finish(run: Run, line: u32, document: &mut Document) -> Result<(), Broken> {
    let began_s = run.progress.first().map(|first| first.at_s - 1.0).filter(|began| *began > EPOCH_S_MIN);
    document.measured_at_ms = document.measured_at_ms.or(began_s.map(|began| (began * 1e3) as i64));
    let none = without_partitions(&run);
    let mut measured = run.measured;
    measured.values.extend(none);
    let latencies: Vec<f64> = run.progress.iter().map(|one| one.latency_ms.unwrap_or(f64::NAN)).collect();
    let rates: Vec<f64> = run.progress.iter().map(|one| one.tps).collect();
    let is_cut_off = || Broken::at(line, "pgbench's output ends without `tps = `: the file is cut off");
    let (work, at) = match (run.tps, run.transactions) {
        (Some((tps, printed, at)), Some(transactions)) if tps > 0.0 => {
            measured.values.push(Value::number("transactions_per_s", "1/s", &printed, at));
            // The rate leaves out the time to connect; so does the time.
            let elapsed_us = (transactions as f64 / tps * 1e6).round() as u64;
            let ended_by = if run.duration_s.is_some() { EndedBy::Time } else { EndedBy::Work };
            let work = Work::in_time(&TRANSACTIONS, transactions as f64, elapsed_us.max(1));
            (Work { events: Some(transactions), errors: run.failed, ended_by, ..work }, at)
        }
        (Some((_, _, at)), Some(_)) => {
            return Err(Broken::at(at, "its rate is 0: leave out what did not run"));
        }
        // Progress in a file of its own: all that is known of a run. The banner is on the standard output, as are the
        // figures of a run that has ended.
        (None, None) if run.script.is_none() && run.client.is_none() => {
            let last = run.progress.last().ok_or_else(is_cut_off)?;
            let mut before = began_s.unwrap_or(0.0);
            let (start, mut transactions) = (before, 0.0);
            for one in &run.progress {
                transactions += one.tps * (one.at_s - before).max(0.0);
                before = one.at_s;
            }
            let elapsed_us = ((last.at_s - start) * 1e6).round() as u64;
            (Work::in_time(&TRANSACTIONS, transactions.round(), elapsed_us.max(1)), line)
        }
        _ => return Err(is_cut_off()),
    };
    measured.work = Some(work);
    measured.line = at;
    measured.test = run.script.as_deref().map(|script| test_name(script, &run.scripts, line)).transpose()?;
    measured.script = run.script.filter(|script| script.ends_with(".sql"));
    measured.dbms = Some("postgres".to_owned());
    measured.version = run.server;
    if !rates.is_empty() {
        let series =
            |name: &str, unit: &str, values| Series { name: name.to_owned(), unit: unit.to_owned(), values };
        measured.series.push(series("transactions", "transactions", rates));
        if latencies.iter().any(|ms| !ms.is_nan()) {
            measured.series.push(series("latency", "ms", latencies));
        }
    }
    let tool = run.client.map_or_else(|| "pgbench".to_owned(), |version| format!("pgbench {version}"));
    document.tool.get_or_insert(tool);
    document.measurements.push(measured);
    Ok(())
}
