//! `vmstat 1`: CPU time and context switches of the host.

use std::io::Read;

use crate::dates;
use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, Quirk, Sampled, Value};

/// Means of a file, over its samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vmstat {
    /// Samples, without the first, which is the mean since boot.
    pub samples: u64,
    pub headers: u64,
    pub user_percent: f64,
    pub system_percent: f64,
    pub switches_per_s: f64,
    /// The same with the first.
    pub with_boot: Sums,
    /// When the first and the last sample were taken, with `-t`: in milliseconds since 1970 in the host's time zone.
    pub times_ms: Option<(i64, i64)>,
    /// Whether that zone is UTC.
    pub is_utc: bool,
}

/// Sums over all samples, the first included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    pub samples: u64,
    pub cpu_percent: f64,
    pub switches: f64,
}

pub fn parse_means(input: impl Read) -> Result<Vmstat, Broken> {
    let mut lines = Lines::new(input);
    let mut columns: Option<[usize; 3]> = None;
    let mut means = Vmstat::default();
    while let Some((at, line)) = lines.next_whole()? {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        if words.contains(&"us") && words.contains(&"sy") {
            let place = |name: &str| words.iter().position(|word| *word == name);
            let places = (|| Some([place("us")?, place("sy")?, place("cs")?]))();
            columns = Some(places.ok_or_else(|| Broken::at(at, "no column cs"))?);
            means.is_utc = matches!(words.last(), Some(&("UTC" | "GMT")));
        } else if *first == "procs" {
            means.headers += 1;
        } else if first.bytes().all(|byte| byte.is_ascii_digit()) {
            let columns = columns.ok_or_else(|| Broken::at(at, "figures before a header"))?;
            let figure = |column: usize| -> Result<f64, Broken> {
                let word = words
                    .get(column)
                    .ok_or_else(|| Broken::at(at, "a row that is too short: the file is cut off"))?;
                word.parse::<u64>()
                    .map(|n| n as f64)
                    .map_err(|_| Broken::at(at, format!("{word:?} is not a number")))
            };
            let (user, system, switches) = (figure(columns[0])?, figure(columns[1])?, figure(columns[2])?);
            means.with_boot.samples += 1;
            means.with_boot.cpu_percent += user + system;
            means.with_boot.switches += switches;
            if means.with_boot.samples > 1 {
                if let Some(ms) = time(&words) {
                    means.times_ms = Some((means.times_ms.map_or(ms, |(first, _)| first), ms));
                }
                means.samples += 1;
                means.user_percent += user;
                means.system_percent += system;
                means.switches_per_s += switches;
            }
        } else {
            return Err(Broken::at(at, format!("{first:?}: neither a header of vmstat nor figures")));
        }
    }
    if means.samples == 0 {
        return Err(Broken::at(lines.number().max(1), "no samples of vmstat, apart from the one since boot"));
    }
    let samples = means.samples as f64;
    for sum in [&mut means.user_percent, &mut means.system_percent, &mut means.switches_per_s] {
        *sum /= samples;
    }
    Ok(means)
}

/// When a row was printed, with `-t`: its last words.
fn time(words: &[&str]) -> Option<i64> {
    let [.., date, time] = words else { return None };
    date.contains('-').then(|| dates::of_iso(&format!("{date}T{time}")))?
}

impl Vmstat {
    /// What time the samples are of: each is of the time since the one before it.
    fn sampled(&self) -> Sampled {
        let of_times = |(first, last): (i64, i64)| {
            let apart_ms = (last - first) as f64 / self.samples.saturating_sub(1).max(1) as f64;
            (first - apart_ms as i64, last)
        };
        let times_ms = self.times_ms.filter(|(first, last)| first < last).map(of_times);
        Sampled {
            program: "vmstat",
            samples: self.samples,
            seconds: times_ms.map(|(first, last)| (last - first) as f64 / 1e3),
            utc_ms: times_ms.filter(|_| self.is_utc),
        }
    }
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let means = parse_means(input)?;
    let values = vec![
        Value::computed("host_user_percent", "%", means.user_percent, 1),
        Value::computed("host_system_percent", "%", means.system_percent, 1),
        Value::computed("host_context_switches_per_s", "1/s", means.switches_per_s, 1),
        Value::computed("vmstat_samples", "", means.samples as f64, 1),
    ];
    let measurement =
        Measurement { values, sampled: Some(means.sampled()), line: 1, ..Measurement::default() };
    Ok(Document { quirks: vec![Quirk::Samples], measurements: vec![measurement], ..Document::default() })
}
