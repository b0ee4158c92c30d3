//! Schedules of background writes.

use crate::clock::Moment;
use rqps_model::Pacer;
use std::time::Duration;

/// The even pacer catches up with at most this much lateness.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);
/// The burst pacer does not sleep after a burst that took at least this long.
const BURST_MAX: Duration = Duration::from_millis(950);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Timetable {
    /// See [`Pacer::Even`].
    Even {
        /// When the next statement is due.
        due: Moment,
        interval: Duration,
    },
    /// See [`Pacer::Burst`].
    Burst {
        /// Statements per second.
        rounds: u64,
        /// The number of the next statement.
        round: u64,
        /// When the last burst began.
        burst_start: Moment,
    },
}

impl Timetable {
    /// The schedule of client `client` of `clients`, each of which inserts `rows_per_second` rows in
    /// statements of `rows_per_statement`. With the even pacer a statement is due in the middle of its slot,
    /// so that every second has its full number even if some are a little late; clients are spread over the
    /// slot.
    pub fn new(
        pacer: Pacer,
        (client, clients): (u32, u32),
        rows_per_second: u32,
        rows_per_statement: u32,
        start: Moment,
    ) -> Self {
        let per_second = f64::from(rows_per_second) / f64::from(rows_per_statement.max(1));
        match pacer {
            Pacer::Even => {
                let interval = Duration::from_secs_f64(1.0 / per_second.max(f64::MIN_POSITIVE));
                let place = (f64::from(client) + 0.5) / f64::from(clients.max(1));
                Self::Even { due: start + interval.mul_f64(place), interval }
            }
            Pacer::Burst => {
                let rounds = (per_second.ceil() as u64).max(1);
                Self::Burst { rounds, round: 0, burst_start: start }
            }
        }
    }

    /// Returns when the next statement is due. Call it once before each statement.
    pub fn next(&mut self, now: Moment) -> Moment {
        match self {
            Self::Even { due, interval } => {
                let late = Duration::from_nanos(now.ns_since(*due));
                let this = *due + late.saturating_sub(CATCH_UP_MAX);
                *due = this + *interval;
                this
            }
            Self::Burst { rounds, round, burst_start } => {
                // Statement 0 is a burst by itself; after it, every `rounds` statements are one.
                let begins = *round > 0 && (*round - 1) % *rounds == 0;
                *round += 1;
                if !begins {
                    return now;
                }
                let elapsed = Duration::from_nanos(now.ns_since(*burst_start));
                let rest = if elapsed < BURST_MAX { SECOND - elapsed } else { Duration::ZERO };
                *burst_start = now + rest;
                *burst_start
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times at which `statements` are made, in ms, if statement `i` takes `takes_ms(i)`.
    fn made_ms(
        timetable: &mut Timetable,
        start: Moment,
        statements: u64,
        takes_ms: impl Fn(u64) -> u64,
    ) -> Vec<u64> {
        let mut now = start;
        (0..statements)
            .map(|i| {
                now = timetable.next(now).max(now);
                let made = now.ns_since(start) / 1_000_000;
                now = now + Duration::from_millis(takes_ms(i));
                made
            })
            .collect()
    }

    #[test]
    fn even_statements_fill_every_second_and_clients_alternate() {
        let start = Moment::now();
        let mut all: Vec<u64> = (0..2)
            .flat_map(|client| {
                let mut timetable = Timetable::new(Pacer::Even, (client, 2), 100, 50, start);
                made_ms(&mut timetable, start, 10, |_| 3)
            })
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..20).map(|i| 125 + 250 * i).collect::<Vec<_>>());
    }

    #[test]
    fn the_even_pacer_catches_up_with_at_most_a_second() {
        let start = Moment::now();
        let mut timetable = Timetable::new(Pacer::Even, (0, 1), 1000, 50, start);
        // Statement 9, due at 475 ms, takes four seconds.
        let made = made_ms(&mut timetable, start, 200, |i| if i == 9 { 4000 } else { 0 });
        assert_eq!((made[9], made[10]), (475, 4475));
        let at_once = made.iter().filter(|ms| **ms == 4475).count();
        assert_eq!(at_once, 21, "one second's statements, and the one that is due");
        assert_eq!(made[31], 4525);
        // A short delay is caught up with completely.
        let mut timetable = Timetable::new(Pacer::Even, (0, 1), 1000, 50, start);
        let made = made_ms(&mut timetable, start, 100, |i| if i == 9 { 600 } else { 0 });
        assert_eq!(made[99], 4975);
    }

    #[test]
    fn bursts_begin_a_second_apart_and_an_overrun_is_lost() {
        let start = Moment::now();
        let mut timetable = Timetable::new(Pacer::Burst, (0, 1), 500, 50, start);
        let made = made_ms(&mut timetable, start, 31, |_| 2);
        assert_eq!((made[0], made[1], made[10], made[11], made[21]), (0, 1000, 1018, 2000, 3000));
        // Ten statements of 150 ms overrun the second: no sleep, no catching up.
        let mut timetable = Timetable::new(Pacer::Burst, (0, 1), 500, 50, start);
        let made = made_ms(&mut timetable, start, 41, |i| if (1..=10).contains(&i) { 150 } else { 2 });
        assert_eq!((made[1], made[10], made[11], made[21], made[31]), (1000, 2350, 2500, 3500, 4500));
    }

    #[test]
    fn only_bursts_round_a_rate_up_to_whole_statements() {
        let start = Moment::now();
        let Timetable::Burst { rounds, .. } = Timetable::new(Pacer::Burst, (0, 1), 120, 50, start) else {
            panic!("no burst");
        };
        assert_eq!(rounds, 3);
        let mut even = Timetable::new(Pacer::Even, (0, 1), 120, 50, start);
        assert_eq!(made_ms(&mut even, start, 25, |_| 0)[24], 10_208);
    }
}
