//! Tables of fio from its text.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Checked, Computed, Place, Raw, Reading, only_source, read};
use crate::error::Result;
use crate::formats::fio::{FioTest, parse_tests};
use crate::formats::{Format, fio_table};
use crate::model::Quirk;
use crate::printf::fixed;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let rows = read(path, fio_table::parse)?;
    let raw = only_source(raws, Format::Fio, path, "fio's text")?;
    let (_, mut tests) = raw.read(parse_tests)?;
    tests.retain(|test| test.has_label);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut checked = Checked::default();
    for row in &rows {
        let occurrence = seen.entry(&row.test).or_default();
        let mut of_row = tests.iter().enumerate().filter(|(_, test)| test.name == row.test);
        let test = of_row.nth(*occurrence);
        *occurrence += 1;
        let computed = test.map(|(index, test)| computed(test, index + 1 == tests.len()));
        for (index, column) in ["w/s", "MB/s", "sync_us"].into_iter().enumerate() {
            let place = Place { line: row.line, row: &row.test, column };
            let computed = computed.as_ref().map(|cells| &cells[index]);
            checked.add(place, &row.cells[index], computed, reading);
        }
    }
    let count = |name: &str| tests.iter().filter(|test| test.name == name).count();
    checked.expect(tests.iter().map(|test| test.name.as_str()), |name| {
        rows.iter().filter(|row| row.test == name).count() >= count(name)
    });
    Ok(checked)
}

fn computed(test: &FioTest, is_last: bool) -> [Computed; 3] {
    let with_truth = |published: String, truth: String, quirk: Quirk| {
        let truth = (truth != published).then_some((truth, quirk));
        Computed { published, truth }
    };
    let rate = with_truth(fixed(test.printed_iops(), 0), fixed(test.exact_iops(), 0), Quirk::ThreeDigits);
    let mib = |thousand: f64| fixed(test.mib_per_s(thousand), 1);
    let bandwidth = with_truth(mib(1000.0), mib(1024.0), Quirk::Mebibytes);
    let published = test.published_sync_us(is_last);
    let quirk = if is_last && test.jobs.len() > 1 && !test.has_padded_sync() {
        Quirk::SumOfJobs
    } else {
        Quirk::Padded
    };
    let sync = with_truth(fixed(published, 1), fixed(test.sync_us(), 1), quirk);
    [rate, bandwidth, sync]
}
