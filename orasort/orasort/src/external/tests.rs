//! Disks that are full, lose bytes or change them: each is an error, and no record is missing without one.

use super::*;
use std::format;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::string::ToString;

fn key(number: u32) -> Vec<u8> {
    format!("key {:09}", number.wrapping_mul(2_654_435_761) % 100_003).into_bytes()
}

fn sorter() -> ExternalSorter {
    ExternalSorter::new(ExternalOptions::new(MEMORY_BYTES_MIN))
}

/// A sorter with some runs in a file, which is given too.
fn with_file() -> (ExternalSorter, File) {
    let (mut sorter, file) = (sorter(), tempfile::tempfile().unwrap());
    sorter.space.use_file(file.try_clone().unwrap());
    (0..5000).for_each(|number| sorter.push(&key(number), b"payload").unwrap());
    assert!((2..16).contains(&sorter.stats().runs), "{:?}", sorter.stats());
    (sorter, file)
}

/// Takes all records, or the first error.
fn take(sorter: &mut ExternalSorter) -> Result<usize, ExternalError> {
    let mut records = sorter.finish()?;
    let mut count = 0;
    while records.next_record()?.is_some() {
        count += 1;
    }
    Ok(count)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_call_can_be_repeated_with_room() {
    let mut sorter = sorter();
    let full = || File::options().read(true).write(true).open("/dev/full").unwrap();
    sorter.space.use_file(full());
    let mut refused = 0;
    for number in 0..5000 {
        if let Err(error) = sorter.push(&key(number), b"") {
            assert!(matches!(error, ExternalError::Write { .. }), "{error}");
            assert!(error.to_string().contains("make room there and repeat the call"), "{error}");
            refused += 1;
            sorter.space.next_file();
            sorter.push(&key(number), b"").unwrap();
        }
    }
    assert_eq!(refused, 1);
    sorter.spill().unwrap();
    sorter.release();
    sorter.space.use_file(full());
    let runs = sorter.runs.len();
    assert!(matches!(sorter.merge_window(0..2), Err(ExternalError::Write { .. })));
    assert_eq!(sorter.runs.len(), runs);
    sorter.space.next_file();
    sorter.merge_window(0..2).unwrap();
    assert_eq!(take(&mut sorter).unwrap(), 5000);
}

#[test]
fn a_file_that_was_cut_off_is_an_error() {
    let (mut sorter, file) = with_file();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    let error = take(&mut sorter).unwrap_err();
    assert!(error.to_string().contains("the file ends before the run does"), "{error}");
}

#[test]
fn a_changed_byte_is_an_error_wherever_it_is() {
    let (mut sorter, mut file) = with_file();
    assert_eq!(take(&mut sorter).unwrap(), 5000);
    let bytes = file.metadata().unwrap().len();
    for at in (0..bytes).step_by(bytes as usize / 50).chain([0, 3, 4, 11, 12, bytes - 1]) {
        let mut byte = [0];
        file.seek(SeekFrom::Start(at)).unwrap();
        std::io::Read::read_exact(&mut file, &mut byte).unwrap();
        let mut put = |value: u8| {
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&[value]).unwrap();
        };
        put(byte[0] ^ 4);
        let error = take(&mut sorter).unwrap_err();
        assert!(matches!(error, ExternalError::Damaged { .. }), "byte {at}: {error}");
        put(byte[0]);
    }
    assert_eq!(take(&mut sorter).unwrap(), 5000);
}

#[test]
fn after_an_error_no_more_records_are_given() {
    let (mut sorter, file) = with_file();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    let Ok(mut records) = sorter.finish() else { return };
    while let Ok(record) = records.next_record() {
        assert!(record.is_some(), "the end came without an error");
    }
    assert!(matches!(records.next_record(), Ok(None)));
}

#[test]
fn files_are_closed_when_their_runs_are_merged() {
    let mut sorter = sorter();
    (0..40_000).for_each(|number| sorter.push(&key(number), b"").unwrap());
    sorter.spill().unwrap();
    sorter.release();
    let files = |sorter: &ExternalSorter| {
        let mut files: Vec<_> = sorter.runs.iter().map(Run::file).collect();
        files.sort_unstable();
        files.dedup();
        files.len()
    };
    let (runs, before) = (sorter.runs.len(), files(&sorter));
    assert!(runs > 32 && before == runs.div_ceil(16), "{runs} runs in {before} files");
    sorter.merge_window(0..32).unwrap();
    assert!(files(&sorter) < before, "{} files of {before}", files(&sorter));
    assert_eq!(take(&mut sorter).unwrap(), 40_000);
}
