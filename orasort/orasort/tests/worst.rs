//! Keys made to be slow or to need deep recursion: time, stack and memory stay within bounds.

use std::time::{Duration, Instant};

use orasort::{Arena, Keys, Options};

/// The prefixes of one long string: every key is a prefix of the next. One level of nesting a word.
struct Prefixes {
    bytes: Vec<u8>,
    lens: Vec<usize>,
}

impl Keys for Prefixes {
    fn len(&self) -> usize {
        self.lens.len()
    }
    fn key(&self, row: usize) -> &[u8] {
        &self.bytes[..self.lens[row]]
    }
}

fn on_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no overflow of the stack");
    });
}

/// CPU time of this thread, which depends little on what else the machine does; where the system does not tell it, time
/// that passes.
struct Stopwatch {
    cpu: Option<Duration>,
    started: Instant,
}

impl Stopwatch {
    fn start() -> Self {
        Self { cpu: Self::cpu(), started: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let cpu = self.cpu.zip(Self::cpu()).map(|(before, now)| now - before);
        cpu.unwrap_or_else(|| self.started.elapsed())
    }

    fn cpu() -> Option<Duration> {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        told.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    }
}

fn time_limit(release: Duration) -> Duration {
    if cfg!(debug_assertions) { release * 60 } else { release }
}

/// An order without a pattern: a walk by a step that has no divisor in common with the length.
fn shuffled(len: usize) -> Vec<usize> {
    (0..len).map(|n| n * 7919 % len).collect()
}

#[test]
#[cfg_attr(miri, ignore)]
fn staircase() {
    for lens in [shuffled(12_000), (0..12_000).rev().map(|n| n ^ 1).collect()] {
        on_small_stack(|| {
            let owned: Vec<Vec<u8>> = lens.iter().map(|len| vec![b'a'; *len]).collect();
            let watch = Stopwatch::start();
            let rows = orasort::argsort(&owned);
            let elapsed = watch.elapsed();
            assert!(rows.iter().enumerate().all(|(n, row)| owned[*row as usize].len() == n));
            assert!(elapsed < time_limit(Duration::from_millis(300)), "{elapsed:?}");
        });
    }
}

/// Each level splits one key off to the right, so that a frame of every level waits.
#[test]
#[cfg_attr(miri, ignore)]
fn staircase_to_the_left() {
    on_small_stack(|| {
        let len = 12_000;
        let bytes: Vec<u8> =
            shuffled(len).iter().flat_map(|n| [vec![b'a'; *n], vec![b'b']].concat()).collect();
        let mut offsets = vec![0];
        offsets.extend(shuffled(len).iter().scan(0usize, |end, n| {
            *end += n + 1;
            Some(*end)
        }));
        let arena = Arena { bytes: &bytes, offsets: &offsets };
        let watch = Stopwatch::start();
        let rows = orasort::argsort_with(&arena, Options { stable: true, ..Options::default() });
        let elapsed = watch.elapsed();
        assert!(rows.iter().enumerate().all(|(n, row)| arena.key(*row as usize).len() == len - n));
        assert!(elapsed < time_limit(Duration::from_millis(400)), "{elapsed:?}");
    });
}

/// Half of all bits vary, and each digit splits off one key: the pattern against radix steps.
#[test]
#[cfg_attr(miri, ignore)]
fn one_bit_each() {
    let keys: Vec<u128> =
        (0..120_000u32).map(|n| 1u128 << (n * 7919 % 120) | u128::from(n * 31 % 11)).collect();
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_be_bytes()).collect();
    let watch = Stopwatch::start();
    let rows = orasort::argsort(&orasort::FixedWidth { bytes: &bytes, width: 16 });
    let elapsed = watch.elapsed();
    assert!(rows.windows(2).all(|pair| keys[pair[0] as usize] <= keys[pair[1] as usize]));
    assert!(elapsed < time_limit(Duration::from_millis(60)), "{elapsed:?}");
}

/// Equal keys that are long, with one that differs at the end: a guess that fails at the last.
#[test]
#[cfg_attr(miri, ignore)]
fn long_equal_keys() {
    let prefixes = Prefixes {
        bytes: vec![0; 20_000],
        lens: (0..2_000).map(|n| 20_000 - usize::from(n == 1_999)).collect(),
    };
    let watch = Stopwatch::start();
    let rows = orasort::argsort(&prefixes);
    let elapsed = watch.elapsed();
    assert_eq!(rows[0], 1_999);
    assert!(elapsed < time_limit(Duration::from_millis(100)), "{elapsed:?}");
}
