//! When the statements of a background rate are due.

use crate::clock::Moment;
use rqps_model::Pacer;
use std::time::Duration;

/// Most lateness that the even pacer makes up for.
const MADE_UP_MAX: Duration = Duration::from_secs(1);
/// What a burst may take without the pacer resting after it.
const BURST_MAX: Duration = Duration::from_millis(950);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Timetable {
    /// See [`Pacer::Even`].
    Even {
        /// When the next statement is due.
        due: Moment,
        /// From one statement to the next.
        interval: Duration,
    },
    /// See [`Pacer::Burst`].
    Burst {
        /// Statements per second.
        rounds: u64,
        /// The number of the next one.
        round: u64,
        /// When the last burst began.
        last_check: Moment,
    },
}

impl Timetable {
    /// For client `client` of `clients`, each of which inserts `rows_per_second` rows in statements of
    /// `rows_per_statement`. The even pacer has a statement due in the middle of its slot, so that every second has
    /// its full number even if some are a little late, and shares the slot out among clients.
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
                Self::Burst { rounds, round: 0, last_check: start }
            }
        }
    }

    /// When the next statement may be made, asked before each of them.
    pub fn next(&mut self, now: Moment) -> Moment {
        match self {
            Self::Even { due, interval } => {
                let late = Duration::from_nanos(now.ns_since(*due));
                let this = *due + late.saturating_sub(MADE_UP_MAX);
                *due = this + *interval;
                this
            }
            Self::Burst { rounds, round, last_check } => {
                // Statement 0 is a burst of its own, then `rounds` of them make one.
                let begins = *round > 0 && (*round - 1) % *rounds == 0;
                *round += 1;
                if !begins {
                    return now;
                }
                let elapsed = Duration::from_nanos(now.ns_since(*last_check));
                let rest = if elapsed < BURST_MAX { SECOND - elapsed } else { Duration::ZERO };
                *last_check = now + rest;
                *last_check
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When `statements` are made, in ms, by a maker whose statement `i` takes `takes_ms(i)`.
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
    fn even_statements_fill_every_second_and_clients_take_turns() {
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
    fn the_even_pacer_makes_up_for_a_second_and_no_more() {
        let start = Moment::now();
        let mut timetable = Timetable::new(Pacer::Even, (0, 1), 1000, 50, start);
        // Statement 9, due at 475 ms, takes four seconds.
        let made = made_ms(&mut timetable, start, 200, |i| if i == 9 { 4000 } else { 0 });
        assert_eq!((made[9], made[10]), (475, 4475));
        let at_once = made.iter().filter(|ms| **ms == 4475).count();
        assert_eq!(at_once, 21, "one second's statements, and the one that is due");
        assert_eq!(made[31], 4525);
        // A short delay is made up for whole.
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
        // Ten statements of 150 ms overrun the second: no rest, nothing made up.
        let mut timetable = Timetable::new(Pacer::Burst, (0, 1), 500, 50, start);
        let made = made_ms(&mut timetable, start, 41, |i| if (1..=10).contains(&i) { 150 } else { 2 });
        assert_eq!((made[1], made[10], made[11], made[21], made[31]), (1000, 2350, 2500, 3500, 4500));
    }

    #[test]
    fn a_rate_that_is_no_multiple_of_a_statement_is_rounded_up_by_bursts_only() {
        let start = Moment::now();
        let Timetable::Burst { rounds, .. } = Timetable::new(Pacer::Burst, (0, 1), 120, 50, start) else {
            panic!("no burst");
        };
        assert_eq!(rounds, 3);
        let mut even = Timetable::new(Pacer::Even, (0, 1), 120, 50, start);
        assert_eq!(made_ms(&mut even, start, 25, |_| 0)[24], 10_208);
    }
}
