//! Files of one run of pgbench that complement each other: what it printed when it ended, its progress, and its log.
//! They are one result.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::formats::{Format, pgbench};
use crate::loaded::Loaded;
use crate::model::Measurement;
use crate::paths::{arm_of_path, stem};

/// By how much the time of a log may differ from that of its run: one of them has what it took to connect.
const TIME_SHARE: f64 = 0.05;
const TIME_US: u64 = 200_000;

/// What pgbench printed when it ended.
#[derive(Clone, Copy)]
struct Text {
    file: usize,
    /// Its place in the file.
    run: usize,
    has_log: bool,
    has_progress: bool,
}

impl Text {
    /// Whether it has a log, or progress, already.
    fn has(&mut self, is_log: bool) -> &mut bool {
        if is_log { &mut self.has_log } else { &mut self.has_progress }
    }
}

/// Adds logs and progress to the final texts of the same runs. They are no results of their own then.
///
/// # Errors
/// If logs of threads are missing, or if a log of a text's name is not of its run.
pub fn join(loaded: &mut [Loaded]) -> Result<()> {
    let mut texts = texts(loaded);
    for file in 0..loaded.len() {
        let [part] = &loaded[file].document.measurements[..] else { continue };
        let is_log = pgbench::Threads::of(loaded[file].format).is_some();
        if !(is_log || (loaded[file].format == Format::Pgbench && part.test.is_none())) {
            continue;
        }
        let of_arm: Vec<usize> = (0..texts.len())
            .filter(|at| !*texts[*at].has(is_log) && arm(&loaded[texts[*at].file]) == arm(&loaded[file]))
            .collect();
        let is_named_alike = |at: &usize| is_named_alike(&loaded[texts[*at].file], &loaded[file]);
        let is_run = |at: &usize| is_log && is_of_run(run(loaded, &texts[*at]), part);
        let apart = |at: &usize| {
            let run = run(loaded, &texts[*at]);
            (transactions(run).abs_diff(logged(part)), us(run).abs_diff(us(part)))
        };
        let named = of_arm.iter().copied().find(is_named_alike);
        let found = named.or_else(|| of_arm.iter().copied().filter(is_run).min_by_key(apart));
        if is_log && !found.as_ref().is_some_and(is_run) {
            let of_run: Vec<usize> = found.map_or(of_arm, |at| vec![at]);
            for text in of_run.into_iter().map(|at| texts[at]) {
                expect_all_threads(loaded, file, &text)?;
            }
        }
        if let Some(at) = found {
            *texts[at].has(is_log) = true;
            add(loaded, file, texts[at])?;
        } else if let Some(text) =
            texts.iter().find(|text| is_log && arm(&loaded[text.file]) == arm(&loaded[file]))
        {
            return Err(of_no_run(loaded, file, text));
        }
    }
    Ok(())
}

fn texts(loaded: &[Loaded]) -> Vec<Text> {
    let files = loaded.iter().enumerate().filter(|(_, one)| one.format == Format::Pgbench);
    let runs = files.flat_map(|(file, one)| {
        let runs = one.document.measurements.iter().enumerate();
        let ended = runs.filter(|(_, run)| run.test.is_some() && run.work.is_some());
        ended.map(move |(run, _)| Text { file, run, has_log: false, has_progress: false })
    });
    runs.collect()
}

fn run<'a>(loaded: &'a [Loaded], text: &Text) -> &'a Measurement {
    &loaded[text.file].document.measurements[text.run]
}

fn arm(one: &Loaded) -> Option<String> {
    one.given.arm.clone().or_else(|| arm_of_path(one.given.path.parent().unwrap_or(Path::new(""))))
}

fn is_named_alike(text: &Loaded, part: &Loaded) -> bool {
    let (path, other) = (&text.given.path, &part.given.path);
    path.parent() == other.parent() && stem(path) == stem(other) && text.document.measurements.len() == 1
}

fn us(run: &Measurement) -> u64 {
    run.work.as_ref().and_then(|work| work.elapsed_us).unwrap_or(0)
}

fn is_as_long(run: &Measurement, log: &Measurement) -> bool {
    us(run).abs_diff(us(log)) <= ((us(run) as f64 * TIME_SHARE) as u64).max(TIME_US)
}

fn transactions(run: &Measurement) -> u64 {
    run.work.as_ref().and_then(|work| work.events).unwrap_or(0)
}

/// The transactions of a whole log, also of intervals that are no part of its rate.
fn logged(log: &Measurement) -> u64 {
    let value = log.values.iter().find(|value| value.name == pgbench::LOGGED);
    value.and_then(|value| value.published.as_ref()?.parse().ok()).unwrap_or(0)
}

/// A log tells all of its run's transactions. A log of intervals may lack the last ones, about as many as in the
/// partial ones, which its time leaves out.
fn is_of_run(run: &Measurement, log: &Measurement) -> bool {
    let is_alike = |(of_run, of_log)| of_run == of_log;
    let (done, logged) = (transactions(run), logged(log));
    let is_counted = match log.histograms.is_empty() {
        true => (logged..=logged + 2 * logged.abs_diff(transactions(log))).contains(&done),
        false => done == logged && is_as_long(run, log),
    };
    is_counted && run.clients.zip(log.clients).is_none_or(is_alike)
}

/// # Errors
/// If the run that a log may be of had more threads than there are logs, and more transactions.
fn expect_all_threads(loaded: &[Loaded], file: usize, text: &Text) -> Result<()> {
    let (run, log) = (run(loaded, text), &loaded[file].document.measurements[0]);
    let threads = run.values.iter().find(|value| value.name == pgbench::THREADS);
    let threads = threads.and_then(|value| value.value).unwrap_or(1.0) as u32;
    let first = &loaded[file].given.path;
    let files = 1 + loaded.iter().filter(|one| is_thread_of(&one.given.path, first)).count() as u32;
    let may_be_of_run = is_as_long(run, log) || log.histograms.is_empty();
    if files < threads && logged(log) < transactions(run) && may_be_of_run {
        let missing = first.with_added_extension(files.to_string());
        return Err(Error::ThreadMissing { missing, beside: first.clone() });
    }
    Ok(())
}

/// A log beside final texts of which none is of its run: what it lacks, nobody can tell.
fn of_no_run(loaded: &[Loaded], file: usize, text: &Text) -> Error {
    let log = &loaded[file].document.measurements[0];
    Error::Contradiction {
        path: loaded[file].given.path.clone(),
        line: 1,
        why: format!(
            "its {} transactions in {:.1} s are those of none of the runs whose final text is beside it, such as {} with {} in \
             {:.1} s: the log is cut off, or the text of its run is missing; give both or leave it out",
            logged(log),
            us(log) as f64 / 1e6,
            loaded[text.file].given.path.display(),
            transactions(run(loaded, text)),
            us(run(loaded, text)) as f64 / 1e6
        ),
    }
}

fn is_thread_of(path: &Path, first: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    pgbench::thread_of(&name).is_some_and(|(name, _)| path.with_file_name(name) == *first)
}

/// Adds what the log or the progress has to the text's run.
fn add(loaded: &mut [Loaded], file: usize, text: Text) -> Result<()> {
    let path: PathBuf = loaded[file].given.path.clone();
    let at = loaded[file].document.measured_at_ms;
    let parts = std::mem::take(&mut loaded[file].document.measurements);
    let to = &mut loaded[text.file];
    to.document.measured_at_ms = to.document.measured_at_ms.or(at);
    let run = &mut to.document.measurements[text.run];
    for part in parts {
        let (of_log, of_run) = (logged(&part), transactions(run));
        if of_log > of_run {
            return Err(Error::Contradiction {
                path,
                line: 1,
                why: format!(
                    "it has {of_log} transactions, but {} of the same name {of_run}: they are not of one run; give one of them, or \
                     name them differently",
                    to.given.path.display()
                ),
            });
        }
        // A log that is a sample (--sampling-rate) has latencies, but not all transactions of a second.
        if run.series.is_empty() && (of_log == of_run || part.histograms.is_empty()) {
            run.series = part.series;
        }
        if run.retries.is_empty() {
            run.retries = part.retries;
        }
        run.histograms.extend(part.histograms);
    }
    Ok(())
}
