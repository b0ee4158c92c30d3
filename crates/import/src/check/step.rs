//! Figures of one step per operation, from the output of vmstat and iostat and sysbench's text.

use std::path::Path;

use super::{Checked, Computed, Place, Raw, Reading, read, several};
use crate::error::{Error, Result};
use crate::formats::iostat::{Iostat, parse_sums};
use crate::formats::metrics::{IOSTAT, StepMetrics, VMSTAT, parse_step};
use crate::formats::vmstat::{Vmstat, parse_means};
use crate::formats::{Format, sysbench};
use crate::model::{Quirk, number};
use crate::names::TestName;
use crate::printf::fixed;

pub(super) fn check(path: &Path, raws: &[Raw], device: Option<&str>, reading: Reading) -> Result<Checked> {
    let step = read(path, parse_step)?;
    let of_step =
        path.file_name().and_then(|name| TestName::of_file(&name.to_string_lossy())).map(|(_, test)| test);
    let is_of_step = |raw: &Raw| TestName::of_file(&raw.name()).map(|(_, test)| test) == of_step;
    let is_source = |raw: &&Raw| {
        [Format::Vmstat, Format::Iostat, Format::Sysbench].contains(&raw.format) && is_of_step(raw)
    };
    // Where the table lies among its sources, those of other directories are of other arms.
    let is_beside = |raw: &Raw| raw.path.parent() == path.parent();
    let are_beside = raws.iter().filter(is_source).any(is_beside);
    let find = |format: Format| -> Result<&Raw> {
        let all = raws.iter().filter(|raw| raw.format == format && (is_beside(raw) || !are_beside));
        let all: Vec<&Raw> = all.collect();
        let of_step = all.iter().copied().filter(|raw| is_of_step(raw)).collect::<Vec<_>>();
        let what = format!("output of {format} of the step of {}", path.display());
        match (&of_step[..], &all[..]) {
            ([only], _) | ([], [only]) => Ok(only),
            ([], _) => {
                let remedy = match are_beside {
                    true => {
                        "its other sources are beside it, so those of other directories are taken for other arms'"
                    }
                    false => "give the step's sb.vm, sb.io and sb.o files",
                };
                Err(Error::Missing { what, remedy: remedy.to_owned() })
            }
            (found, _) => Err(several(path, &what, found.iter().map(|raw| raw.path.as_path()))),
        }
    };
    let vmstat = find(Format::Vmstat)?.read(parse_means)?;
    let iostat = find(Format::Iostat)?.read(parse_sums)?;
    let rate = rate(find(Format::Sysbench)?, of_step.as_ref(), &step)?;
    let vm = vmstat_row(&vmstat, rate.value);
    let io = best_device(&step, &iostat, device, &rate);
    let mut checked = Checked::default();
    for (program, columns, cells, computed, line) in [
        (Format::Iostat, &IOSTAT[..], &step.iostat, io, 4),
        (Format::Vmstat, &VMSTAT[..], &step.vmstat, vm, 7),
    ] {
        let row = format!("{program} in {}", path.display());
        for ((column, cell), computed) in columns.iter().zip(cells).zip(&computed) {
            checked.add(Place { line, row: &row, column }, cell, Some(computed), reading);
        }
    }
    Ok(checked)
}

/// The rate that figures are divided by.
struct Rate {
    value: f64,
    text: Computed,
}

/// As sysbench printed it. Of a scan it is rows; which, depends on the year: thousand rows of all clients, or of one by
/// the mean latency. The table's own digits say.
fn rate(raw: &Raw, test: Option<&TestName>, step: &StepMetrics) -> Result<Rate> {
    let mut document = raw.read(sysbench::parse)?;
    let missing = || Error::Missing {
        what: format!("a rate in {}", raw.path.display()),
        remedy: "give sysbench's text".to_owned(),
    };
    let measured = document.measurements.first_mut().ok_or_else(missing)?;
    let value =
        |name: &str| measured.values.iter().find(|value| value.name == name).and_then(|value| value.value);
    let plain = value("queries_per_s").ok_or_else(missing)?;
    if !test.is_some_and(TestName::is_scan) {
        return Ok(Rate { value: plain, text: Computed::exact(trimmed(plain)) });
    }
    let one_client = value("table_size").zip(value("latency_avg_ms")).map(|(rows, ms)| rows / ms);
    // The printed rate has two decimals, which go into the product.
    let printed = value("table_size").map(|rows| plain * rows / 1000.0);
    let published = step.cell("o/s").and_then(number).unwrap_or(f64::NAN);
    sysbench::as_scan(measured);
    let all = measured.work.as_ref().map(|work| work.per_second()).ok_or_else(missing)?;
    let candidates = [one_client, printed, Some(all)];
    let rounded = candidates.into_iter().flatten().map(|rate| fixed(rate, 0).parse().unwrap_or(rate));
    let near = |rate: &f64| (rate - published).abs();
    let value = rounded.min_by(|a: &f64, b: &f64| near(a).total_cmp(&near(b))).ok_or_else(missing)?;
    let truth = fixed(all, 0);
    let text = fixed(value, 0);
    let truth = (truth != text).then_some((truth, Quirk::ScanOfOneClient));
    Ok(Rate { value, text: Computed { published: text, truth } })
}

/// A rate with the decimals that sysbench prints.
fn trimmed(rate: f64) -> String {
    fixed(rate, 2)
}

fn vmstat_row(vmstat: &Vmstat, rate: f64) -> Vec<Computed> {
    // The headers count as samples of 0, but for the first; the row since boot is one.
    let counted = (vmstat.with_boot.samples + vmstat.headers).saturating_sub(1) as f64;
    let (switches, cpu) = (vmstat.with_boot.switches, vmstat.with_boot.cpu_percent);
    let computed = |published: String, truth: String| {
        let truth = (truth != published).then_some((truth, Quirk::Samples));
        Computed { published, truth }
    };
    let (true_switches, true_cpu) = (vmstat.switches_per_s, vmstat.user_percent + vmstat.system_percent);
    vec![
        computed(fixed(counted, 0), fixed(vmstat.samples as f64, 0)),
        computed(fixed(switches / counted, 0), fixed(true_switches, 0)),
        computed(fixed(cpu / counted, 1), fixed(true_cpu, 1)),
        computed(fixed(switches / counted / rate, 3), fixed(true_switches / rate, 3)),
        computed(fixed(cpu / counted / rate, 6), fixed(true_cpu / rate, 6)),
    ]
}

/// The figures of the device that was given, or else of the one that agrees with most cells.
fn best_device(step: &StepMetrics, iostat: &Iostat, device: Option<&str>, rate: &Rate) -> Vec<Computed> {
    let names: Vec<&str> = match device {
        Some(device) => vec![device],
        None => iostat.devices.keys().map(String::as_str).collect(),
    };
    let rows = names.into_iter().filter_map(|name| device_row(iostat, name, rate));
    let equal = |row: &Vec<Computed>| {
        row.iter().zip(&step.iostat).filter(|(one, cell)| one.published == **cell).count()
    };
    rows.max_by_key(equal).unwrap_or_default()
}

fn device_row(iostat: &Iostat, name: &str, rate: &Rate) -> Option<Vec<Computed>> {
    let means = iostat.mean_of_matching(name)?;
    let matching = iostat.devices.keys().filter(|device| device.contains(name)).count() as f64;
    // Over several devices the mean is not their sum.
    let computed = |digits: usize, value: f64| {
        let (published, truth) = (fixed(value, digits), fixed(value * matching, digits));
        let truth = (truth != published).then_some((truth, Quirk::MeanOfDevices));
        Computed { published, truth }
    };
    let per_op = |value: f64| computed(3, value / rate.value);
    Some(vec![
        Computed::exact(means.rows.to_string()),
        computed(1, means.reads),
        computed(1, means.read_kb / 1024.0),
        computed(1, means.writes),
        computed(1, means.write_kb / 1024.0),
        per_op(means.reads),
        per_op(means.read_kb),
        per_op(means.write_kb),
        rate.text.clone(),
    ])
}
