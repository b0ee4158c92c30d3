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
/// What programs print to, and what files are called for it.
const STREAMS: [&str; 11] =
    ["out", "err", "stdout", "stderr", "error", "errors", "progress", "pgbench", "log", "output", "result"];
/// Intervals that the progress of a run may lack: the last one, and what its rate's time is off.
const INTERVALS_MISSING: u64 = 2;

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
    // Logs before progress, which has rounded rates.
    for by in [By::NameAndCount, By::Name, By::Count, By::Progress, By::Directory] {
        for file in 0..loaded.len() {
            join_one(loaded, &mut texts, file, by)?;
        }
    }
    Ok(())
}

/// By what a log belongs to a text, in this order; and progress, which does by its name, or as the only one in a
/// directory with one text.
#[derive(Clone, Copy, PartialEq)]
enum By {
    NameAndCount,
    Name,
    Count,
    Progress,
    Directory,
}

fn join_one(loaded: &mut [Loaded], texts: &mut [Text], file: usize, by: By) -> Result<()> {
    let [part] = &loaded[file].document.measurements[..] else { return Ok(()) };
    let is_log = pgbench::Threads::of(loaded[file].format).is_some();
    let is_of_progress = [By::Progress, By::Directory].contains(&by);
    if !(if is_of_progress { is_progress(&loaded[file]) } else { is_log }) {
        return Ok(());
    }
    let beside = |other: &Loaded| other.given.path.parent() == loaded[file].given.path.parent();
    let is_only = || {
        let others = |is: fn(&Loaded) -> bool| loaded.iter().filter(|one| beside(one) && is(one)).count();
        others(is_progress) == 1 && others(is_text) == 1
    };
    let of_arm: Vec<usize> = (0..texts.len())
        .filter(|at| !*texts[*at].has(is_log) && arm(&loaded[texts[*at].file]) == arm(&loaded[file]))
        .collect();
    let alike = |at: usize| alike(&loaded[texts[at].file], &loaded[file]);
    let is_run = |at: usize| is_of_run(run(loaded, &texts[at]), part);
    let apart = |at: usize| {
        let run = run(loaded, &texts[at]);
        (alike(at), transactions(run).abs_diff(logged(part)), us(run).abs_diff(us(part)))
    };
    let fits = |at: &usize| match by {
        By::NameAndCount => alike(*at).is_some() && is_run(*at),
        By::Name | By::Progress => alike(*at).is_some(),
        By::Directory => {
            let text = &loaded[texts[*at].file];
            text.document.measurements.len() == 1 && beside(text) && is_only()
        }
        By::Count => is_run(*at),
    };
    let mut fitting: Vec<usize> = of_arm.iter().copied().filter(fits).collect();
    fitting.sort_by_key(|at| apart(*at));
    if let ([first, second, ..], By::Count) = (&fitting[..], by) {
        let runs = [*first, *second].map(|at| &texts[at]);
        if are_too_near(runs.map(|text| transactions(run(loaded, text))), part) {
            return Err(of_several_runs(loaded, file, runs));
        }
    }
    let found = fitting.first().copied();
    if is_log && (found.is_some() || by == By::Count) && !found.is_some_and(is_run) {
        let of_run: Vec<usize> = found.map_or(of_arm, |at| vec![at]);
        for text in of_run.into_iter().map(|at| texts[at]) {
            expect_all_threads(loaded, file, &text)?;
        }
    }
    let of_arm = |text: &&Text| arm(&loaded[text.file]) == arm(&loaded[file]);
    match (found, texts.iter().find(of_arm)) {
        (Some(at), _) => {
            *texts[at].has(is_log) = true;
            add(loaded, file, texts[at])
        }
        (None, Some(text)) if is_log && by == By::Count => Err(of_no_run(loaded, file, text)),
        (None, _) => Ok(()),
    }
}

/// Whether a file has progress without a final text.
fn is_progress(one: &Loaded) -> bool {
    one.format == Format::Pgbench && matches!(&one.document.measurements[..], [run] if run.test.is_none())
}

fn is_text(one: &Loaded) -> bool {
    one.format == Format::Pgbench && one.document.measurements.iter().any(|run| run.test.is_some())
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

/// How a file has the name of a text of one run: 0: the same one, 1: also with the number of a process, as logs have
/// with `--log-prefix`.
fn alike(text: &Loaded, part: &Loaded) -> Option<u8> {
    let (path, other) = (&text.given.path, &part.given.path);
    if path.parent() != other.parent() || text.document.measurements.len() != 1 {
        return None;
    }
    let (text, name) = (stem(path), stem(other));
    let is_of_process = |(name, process): (&str, &str)| {
        pgbench::Threads::of(part.format).is_some() && name == text && process.parse::<u64>().is_ok()
    };
    match name == text {
        true => Some(0),
        false if is_progress(part) => (without_streams(&name) == without_streams(&text)).then_some(1),
        false => name.rsplit_once('.').is_some_and(is_of_process).then_some(1),
    }
}

/// The words of a name but for those that only say what a file has of its run: `1` of `pgbench-1` and `progress-1`.
fn without_streams(stem: &str) -> Vec<String> {
    let words = stem.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| !(word.is_empty() || STREAMS.contains(&word.as_str()))).collect()
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

/// Whether a log of intervals may be of either of two runs, as they differ by less than half of an interval.
fn are_too_near([one, other]: [u64; 2], log: &Measurement) -> bool {
    let half_an_interval = logged(log).abs_diff(transactions(log)) / 4;
    log.histograms.is_empty() && one.abs_diff(other) < half_an_interval
}

/// A log of intervals that may be of any of several runs.
fn of_several_runs(loaded: &[Loaded], file: usize, texts: [&Text; 2]) -> Error {
    let [first, second] = texts.map(|text| loaded[text.file].given.path.display());
    Error::Contradiction {
        path: loaded[file].given.path.clone(),
        line: 1,
        why: format!(
            "its {} transactions may be those of {first} and of {second}: name it as the text of its run, such as {} for the first",
            logged(&loaded[file].document.measurements[0]),
            loaded[texts[0].file].given.path.with_extension("log").display()
        ),
    }
}

fn is_thread_of(path: &Path, first: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    pgbench::thread_of(&name).is_some_and(|(name, _)| path.with_file_name(name) == *first)
}

/// Why progress is not all of a run's: it ends more than two of its intervals before it.
fn cut_off(run: &Measurement, progress: &Measurement, text: &Path) -> Option<String> {
    let is_log = progress.values.iter().any(|value| value.name == pgbench::LOGGED);
    let intervals = progress.series.first().filter(|_| !is_log)?.values.len() as u64;
    let is_early = us(progress) + INTERVALS_MISSING * us(progress) / intervals.max(1) < us(run);
    is_early.then(|| {
        format!(
            "its progress ends after {:.1} s, but the run of {} took {:.1} s: the file is cut off; give it whole, or leave it out",
            us(progress) as f64 / 1e6,
            text.display(),
            us(run) as f64 / 1e6
        )
    })
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
        if let Some(why) = cut_off(run, &part, &to.given.path) {
            return Err(Error::Contradiction { path, line: part.line, why });
        }
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
        let is_whole = of_log == of_run || part.is_sample || part.histograms.is_empty();
        if !is_whole {
            return Err(Error::Contradiction {
                path,
                line: 1,
                why: format!(
                    "it has {of_log} of the {of_run} transactions in {}, without gaps between them: the log is cut off; give it whole, \
                     or leave it out",
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
