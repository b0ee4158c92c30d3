//! Files that are damaged in every way: each grammar must give a document or an error with a line, never a panic.
//!
//! `RQPS_FUZZ_SECONDS=3600 cargo test --release -p rqps-import --test formats fuzz` runs for an hour.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rqps_import::Format;

use crate::samples;

/// Damage to a file.
#[derive(Debug, Clone)]
pub enum Damage {
    CutAt(prop::sample::Index),
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    DropLine(prop::sample::Index),
    RepeatLine(prop::sample::Index),
    /// Another number in place of one of the file's.
    Number(prop::sample::Index, &'static str),
}

pub fn damage() -> impl Strategy<Value = Damage> {
    let numbers = [
        "0",
        "-1",
        "1e308",
        "18446744073709551616",
        "9999999999999999999999",
        "NaN",
        "inf",
        "",
        "0.0000001",
        "4294967296",
    ];
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Damage::CutAt),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..8))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        any::<prop::sample::Index>().prop_map(Damage::DropLine),
        any::<prop::sample::Index>().prop_map(Damage::RepeatLine),
        (any::<prop::sample::Index>(), prop::sample::select(numbers.to_vec()))
            .prop_map(|(at, number)| Damage::Number(at, number)),
    ]
}

pub fn damaged(mut bytes: Vec<u8>, all: &[Damage]) -> Vec<u8> {
    for one in all {
        if bytes.is_empty() {
            break;
        }
        match one {
            Damage::CutAt(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Replace(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Damage::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            Damage::DropLine(at) | Damage::RepeatLine(at) => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let at = at.index(lines.len());
                if matches!(one, Damage::DropLine(_)) {
                    lines.remove(at);
                } else {
                    lines.insert(at, lines[at].clone());
                }
                bytes = lines.join(&b'\n');
            }
            Damage::Number(at, number) => {
                let starts: Vec<usize> = (0..bytes.len())
                    .filter(|at| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[at - 1].is_ascii_digit()))
                    .collect();
                if starts.is_empty() {
                    continue;
                }
                let start = starts[at.index(starts.len())];
                let end = bytes[start..]
                    .iter()
                    .position(|byte| !byte.is_ascii_digit())
                    .map_or(bytes.len(), |length| start + length);
                bytes.splice(start..end, number.bytes());
            }
        }
    }
    bytes
}

/// Real files and synthetic ones, of every format that is parsed.
fn seeds() -> Vec<Vec<u8>> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let files = fs::read_dir(files).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.chain(samples::ALL.iter().map(|(_, text)| text.as_bytes().to_vec())).collect()
}

fn check(bytes: &[u8]) {
    // Found or not: a user may name any format with --as.
    let found = Format::of(&bytes[..bytes.len().min(1 << 16)]);
    for format in Format::ALL.into_iter().filter(|format| *format != Format::HammerdbJobs) {
        match format.parse(bytes) {
            Err(broken) => assert!(!broken.why.is_empty(), "{format}: {broken:?}"),
            Ok(document) => {
                for measurement in document.measurements {
                    let rate = measurement.work.map(|work| work.per_second());
                    let is_sane = rate.is_none_or(|rate| rate.is_finite() && rate >= 0.0);
                    assert!(is_sane, "{format} of {found:?}: {rate:?}");
                }
            }
        }
    }
}

/// When to end; `None`: after one round.
pub fn end() -> Option<Instant> {
    let seconds = std::env::var("RQPS_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds))
}

#[test]
fn no_damage_makes_a_grammar_panic() {
    let until = end();
    let mut rounds = 0u64;
    loop {
        let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
        let strategy = (prop::sample::select(seeds()), prop::collection::vec(damage(), 1..6));
        let done = TestRunner::new(config).run(&strategy, |(seed, all)| {
            check(&damaged(seed, &all));
            Ok(())
        });
        done.unwrap();
        rounds += 1;
        if until.is_none_or(|until| Instant::now() >= until) {
            println!("{} damaged files", rounds * 300);
            return;
        }
    }
}

#[test]
fn samples_are_found_by_their_content() {
    for (format, text) in samples::ALL {
        assert_eq!(Format::of(text.as_bytes()), [*format], "{text}");
        if let Err(broken) = format.parse(text.as_bytes()) {
            panic!("{format}: {broken:?}");
        }
    }
}
