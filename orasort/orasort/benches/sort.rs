//! `cargo bench`: this library beside the sorts of std, on four shapes of keys. CPU time is not to be had without more
//! than std: run it on an idle machine, and take the ratios.
//!
//! The whole comparison, with other crates, more shapes and counters, is `tools/bench` of the workspace.

use std::time::{Duration, Instant};

const KEYS: usize = 200_000;
const ROUNDS: usize = 7;

/// Numbers that look random: Marsaglia's xorshift with 64 bits of state, "Xorshift RNGs", 2003.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

type Shape = (&'static str, fn(&mut Xorshift) -> Vec<u8>);

const SHAPES: [Shape; 4] = [
    ("random 16", |random| [random.below(u64::MAX), random.below(u64::MAX)].map(u64::to_be_bytes).concat()),
    ("web address", |random| {
        let (site, year, page) = (random.below(500), random.below(5), random.below(100_000));
        format!("https://www.site-{site}.example/articles/202{year}/{page}.html").into_bytes()
    }),
    ("columns", |random| {
        let (tenant, customer, number) = (random.below(50), random.below(1_000), random.below(4_000_000));
        let mut key = tenant.to_be_bytes().to_vec();
        key.extend(format!("customer-{customer:06}\0").into_bytes());
        key.extend(number.to_be_bytes());
        key
    }),
    ("100 values", |random| vec![random.below(100) as u8; 40]),
];

/// The least time of the rounds, in ns per key.
fn least(mut once: impl FnMut() -> Duration) -> f64 {
    let least = (0..ROUNDS).map(|_| once()).min().unwrap_or_default();
    least.as_nanos() as f64 / KEYS as f64
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn main() {
    println!(
        "{:<12} {:>10} {:>10} {:>14} {:>10} {:>10}",
        "ns/key", "std", "std stable", "sort_unstable", "sort", "argsort"
    );
    for (name, make) in SHAPES {
        let mut random = Xorshift(42);
        let keys: Vec<Vec<u8>> = (0..KEYS).map(|_| make(&mut random)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut right = keys.clone();
        right.sort_unstable();
        let in_place = |sort: fn(&mut [&[u8]])| {
            least(|| {
                let mut sorted = keys.clone();
                let ((), elapsed) = timed(|| sort(&mut sorted));
                assert_eq!(sorted, right, "{name}");
                elapsed
            })
        };
        let sorts: [fn(&mut [&[u8]]); 4] = [
            |keys| keys.sort_unstable(),
            |keys| keys.sort(),
            |keys| orasort::sort_unstable(keys),
            |keys| orasort::sort(keys),
        ];
        let [std_unstable, std_stable, unstable, stable] = sorts.map(in_place);
        let argsort = least(|| {
            let (rows, elapsed) = timed(|| orasort::argsort(&keys));
            assert!(rows.iter().map(|row| keys[*row as usize]).eq(right.iter().copied()), "{name}");
            elapsed
        });
        println!(
            "{name:<12} {std_unstable:>10.1} {std_stable:>10.1} {unstable:>14.1} {stable:>10.1} {argsort:>10.1}"
        );
    }
}
