//! What a client thread does: the loop around an operation of the engine.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use rqps_model::random::{Stream, name_word};

use crate::database::Database;
use crate::entries::{Key, Values};
use crate::error::Result;
use crate::gate::Gate;
use crate::latencies::Latencies;
use crate::protocol::{Background, End, KEYS_PER_MULTI_GET, RunSpec, Work};

/// Bytes of a value that a scan copies.
const COPIED_BYTES_MAX: usize = 256;
/// The background writer sleeps this long when it is ahead of its rate.
const AHEAD_SLEEP: Duration = Duration::from_millis(1);

const NS_PER_S: u64 = 1_000_000_000;

/// What a client did in one phase.
pub(crate) struct Tally {
    pub operations: u64,
    pub elapsed_ns: u64,
    pub bytes: u64,
    pub entries: u64,
    pub missing: u64,
    pub per_second: Vec<u64>,
    pub latencies: Latencies,
}

pub(crate) struct Client<'a> {
    database: &'a Database,
    spec: &'a RunSpec,
    number: u32,
    random: Stream,
    key: Key,
    keys: [Key; KEYS_PER_MULTI_GET],
    values: Values,
    copied: [u8; COPIED_BYTES_MAX],
    /// The next key of [`Work::FillSequential`].
    next: u64,
}

/// What one operation read or wrote.
struct Did {
    bytes: usize,
    entries: u64,
    missing: u64,
}

impl<'a> Client<'a> {
    pub fn new(database: &'a Database, spec: &'a RunSpec, number: u32) -> Self {
        let words = |purpose| [spec.seed, name_word(purpose), number.into()];
        let mut of_values = Stream::new(&words("values"));
        Self {
            database,
            spec,
            number,
            random: Stream::new(&words("warm-up")),
            key: Key::new(spec.key_bytes),
            keys: std::array::from_fn(|_| Key::new(spec.key_bytes)),
            values: Values::new(spec.value_bytes, spec.compression_ratio, &mut of_values),
            copied: [0; COPIED_BYTES_MAX],
            next: spec.keys * u64::from(number) / u64::from(spec.clients.max(1)),
        }
    }

    /// The window's keys do not depend on how far the warm-up came.
    pub fn begin_window(&mut self) {
        self.random = Stream::new(&[self.spec.seed, name_word("window"), self.number.into()]);
    }

    /// Works until the end of the phase. An error goes to the gate.
    pub fn run(&mut self, end: &End, gate: &Gate) -> Option<Tally> {
        self.operations(end, gate).map_err(|error| gate.fail(error)).ok()
    }

    fn operations(&mut self, end: &End, gate: &Gate) -> Result<Tally> {
        let mut tally = Tally::new();
        let operations_max = match end {
            End::Seconds(seconds) if *seconds <= 0.0 => 0,
            End::Seconds(_) => u64::MAX,
            End::Operations(each) => each.get(self.number as usize).copied().unwrap_or(0),
        };
        let done = gate.counter(self.number);
        let start_ns = now_ns();
        let (mut last_ns, mut second_end_ns, mut second_began_at) = (start_ns, start_ns + NS_PER_S, 0);
        // Locals stay in registers.
        let (mut operations, mut bytes, mut entries, mut missing) = (0, 0, 0, 0);
        while operations < operations_max && !gate.is_stopped() {
            let did = self.operation()?;
            let now_ns = now_ns();
            tally.latencies.record(now_ns - last_ns);
            last_ns = now_ns;
            while now_ns >= second_end_ns {
                tally.per_second.push(operations - second_began_at);
                (second_began_at, second_end_ns) = (operations, second_end_ns + NS_PER_S);
            }
            operations += 1;
            bytes += did.bytes as u64;
            entries += did.entries;
            missing += did.missing;
            done.store(operations, Ordering::Relaxed);
        }
        if operations > second_began_at {
            tally.per_second.push(operations - second_began_at);
        }
        let elapsed_ns = last_ns - start_ns;
        Ok(Tally { operations, elapsed_ns, bytes, entries, missing, ..tally })
    }

    #[inline]
    fn operation(&mut self) -> Result<Did> {
        match self.spec.work {
            Work::FillSequential => {
                let number = self.next;
                self.next += 1;
                self.put(number)
            }
            Work::Overwrite => {
                let number = self.random_number();
                self.put(number)
            }
            Work::Get => {
                let number = self.random_number();
                let found = self.database.get(self.key.set(number))?;
                Ok(self.did_find(u64::from(found.is_some()), found.unwrap_or(0), 1))
            }
            Work::MultiGet => {
                for at in 0..KEYS_PER_MULTI_GET {
                    let number = self.random_number();
                    self.keys[at].set(number);
                }
                let keys = std::array::from_fn::<_, KEYS_PER_MULTI_GET, _>(|at| self.keys[at].bytes());
                let (found, bytes) = self.database.multi_get(&keys)?;
                Ok(self.did_find(found, bytes, KEYS_PER_MULTI_GET as u64))
            }
            Work::Scan { entries, reverse } => self.scan(entries, reverse),
        }
    }

    #[inline]
    fn random_number(&mut self) -> u64 {
        ((u128::from(self.random.bits()) * u128::from(self.spec.keys)) >> 64) as u64
    }

    #[inline]
    fn put(&mut self, number: u64) -> Result<Did> {
        let (key, value) = (self.key.set(number), self.values.next());
        self.database.put(key, value)?;
        Ok(Did { bytes: key.len() + value.len(), entries: 1, missing: 0 })
    }

    #[inline]
    fn did_find(&self, found: u64, value_bytes: usize, asked: u64) -> Did {
        let key_bytes = self.key.bytes().len() * found as usize;
        Did { bytes: key_bytes + value_bytes, entries: found, missing: asked - found }
    }

    #[inline]
    fn scan(&mut self, entries: u32, reverse: bool) -> Result<Did> {
        let number = self.random_number();
        let key = self.key.set(number);
        let mut iterator = self.database.iterator();
        let mut is_valid = iterator.seek(key);
        let missing = u64::from(!is_valid || iterator.key() != key);
        let mut did = Did { bytes: 0, entries: 0, missing };
        while is_valid && did.entries < u64::from(entries) {
            let value = iterator.value();
            let copied = value.len().min(COPIED_BYTES_MAX);
            self.copied[..copied].copy_from_slice(&value[..copied]);
            std::hint::black_box(&self.copied);
            did.bytes += iterator.key().len() + value.len();
            did.entries += 1;
            is_valid = iterator.step(reverse);
        }
        if !is_valid {
            iterator.check()?;
        }
        Ok(did)
    }
}

impl Tally {
    fn new() -> Self {
        Self {
            operations: 0,
            elapsed_ns: 0,
            bytes: 0,
            entries: 0,
            missing: 0,
            per_second: Vec::new(),
            latencies: Latencies::new(),
        }
    }
}

/// Nanoseconds of the clock that only goes forward: `Instant` takes three times as many instructions. Linux always has
/// that clock.
#[inline]
fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |now| now.tv_sec() as u64 * NS_PER_S + now.tv_nsec() as u64)
}

/// Puts random keys at a rate until the phase ends.
pub(crate) fn write_in_background(
    database: &Database,
    spec: &RunSpec,
    bytes_per_s: f64,
    purpose: &str,
    gate: &Gate,
) -> Background {
    let mut random = Stream::new(&[spec.seed, name_word(purpose)]);
    let mut values = Values::new(spec.value_bytes, spec.compression_ratio, &mut random);
    let mut key = Key::new(spec.key_bytes);
    let mut did = Background::default();
    let start = Instant::now();
    while !gate.is_stopped() {
        if did.bytes as f64 > bytes_per_s * start.elapsed().as_secs_f64() {
            std::thread::sleep(AHEAD_SLEEP);
            continue;
        }
        let number = ((u128::from(random.bits()) * u128::from(spec.keys)) >> 64) as u64;
        let (key, value) = (key.set(number), values.next());
        if let Err(error) = database.put(key, value) {
            gate.fail(error);
            break;
        }
        did.operations += 1;
        did.bytes += (key.len() + value.len()) as u64;
    }
    did.elapsed_s = start.elapsed().as_secs_f64();
    did
}
