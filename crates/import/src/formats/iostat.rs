//! `iostat -kx 1`: reads and writes of each device.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, Sampled, Value, number};

/// Devices of a host: more is no output of iostat.
const DEVICES_MAX: usize = 4096;

/// Sums over the reports of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iostat {
    pub reports: u64,
    pub cpus: Option<u32>,
    /// By device.
    pub devices: BTreeMap<String, Sums>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    pub rows: u64,
    pub reads: f64,
    pub read_kb: f64,
    pub writes: f64,
    pub write_kb: f64,
}

impl Iostat {
    /// Means over all rows of devices whose name contains `name`, as the archive computes them.
    pub fn mean_of_matching(&self, name: &str) -> Option<Sums> {
        let mut all = Sums::default();
        for (_, sums) in self.devices.iter().filter(|(device, _)| device.contains(name)) {
            all.rows += sums.rows;
            all.reads += sums.reads;
            all.read_kb += sums.read_kb;
            all.writes += sums.writes;
            all.write_kb += sums.write_kb;
        }
        let rows = all.rows as f64;
        (all.rows > 0).then(|| Sums {
            rows: all.rows,
            reads: all.reads / rows,
            read_kb: all.read_kb / rows,
            writes: all.writes / rows,
            write_kb: all.write_kb / rows,
        })
    }

    /// The device with most traffic, if it is not made of others.
    pub fn busiest(&self) -> Option<&str> {
        let traffic = |sums: &Sums| sums.read_kb + sums.write_kb;
        let busiest = self.devices.iter().max_by(|(_, a), (_, b)| traffic(a).total_cmp(&traffic(b)))?;
        Some(busiest.0)
    }
}

pub fn parse_sums(input: impl Read) -> Result<Iostat, Broken> {
    let mut lines = Lines::new(input);
    let mut found = Iostat::default();
    let mut columns: Option<[usize; 4]> = None;
    let mut in_devices = false;
    while let Some((at, line)) = lines.next_whole()? {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else {
            in_devices = false;
            continue;
        };
        if found.cpus.is_none() && line.ends_with(" CPU)") {
            let digits = line.trim_end_matches(" CPU)").rsplit('(').next().unwrap_or_default();
            found.cpus = digits.parse().ok();
        } else if first.trim_end_matches(':') == "Device" {
            let place = |name: &str| words.iter().position(|word| *word == name);
            let places = (|| Some([place("r/s")?, place("rkB/s")?, place("w/s")?, place("wkB/s")?]))();
            columns = Some(
                places.ok_or_else(|| Broken::at(at, "no columns r/s, rkB/s, w/s, wkB/s: use iostat -kx"))?,
            );
            found.reports += 1;
            in_devices = true;
        } else if let (true, Some(columns)) = (in_devices, columns) {
            let figure = |column: usize| -> Result<f64, Broken> {
                let word = words
                    .get(column)
                    .ok_or_else(|| Broken::at(at, "a row that is too short: the file is cut off"))?;
                number(word).ok_or_else(|| Broken::at(at, format!("{word:?} is not a number")))
            };
            if found.devices.len() >= DEVICES_MAX && !found.devices.contains_key(*first) {
                return Err(Broken::at(at, "more than 4,096 devices"));
            }
            let values = [figure(columns[0])?, figure(columns[1])?, figure(columns[2])?, figure(columns[3])?];
            let sums = found.devices.entry((*first).to_owned()).or_default();
            sums.rows += 1;
            for (sum, value) in [&mut sums.reads, &mut sums.read_kb, &mut sums.writes, &mut sums.write_kb]
                .into_iter()
                .zip(values)
            {
                *sum += value;
            }
        }
    }
    if found.devices.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no devices in it"));
    }
    Ok(found)
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let found = parse_sums(input)?;
    let device = found.busiest().unwrap_or_default().to_owned();
    let means = found.devices.get(&device).map(|sums| {
        let rows = sums.rows.max(1) as f64;
        [
            ("disk_reads_per_s", "1/s", sums.reads / rows),
            ("disk_read_kb_per_s", "kB/s", sums.read_kb / rows),
            ("disk_writes_per_s", "1/s", sums.writes / rows),
            ("disk_write_kb_per_s", "kB/s", sums.write_kb / rows),
        ]
    });
    let means = means.into_iter().flatten();
    let mut values: Vec<Value> =
        means.map(|(name, unit, value)| Value::computed(name, unit, value, 1)).collect();
    values.push(Value::words("iostat_device", device, 1));
    let metrics = found.cpus.map(|cpus| ("cpus".to_owned(), f64::from(cpus))).into_iter().collect();
    let sampled = Sampled { program: "iostat", samples: found.reports, seconds: None, utc_ms: None };
    let measurement =
        Measurement { values, metrics, sampled: Some(sampled), line: 1, ..Measurement::default() };
    Ok(Document { measurements: vec![measurement], ..Document::default() })
}
