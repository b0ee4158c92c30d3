//! Reads the dose from the environment, or from a file that the environment names.

use crate::{FSYNC_EVERY, SLEEP_US, SPIN, STALL_EVERY, STALL_US, WAL_BYTES, ffi, wal};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// More than six lines of a name and a number.
const FILE_BYTES_MAX: usize = 512;

/// Each dose with its maximum. More than a second of work per message is no small slowdown.
const DOSES: [(&CStr, &AtomicU64, u64); 6] = [
    (c"RQPS_DOSE_SPIN", &SPIN, 1_000_000_000),
    (c"RQPS_DOSE_SLEEP_US", &SLEEP_US, 1_000_000),
    (c"RQPS_DOSE_WAL_BYTES", &WAL_BYTES, wal::BYTES_MAX),
    (c"RQPS_DOSE_FSYNC_EVERY", &FSYNC_EVERY, u64::MAX),
    (c"RQPS_DOSE_STALL_US", &STALL_US, 60_000_000),
    (c"RQPS_DOSE_STALL_EVERY", &STALL_EVERY, u64::MAX),
];

/// Reads the doses, or ends the process.
pub fn read() {
    let Some(path) = ffi::variable(c"RQPS_DOSE_FILE") else {
        for (name, dose, max) in DOSES {
            if let Some(value) = ffi::variable(name) {
                dose.store(number(name.to_bytes(), value.to_bytes(), max), Relaxed);
            }
        }
        return;
    };
    let mut buffer = [0; FILE_BYTES_MAX];
    let Some(text) = ffi::read_file(path, &mut buffer) else {
        ffi::exit_with(&[
            b"dose: RQPS_DOSE_FILE names ",
            path.to_bytes(),
            b", which this user cannot read\n",
        ]);
    };
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        parse_line(line);
    }
}

fn parse_line(line: &[u8]) {
    let (name, value) = match line.iter().position(|byte| *byte == b'=') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[][..]),
    };
    let Some((_, dose, max)) = DOSES.into_iter().find(|(known, ..)| known.to_bytes() == name) else {
        ffi::exit_with(&[b"dose: the file has `", line, b"`; write NAME=number with the name of a dose\n"]);
    };
    dose.store(number(name, value, max), Relaxed);
}

fn number(name: &[u8], text: &[u8], max: u64) -> u64 {
    let parsed = core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    match parsed.filter(|number| *number <= max) {
        Some(number) => number,
        None => {
            ffi::exit_with(&[b"dose: ", name, b" is `", text, b"`, which is not a number or is too large\n"])
        }
    }
}
