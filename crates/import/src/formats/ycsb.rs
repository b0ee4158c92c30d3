//! YCSB and go-ycsb: the totals at the end.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, OPERATIONS, Value, Work, number};

/// Half a unit of the last digit of the time that go-ycsb prints, in seconds.
const TAKES_HALF_S: f64 = 0.05;
/// How far the throughput may be from operations over run time: operations that failed are counted differently.
const THROUGHPUT_ERROR_MAX: f64 = 0.2;
/// What sets a rate.
const SCHEDULE: &str = "YCSB's option -target";
/// The end of the name of operations that failed.
const FAILED: &str = "-FAILED";
/// What go-ycsb prints before its last figures.
const GO_ENDED: &str = "Run finished, takes ";
/// Operations that a file may name.
const KINDS_MAX: usize = 100;

/// A run of one of the two.
#[derive(Default)]
struct Run {
    measured: Measurement,
    run_ms: Option<f64>,
    throughput: Option<(f64, u32)>,
    operations: f64,
    /// Operations that failed: counted apart, and by what they returned.
    failed: f64,
    refused: f64,
    /// Of go-ycsb, which repeats all lines every few seconds: the last of each operation.
    taken: BTreeMap<String, Taken>,
    /// The line that says that it ended, or 0. All lines come once more after it.
    ended_at: u32,
}

struct Taken {
    seconds: f64,
    count: f64,
    rate: f64,
    average_us: Option<f64>,
    p99_us: Option<f64>,
    line: u32,
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut run = Run::default();
    while let Some((at, line, has_end)) = lines.next_with_end()? {
        if !has_end && !is_whole(line) {
            return Err(Broken::cut_off(at));
        }
        if let Some((kind, rest)) = line.split_once(" - Takes(s): ") {
            if run.taken.len() >= KINDS_MAX {
                return Err(Broken::at(at, "more than 100 kinds of operations"));
            }
            let taken = taken(rest, at)
                .ok_or_else(|| Broken::at(at, format!("no time, count and OPS in {rest:?}")))?;
            run.taken.insert(kind.trim().to_owned(), taken);
        } else if line.starts_with(GO_ENDED) {
            run.ended_at = at;
        } else if line.starts_with('[') {
            run.read(line, at)?;
        } else {
            run.read_command(line, at);
        }
    }
    let last = lines.number().max(1);
    run.finish(last)
}

/// Whether a line without its end has all figures that count: those of go-ycsb that come after them may be cut.
fn is_whole(line: &str) -> bool {
    let is_after = || {
        let last = line.rsplit(", ").next().unwrap_or_default();
        let is_figure = ["Count", "OPS", "Avg(us)", "99th(us)"].iter().any(|key| last.starts_with(key));
        line.contains(", 99th(us): ") && !is_figure
    };
    match line.contains(" - Takes(s): ") {
        true => is_after(),
        false => line.trim().is_empty() || line.contains(", Return="),
    }
}

/// `10.0, Count: 93210, OPS: 9321.2, Avg(us): 105, …, 99th(us): 310, …`
fn taken(rest: &str, line: u32) -> Option<Taken> {
    let (seconds, rest) = rest.split_once(',')?;
    let figures: BTreeMap<&str, f64> = rest
        .split(',')
        .filter_map(|part| part.split_once(':'))
        .filter_map(|(key, value)| Some((key.trim(), number(value)?)))
        .collect();
    Some(Taken {
        seconds: number(seconds)?,
        count: *figures.get("Count")?,
        rate: *figures.get("OPS")?,
        average_us: figures.get("Avg(us)").copied(),
        p99_us: figures.get("99th(us)").copied(),
        line,
    })
}

/// # Errors
/// If the rate that go-ycsb prints is neither of those that its count and its rounded time allow, nor between them.
fn expect_rate(
    rate: f64,
    (count, seconds): (f64, f64),
    [low, high]: [f64; 2],
    line: u32,
) -> Result<(), Broken> {
    let is_high = high > 0.0 && rate > high * (1.0 + THROUGHPUT_ERROR_MAX);
    match rate < low * (1.0 - THROUGHPUT_ERROR_MAX) || is_high {
        false => Ok(()),
        true => Err(Broken::at(
            line,
            format!(
                "OPS: {rate}, but {count} operations in {seconds} s are {:.0} per second",
                count / seconds
            ),
        )),
    }
}

/// What follows one of the words, up to a space or a quote.
fn after<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let (_, rest) = words.iter().find_map(|word| line.split_once(word))?;
    rest.split([' ', '"']).next().filter(|value| !value.is_empty())
}

impl Run {
    /// The command line, or properties: `"threadcount"="8"`.
    fn read_command(&mut self, line: &str, at: u32) {
        let threads = after(line, &["-threads ", "-p threadcount=", "\"threadcount\"=\""]);
        self.measured.clients = threads.and_then(|threads| threads.parse().ok()).or(self.measured.clients);
        let target = after(line, &["-target ", "-p target=", "\"target\"=\""]).and_then(number);
        self.measured.schedule =
            target.filter(|rate| *rate > 0.0).map(|_| SCHEDULE).or(self.measured.schedule);
        let workload = after(line, &["-P "]).map(|path| path.rsplit('/').next().unwrap_or(path));
        let records = after(line, &["-p recordcount=", "\"recordcount\"=\""]);
        for (name, value) in [("workload", workload), ("records", records)] {
            let is_known = self.measured.values.iter().any(|known| known.name == name);
            self.measured
                .values
                .extend(value.filter(|_| !is_known).map(|value| Value::words(name, value, at)));
        }
    }

    /// `[READ], 99thPercentileLatency(us), 310`
    fn read(&mut self, line: &str, at: u32) -> Result<(), Broken> {
        let parts: Vec<&str> = line.split(',').map(str::trim).collect();
        let [kind, what, value, ..] = parts[..] else { return Ok(()) };
        let kind = kind.trim_matches(['[', ']']);
        // The twin of each operation from its intended time, and series of latencies.
        if kind.starts_with("Intended-") {
            return Ok(());
        }
        let figure =
            || number(value).ok_or_else(|| Broken::at(at, format!("{what}: {value:?} is not a number")));
        match (kind, what) {
            ("OVERALL", "Throughput(ops/sec)") => self.throughput = Some((figure()?, at)),
            ("OVERALL", what) if what.starts_with("RunTime(ms)") => self.run_ms = Some(figure()?),
            ("OVERALL" | "CLEANUP", _) => {}
            (kind, "Operations") if kind.ends_with(FAILED) => self.failed += figure()?,
            (kind, "Operations") if !kind.starts_with("TOTAL") => self.operations += figure()?,
            (_, outcome) if outcome.starts_with("Return=") && outcome != "Return=OK" => {
                self.refused += figure()?;
            }
            (kind, what) => {
                let name = match what.split('(').next().unwrap_or_default() {
                    "AverageLatency" => "avg",
                    "95thPercentileLatency" => "p95",
                    "99thPercentileLatency" => "p99",
                    "MaxLatency" => "max",
                    _ => return Ok(()),
                };
                // Old versions round to milliseconds.
                let unit = if what.contains("(ms)") { "ms" } else { "us" };
                figure()?;
                let name = format!("{}_latency_{name}_{unit}", kind.to_lowercase());
                self.measured.values.push(Value::number(name, unit, value, at));
            }
        }
        Ok(())
    }

    fn finish(mut self, last: u32) -> Result<Document, Broken> {
        let is_go = !self.taken.is_empty();
        let work = match (self.throughput, self.run_ms) {
            (Some((rate, at)), Some(ms)) if ms > 0.0 && self.operations > 0.0 => {
                // Its throughput counts operations that failed.
                let of_time = (self.operations + self.failed) / ms * 1e3;
                if (rate / of_time - 1.0).abs() > THROUGHPUT_ERROR_MAX {
                    let operations = self.operations + self.failed;
                    return Err(Broken::at(
                        at,
                        format!(
                            "a throughput of {rate}, but {operations} operations in {ms} ms are {of_time:.0} per second"
                        ),
                    ));
                }
                self.measured.line = at;
                // Releases that do not count them apart have them among the others.
                let done = if self.failed > 0.0 { self.operations } else { self.operations - self.refused };
                let errors = Some(self.failed.max(self.refused) as u64);
                Work { errors, ..Work::in_time(&OPERATIONS, done.max(0.0), (ms * 1e3) as u64) }
            }
            (Some((rate, at)), _) => {
                self.measured.line = at;
                Work::rate(&OPERATIONS, rate)
            }
            _ if is_go && self.ended_at == 0 => {
                let why =
                    format!("no `{}` before the last figures: the run did not end", GO_ENDED.trim_end());
                return Err(Broken::at(last, why));
            }
            _ if is_go => self.of_go(last)?,
            _ => return Err(Broken::at(last, "no [OVERALL] throughput: the run did not end")),
        };
        self.measured.work = Some(work);
        let tool = if is_go { "go-ycsb" } else { "YCSB" };
        Ok(Document { tool: Some(tool.to_owned()), measurements: vec![self.measured], ..Document::default() })
    }

    /// All operations, or their total where there is one.
    fn of_go(&mut self, last: u32) -> Result<Work, Broken> {
        if let Some((kind, _)) = self.taken.iter().find(|(_, one)| one.line < self.ended_at) {
            let why = format!("no figures of {kind} after the end of the run: the file is cut off");
            return Err(Broken::at(last, why));
        }
        let is_total = |kind: &str| kind == "TOTAL";
        let total = self.taken.get("TOTAL");
        let is_error = |kind: &str| kind.ends_with("_ERROR");
        let kinds = self.taken.iter().filter(|(kind, _)| !is_total(kind) && !is_error(kind));
        let of_errors = self.taken.iter().filter(|(kind, _)| is_error(kind));
        let errors = Some(of_errors.map(|(_, one)| one.count).sum::<f64>() as u64);
        let (mut rate, mut count, mut seconds) = (0.0, 0.0, 0f64);
        for (_, one) in kinds.clone() {
            (rate, count, seconds) = (rate + one.rate, count + one.count, seconds.max(one.seconds));
        }
        if let Some(total) = total {
            (rate, count, seconds) = (total.rate, total.count, total.seconds);
        }
        for (kind, one) in kinds {
            self.measured.line = one.line;
            for (name, us) in [("avg", one.average_us), ("p99", one.p99_us)] {
                let name = format!("{}_latency_{name}_us", kind.to_lowercase());
                self.measured.values.extend(us.map(|us| Value::computed(name, "us", us, one.line)));
            }
        }
        let elapsed_us = (seconds * 1e6) as u64;
        let of_time = [seconds + TAKES_HALF_S, seconds - TAKES_HALF_S].map(|seconds| count / seconds);
        if total.is_some() && elapsed_us > 0 {
            expect_rate(rate, (count, seconds), of_time, self.measured.line.max(1))?;
        }
        match elapsed_us {
            0 => {
                Err(Broken::at(self.measured.line.max(1), format!("{rate} operations per second in no time")))
            }
            // The time has one decimal, so that the count over it is no rate.
            us => Ok(Work {
                errors,
                events: Some(count as u64),
                ..Work::in_time(&OPERATIONS, rate * seconds, us)
            }),
        }
    }
}
