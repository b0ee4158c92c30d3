//! The statements of an event: those of two tests differ, whatever the tests are called.

/// By how much the same test may differ.
const SHARE: f64 = 0.1;
const LEAST: f64 = 0.05;

/// Statements per event. Of failed events, what was done is counted, too: so the figures may be lower than they look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    pub reads: f64,
    pub writes: f64,
    /// Also those that begin and end transactions.
    pub all: f64,
    /// Failed events per event.
    pub failed: f64,
}

impl Mix {
    /// Whether both cannot be of one test. Writes tell nothing: those that change no row are none to sysbench.
    pub fn differs_from(&self, other: &Self) -> bool {
        let differ = |of: fn(&Self) -> f64| {
            let least = |one: &Self| of(one) / (1.0 + one.failed);
            let is_above = |one: &Self, other: &Self| least(one) > of(other) * (1.0 + SHARE) + LEAST;
            is_above(self, other) || is_above(other, self)
        };
        differ(|mix| mix.reads) || differ(|mix| mix.all)
    }

    /// `1 read and 0 writes`.
    pub fn words(&self) -> String {
        let count = |count: f64, noun: &str| {
            let text = format!("{count:.1}");
            let text = text.trim_end_matches(".0");
            format!("{text} {noun}{}", if text == "1" { "" } else { "s" })
        };
        format!("{} and {}", count(self.reads, "read"), count(self.writes, "write"))
    }
}
