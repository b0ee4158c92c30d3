//! Numbers drawn from a seed: written here, so that a data set stays the same whatever version a crate of random
//! numbers has.

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: the generator `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose numbers depend on the seed alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator for a part of the work: the same parent and name give the same numbers.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        let mixed = name.bytes().fold(seed, |state, byte| Self::new(state ^ u64::from(byte)).next_u64());
        Self::new(mixed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..end`; 0 when `end` is 0. The bias of the multiplication is below `end / 2^64`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }

    /// A number in `start..=last`.
    pub fn between(&mut self, start: usize, last: usize) -> usize {
        start + self.below(last - start + 1)
    }

    /// A number in `0.0..1.0`.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True once in `times` draws.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the choices.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Brings the items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Draws ranks in `0..n`, rank r with a probability in proportion to 1 / (r + 1): Zipf's law with exponent 1.
#[derive(Clone, Debug)]
pub struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    /// A law over `n` ranks.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let weights = (1..=n).scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        });
        Self { cumulated: weights.collect() }
    }

    /// The next rank.
    pub fn draw(&self, random: &mut Random) -> usize {
        let Some(total) = self.cumulated.last() else {
            return 0;
        };
        let at = random.fraction() * total;
        self.cumulated.partition_point(|sum| *sum <= at).min(self.cumulated.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_numbers() {
        // The first numbers of SplitMix64 from state 1234567, as its authors' test vectors have them.
        let mut random = Random::new(1_234_567);
        assert_eq!(
            [random.next_u64(), random.next_u64()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn the_first_rank_comes_as_often_as_zipf_says() {
        let (law, mut random) = (Zipf::new(1000), Random::new(1));
        let first = (0..100_000).filter(|_| law.draw(&mut random) == 0).count();
        // 1 / H(1000) = 0.1336
        assert!((12_900..13_800).contains(&first), "{first} of 100000");
    }
}
