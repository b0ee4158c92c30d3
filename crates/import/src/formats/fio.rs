//! fio's text, one job after the other or several tests in a file, and its JSON, alone or before the text.

use std::io::Read;

use rqps_model::EndedBy;
use serde_json::Value as Json;

use crate::dates;
use crate::error::Broken;
use crate::formats::fio_figures::{Figures, Latencies};
use crate::lines::{Lines, whole};
use crate::model::{Document, Measurement, Quirk, REQUESTS, Value, Work, number};
use crate::printf::fixed;

/// Tests of a file.
const TESTS_MAX: usize = 10_000;

/// One start of fio with its jobs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FioTest {
    /// `fsync=1_16K` where the line before says `O_DIRECT with fsync=1 for block size 16K`, else the job's name.
    pub name: String,
    pub has_label: bool,
    pub jobs: Vec<Job>,
    /// Of all its writes, if they have one size.
    pub write_bytes: Option<f64>,
    pub line: u32,
    /// Whether it ended with the summary of its jobs, which fio prints when all of them are done.
    pub has_summary: bool,
    /// When its first job ended.
    pub ended_at_ms: Option<i64>,
    /// How it reads and writes, of its definition.
    pub settings: Vec<(&'static str, String)>,
}

/// Figures of a job, as printed and exact.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// `43.4k` is 43400.
    pub iops_printed: f64,
    /// As printed, with its unit: 678, `MiB`.
    pub bandwidth: (f64, String),
    /// All requests, without syncs.
    pub total: u64,
    pub msec: u64,
    /// As printed, with a space if it was padded, and microseconds.
    pub sync_avg: Option<(String, f64)>,
    pub latency_avg_us: Option<f64>,
    pub writes: u64,
    pub syncs: u64,
    pub write_latencies: Latencies,
    pub sync_latencies: Latencies,
    /// The latencies that a list of percentiles is of, and microseconds in its unit.
    list: Option<(bool, f64)>,
}

impl Job {
    /// Where fio does not count them there is one after each write.
    fn syncs(&self) -> u64 {
        match self.sync_avg {
            Some(_) if self.syncs == 0 => self.writes,
            Some(_) => self.syncs,
            None => 0,
        }
    }

    fn exact_iops(&self) -> f64 {
        if self.msec > 0 { self.total as f64 / (self.msec as f64 / 1e3) } else { self.iops_printed }
    }
}

impl FioTest {
    /// Sum of rates as printed.
    pub fn printed_iops(&self) -> f64 {
        self.jobs.iter().map(|job| job.iops_printed).sum()
    }

    /// MiB per second of all jobs, if a thousand of a unit are `thousand` of the one below it.
    pub fn mib_per_s(&self, thousand: f64) -> f64 {
        let factor = |unit: &str| match unit {
            "KiB" => thousand,
            "MiB" => thousand.powi(2),
            "GiB" => thousand.powi(3),
            _ => 1.0,
        };
        let bytes = |job: &Job| job.bandwidth.0 * factor(&job.bandwidth.1);
        self.jobs.iter().map(bytes).sum::<f64>() / 1_048_576.0
    }

    /// The latency of syncs as it is published, microseconds. The script reads words: a padded number is one of its
    /// own, which it takes for 0. Of a file's last test it prints the sum over jobs.
    pub fn published_sync_us(&self, is_last: bool) -> f64 {
        let read_as = |text: &str, us: f64| if is_padded(text) || number(text).is_none() { 0.0 } else { us };
        let syncs = self.jobs.iter().filter_map(|job| job.sync_avg.as_ref());
        let sum = syncs.fold(0.0, |sum, (text, us)| sum + read_as(text, *us));
        if is_last { sum } else { sum / self.jobs.len().max(1) as f64 }
    }

    pub fn has_padded_sync(&self) -> bool {
        self.jobs.iter().filter_map(|job| job.sync_avg.as_ref()).any(|(text, _)| is_padded(text))
    }

    pub fn jobs_with_sync(&self) -> usize {
        self.jobs.iter().filter(|job| job.sync_avg.is_some()).count()
    }

    /// Sum of exact rates.
    pub fn exact_iops(&self) -> f64 {
        self.jobs.iter().map(Job::exact_iops).sum()
    }

    /// Mean over jobs, microseconds; 0 without syncs.
    pub fn sync_us(&self) -> f64 {
        let all = self.jobs.iter().filter_map(|job| job.sync_avg.as_ref().map(|(_, us)| us));
        let count = self.jobs_with_sync().max(1) as f64;
        all.fold(0.0, |sum, us| sum + us) / count
    }
}

fn is_padded(text: &str) -> bool {
    text.starts_with(' ')
}

pub fn parse_tests(input: impl Read) -> Result<(Option<String>, Vec<FioTest>), Broken> {
    let mut lines = Lines::new(input);
    let (mut tests, mut tool): (Vec<FioTest>, Option<String>) = (Vec::new(), None);
    let mut label: Option<(String, u32)> = None;
    let mut in_job = false;
    while let Some((at, line)) = lines.next_whole()? {
        expect_no_signal(line, at)?;
        if let Some(rest) = line.strip_prefix("O_DIRECT with ") {
            label =
                rest.split_once(" for block size ").map(|(how, size)| (format!("{how}_{}", size.trim()), at));
        } else if line.contains(": (g=0): rw=") {
            in_job = false;
            if tests.len() >= TESTS_MAX {
                return Err(Broken::at(at, "more than 10,000 tests"));
            }
            let name = line.split(':').next().unwrap_or_default().to_owned();
            let has_label = label.is_some();
            let (name, at) = label.take().unwrap_or((name, at));
            let of_writes =
                line.split_once("(W) ").and_then(|(_, rest)| rest.split(',').next()?.split_once('-'));
            let write_bytes =
                of_writes.filter(|(least, most)| least == most).and_then(|(least, _)| size(least));
            let settings = settings(line);
            tests.push(FioTest { name, has_label, write_bytes, line: at, settings, ..FioTest::default() });
        } else if line.starts_with("fio-") {
            tool = tool.or_else(|| Some(line.trim().replacen('-', " ", 1)));
        } else if line.contains(": (groupid=") {
            let test = tests.last_mut().ok_or_else(|| Broken::at(at, "a job before its definition"))?;
            // `sync: (groupid=0, jobs=1): err= 0: pid=4711: Thu Nov 26 10:02:11 2026`
            let date = line.split_once(": pid=").and_then(|(_, rest)| rest.split_once(": "));
            test.ended_at_ms = test.ended_at_ms.or_else(|| dates::of_date_command(date?.1));
            test.jobs.push(Job::default());
            in_job = true;
        } else if line.starts_with("Run status group") {
            in_job = false;
            tests.last_mut().into_iter().for_each(|test| test.has_summary = true);
        } else if let (true, Some(job)) = (in_job, tests.last_mut().and_then(|test| test.jobs.last_mut())) {
            job.read(line, at)?;
        }
    }
    let is_cut =
        |test: &FioTest| test.jobs.is_empty() || test.jobs.iter().any(|job| job.msec == 0 || job.total == 0);
    if let Some(cut) = tests.iter().find(|test| is_cut(test)) {
        return Err(Broken::at(cut.line, format!("test {} has no result: the file is cut off", cut.name)));
    }
    if let Some(cut) = tests.iter().find(|test| !test.has_summary) {
        let why = format!(
            "test {} has no `Run status group`, with which fio's text ends: the file is cut off; import the whole file, or \
             delete what is left of that test",
            cut.name
        );
        return Err(Broken::at(cut.line, why));
    }
    if tests.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no test of fio in it"));
    }
    Ok((tool, tests))
}

/// # Errors
/// If fio was stopped: what it did until then is no result of the time that was asked for.
fn expect_no_signal(line: &str, at: u32) -> Result<(), Broken> {
    match line.split_once("fio: terminating on signal ") {
        Some((_, signal)) => {
            let why =
                format!("fio was stopped by signal {}: leave this run out, or repeat it", signal.trim());
            Err(Broken::at(at, why))
        }
        None => Ok(()),
    }
}

/// `sync: (g=0): rw=randwrite, bs=(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16.0KiB, ioengine=psync, iodepth=1`
fn settings(line: &str) -> Vec<(&'static str, String)> {
    let after = |key: &str| line.split_once(key).map(|(_, rest)| rest);
    let word = |key: &str| after(key).and_then(|rest| rest.split([',', ' ']).next()).map(str::to_owned);
    let sizes = after(" bs=").and_then(|rest| rest.split(", ioengine").next()).map(block_size);
    [("rw", word(" rw=")), ("bs", sizes), ("ioengine", word(" ioengine=")), ("iodepth", word(" iodepth="))]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The bytes of `16k`, or of `(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16.0KiB` if all are the same; else the text.
fn block_size(text: &str) -> String {
    let words = text.split([' ', ',', '-']).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let sizes: Vec<Option<u64>> = words.map(|word| Some(size(word)? as u64)).collect();
    match sizes.first() {
        Some(Some(first)) if sizes.iter().all(|size| *size == Some(*first)) => first.to_string(),
        _ => text.trim().to_owned(),
    }
}

impl Job {
    fn read(&mut self, line: &str, at: u32) -> Result<(), Broken> {
        let trimmed = line.trim_start();
        let bad = |what: &str| Broken::at(at, format!("no {what} in {trimmed:?}"));
        if let Some(rest) = trimmed.split_once(": IOPS=").map(|(_, rest)| rest) {
            let iops = rest.split(',').next().and_then(scaled).ok_or_else(|| bad("IOPS"))?;
            let bandwidth = rest.split_once("BW=").and_then(|(_, rest)| bandwidth(rest.split(' ').next()?));
            let time = rest.rsplit_once('/').and_then(|(_, rest)| rest.split_once("msec)"));
            let msec = time.and_then(|(msec, _)| msec.parse::<u64>().ok()).ok_or_else(|| bad("duration"))?;
            // Reads and writes of a job happen in the same time.
            self.iops_printed += iops;
            self.msec = self.msec.max(msec);
            let (value, unit) = bandwidth.ok_or_else(|| bad("bandwidth"))?;
            self.bandwidth = (self.bandwidth.0 + value, unit);
        } else if let Some((kind, rest)) = trimmed.split_once(" percentiles (") {
            self.list = microseconds(rest).map(|us| (kind == "sync", us));
        } else if let Some(rest) = trimmed.strip_prefix('|') {
            let Some((is_sync, us)) = self.list else { return Ok(()) };
            let latencies = if is_sync { &mut self.sync_latencies } else { &mut self.write_latencies };
            latencies.percentiles.extend(percentiles(rest).map(|(percent, value)| (percent, value * us)));
        } else if let Some(rest) = trimmed.strip_prefix("sync (").filter(|_| trimmed.contains("avg=")) {
            self.sync_latencies.max_us = longest(rest);
            let printed = average(rest).ok_or_else(|| bad("average"))?;
            let us = number(&printed).ok_or_else(|| bad("average"))?
                * microseconds(rest).ok_or_else(|| bad("unit"))?;
            self.sync_avg = Some((printed, us));
        } else if let Some(rest) = trimmed.strip_prefix("lat (").filter(|_| trimmed.contains("avg=")) {
            let us = average(rest).and_then(|printed| Some(number(&printed)? * microseconds(rest)?));
            self.latency_avg_us = us;
            self.write_latencies.max_us = longest(rest);
        } else if let Some(rest) = trimmed.strip_prefix("issued rwts: total=") {
            let counts = rest.split(' ').next().unwrap_or_default().split(',');
            let counts: Option<Vec<u64>> = counts.map(|count| count.parse().ok()).collect();
            let counts = counts.filter(|counts| counts.len() == 4).ok_or_else(|| bad("counts"))?;
            self.total = counts[..3].iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
            (self.writes, self.syncs) = (counts[1], counts[3]);
        }
        Ok(())
    }
}

/// The longest latency, microseconds: `usec): min=24, max=334, avg=…`.
fn longest(text: &str) -> Option<f64> {
    let max = text.split_once("max=")?.1.split(',').next()?;
    Some(scaled(max.trim())? * microseconds(text)?)
}

/// `1.00th=[   27],  5.00th=[   28]`.
fn percentiles(text: &str) -> impl Iterator<Item = (f64, f64)> {
    text.split("],").filter_map(|one| {
        let (percent, value) = one.split_once("th=[")?;
        Some((number(percent)?, number(value.trim_end().trim_end_matches(']'))?))
    })
}

/// Bytes: `4096`, `16k`, `16.0KiB`.
fn size(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let factor = match text[end..].to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1_048_576.0,
        "g" => 1_073_741_824.0,
        _ => return None,
    };
    Some(number(&text[..end])? * factor)
}

/// `43.4k`, `1083`, `1.2M`.
fn scaled(text: &str) -> Option<f64> {
    let (digits, factor) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    // As a decimal: 43.4 times 1000 has no exact binary value.
    Some((number(digits)? * factor).round())
}

/// `678MiB/s`.
fn bandwidth(text: &str) -> Option<(f64, String)> {
    let text = text.strip_suffix("/s")?;
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    Some((number(&text[..digits])?, text[digits..].to_owned()))
}

/// The text after `avg=`, with its padding.
fn average(text: &str) -> Option<String> {
    let rest = text.split_once("avg=")?.1;
    Some(rest.split(',').next()?.to_owned())
}

/// Microseconds in the unit at the beginning: `usec): min=…`.
fn microseconds(text: &str) -> Option<f64> {
    match text.split(')').next()? {
        "nsec" => Some(1e-3),
        "usec" => Some(1.0),
        "msec" => Some(1e3),
        _ => None,
    }
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let text = whole(input)?;
    if text.contains("\"fio version\"") {
        (1..).zip(text.lines()).try_for_each(|(at, line)| expect_no_signal(line, at))?;
        return parse_json(&text);
    }
    let (tool, tests) = parse_tests(text.as_bytes())?;
    let has_labels = tests.iter().any(|test| test.has_label);
    // Where tests have labels, a job before the first prepares the file.
    let tests: Vec<&FioTest> = tests.iter().filter(|test| test.has_label || !has_labels).collect();
    let is_last = |index: usize| index + 1 == tests.len();
    let measurements = tests.iter().enumerate().map(|(index, test)| measurement(test, is_last(index)));
    let measurements = measurements.collect();
    let mut quirks = vec![Quirk::ThreeDigits];
    // Tables are made of tests with labels.
    if has_labels {
        quirks.extend([Quirk::Mebibytes, Quirk::Padded, Quirk::SumOfJobs]);
    }
    let measured_at_ms = tests.iter().find_map(|test| test.ended_at_ms);
    Ok(Document { tool, quirks, measurements, measured_at_ms, ..Document::default() })
}

fn measurement(test: &FioTest, is_last: bool) -> Measurement {
    let total: u64 = test.jobs.iter().fold(0, |sum, job| sum.saturating_add(job.total));
    let msec = test.jobs.iter().map(|job| job.msec).max().unwrap_or(0);
    let mut values = Vec::new();
    let mut push = |name: &'static str, unit: &'static str, value: Option<f64>, published: Option<String>| {
        if value.is_some() {
            values.push(Value { name: name.into(), unit: unit.into(), value, published, line: test.line });
        }
    };
    push("requests_per_s", "1/s", Some(test.exact_iops()), Some(fixed(test.printed_iops(), 0)));
    let published = |value: f64| test.has_label.then(|| fixed(value, 1));
    push("bandwidth_mib_per_s", "MiB/s", Some(test.mib_per_s(1024.0)), published(test.mib_per_s(1000.0)));
    let sync = (test.jobs_with_sync() > 0).then(|| test.sync_us());
    push("sync_avg_us", "us", sync, published(test.published_sync_us(is_last)));
    let latencies: Vec<f64> = test.jobs.iter().filter_map(|job| job.latency_avg_us).collect();
    let latency = latencies.iter().sum::<f64>() / latencies.len().max(1) as f64;
    push("latency_avg_us", "us", (!latencies.is_empty()).then_some(latency), None);
    let sum = |of: &dyn Fn(&Job) -> f64| test.jobs.iter().map(of).sum::<f64>();
    let only_writes = test.jobs.iter().all(|job| job.writes == job.total);
    let mut figures = Figures {
        written_mb: test.write_bytes.map(|bytes| bytes * total as f64 / 1e6),
        write_us: sum(&|job| job.latency_avg_us.unwrap_or(0.0) * job.writes as f64),
        syncs: sum(&|job| job.syncs() as f64),
        sync_us: sum(&|job| job.sync_avg.as_ref().map_or(0.0, |(_, us)| us * job.syncs() as f64)),
        ..Figures::default()
    };
    for job in &test.jobs {
        job.write_latencies.add_to(&mut figures.write_buckets, job.writes);
        job.sync_latencies.add_to(&mut figures.sync_buckets, job.syncs());
    }
    values.extend(test.settings.iter().map(|(name, value)| Value::words(*name, value, test.line)));
    let mut measured = Measurement {
        test: Some(test.name.clone()),
        clients: u32::try_from(test.jobs.len()).ok(),
        work: Some(Work::in_time(&REQUESTS, total as f64, msec.saturating_mul(1000))),
        values,
        line: test.line,
        ..Measurement::default()
    };
    if only_writes {
        figures.add_to(&mut measured, total as f64);
    }
    measured
}

/// Options of a job, which go before those of all.
fn settings_of_json(options: [&Json; 2], line: u32) -> Vec<Value> {
    let option = |name: &str| options.into_iter().find_map(|all| all[name].as_str());
    let sizes = option("bs").or_else(|| option("blocksize")).map(block_size);
    let words = |name| option(name).map(str::to_owned);
    let others =
        ["rw", "ioengine", "iodepth", "direct", "fsync", "fdatasync"].map(|name| (name, words(name)));
    let all = others.into_iter().chain([("bs", sizes)]);
    all.filter_map(|(name, value)| Some(Value::words(name, value?, line))).collect()
}

/// The first JSON object; jobs of one name are one test.
fn parse_json(text: &str) -> Result<Document, Broken> {
    let starts = text.lines().scan(0, |at, line| {
        let start = *at;
        *at += line.len() + 1;
        Some((start, line))
    });
    let (start, line) = starts
        .enumerate()
        .find(|(_, (_, line))| line.starts_with('{'))
        .map_or((0, 1), |(index, (at, _))| (at, index as u32 + 1));
    let rest = text.get(start..).unwrap_or_default();
    let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
    let broken = |error: serde_json::Error| Broken::json(&error, line);
    let json = objects.next().ok_or_else(|| Broken::at(1, "no JSON object"))?.map_err(broken)?;
    let jobs = json["jobs"].as_array().ok_or_else(|| Broken::at(line, "no jobs in fio's JSON"))?;
    let mut measurements: Vec<(Measurement, Figures)> = Vec::new();
    for job in jobs {
        let name = job["jobname"].as_str().unwrap_or("fio");
        if job["error"].as_i64().is_some_and(|error| error != 0) {
            return Err(Broken::at(line, format!("job {name} failed with error {}", job["error"])));
        }
        let sides = ["read", "write", "trim"].map(|side| &job[side]);
        let total: f64 = sides.iter().filter_map(|side| side["total_ios"].as_f64()).sum();
        let msec = sides.iter().filter_map(|side| side["runtime"].as_u64()).max().unwrap_or(0);
        let sync = &job["sync"]["lat_ns"];
        let busy = sides.iter().find(|side| side["total_ios"].as_f64().is_some_and(|ios| ios > 0.0));
        if total <= 0.0 || msec == 0 {
            return Err(Broken::at(line, format!("job {name} has no requests")));
        }
        let place = match measurements.iter().position(|(one, _)| one.test.as_deref() == Some(name)) {
            Some(place) => place,
            None => {
                let options = [&job["job options"], &json["global options"]];
                let jobs = options.iter().find_map(|all| all["numjobs"].as_str()?.parse().ok());
                let work = Work { ended_by: EndedBy::Time, ..Work::in_time(&REQUESTS, 0.0, 0) };
                let (test, work) = (Some(name.to_owned()), Some(work));
                let values = settings_of_json(options, line);
                let measured =
                    Measurement { test, work, clients: jobs, line, values, ..Measurement::default() };
                measurements.push((measured, Figures { written_mb: Some(0.0), ..Figures::default() }));
                measurements.len() - 1
            }
        };
        let (measured, figures) = &mut measurements[place];
        figures.add_json(job, total);
        if let Some(work) = &mut measured.work {
            work.operations += total;
            work.elapsed_us = work.elapsed_us.max(Some(msec.saturating_mul(1000)));
        }
        let number = measured.values.iter().filter(|value| value.unit == "us").count();
        let mut push = |name: String, ns: Option<f64>| {
            measured.values.extend(ns.map(|ns| Value::computed(name, "us", ns / 1e3, line)));
        };
        let suffix = if number == 0 { String::new() } else { format!("_job{}", number + 1) };
        if sync["N"].as_f64().is_some_and(|n| n > 0.0) {
            push(format!("sync_avg_us{suffix}"), sync["mean"].as_f64());
        }
        for (percentile, ns) in
            busy.and_then(|side| side["clat_ns"]["percentile"].as_object()).into_iter().flatten()
        {
            if ["50.000000", "95.000000", "99.000000"].contains(&percentile.as_str()) {
                push(format!("latency_p{}_us{suffix}", &percentile[..2]), ns.as_f64());
            }
        }
    }
    let tool = json["fio version"].as_str().map(|version| version.replacen('-', " ", 1));
    let measured_at_ms = json["timestamp_ms"].as_i64();
    let with_figures = |(mut measured, figures): (Measurement, Figures)| {
        let writes = measured.work.as_ref().map_or(0.0, |work| work.operations);
        if figures.written_mb.is_some() {
            figures.add_to(&mut measured, writes);
        }
        measured
    };
    let measurements = measurements.into_iter().map(with_figures).collect();
    Ok(Document { tool, measured_at_ms, measurements, ..Document::default() })
}
