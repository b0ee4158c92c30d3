//! What the virtual users counted in the window: transactions of each kind, with their times.

use super::error::Error;
use crate::error::StepError;
use crate::event::latency_histogram;
use crate::result::KindResult;
use hdrhistogram::Histogram;
use rqps_workloads::expect::Answers;
use rqps_workloads::tproc_c::{TRANSACTIONS, Transaction};
use std::path::Path;

/// Names of HammerDB's procedures, in the order of [`Transaction::ALL`].
const PROCEDURES: [&str; 5] = ["neword", "payment", "delivery", "slev", "ostat"];

/// Counts of all virtual users.
pub(super) struct Counts {
    /// In the order of the test's statements.
    pub kinds: Vec<KindResult>,
    /// Of all transactions.
    pub event_ns: Histogram<u64>,
    /// Transactions of each user.
    pub work: Vec<u64>,
}

impl Counts {
    /// Reads the file of each virtual user; the first is number 2, since the monitor is a user, too.
    pub fn read(tmp: &Path, users: u32) -> Result<Self, StepError> {
        let mut counts = Self::none()?;
        for user in 2..users + 2 {
            let path = tmp.join(format!("rqps-times-{user}"));
            let text = std::fs::read_to_string(&path).map_err(|source| Error::Counts { path, source })?;
            counts.add(&text)?;
        }
        Ok(counts)
    }

    fn none() -> Result<Self, StepError> {
        let event_ns = latency_histogram()?;
        let kind =
            |kind| KindResult { kind, answers: Answers::default(), sent_ns: event_ns.clone(), retries: 0 };
        let kinds = TRANSACTIONS.statements().map(|statement| kind(statement.kind)).collect();
        Ok(Self { kinds, event_ns, work: Vec::new() })
    }

    /// Adds a virtual user's lines: procedure, microseconds, how many took them.
    fn add(&mut self, text: &str) -> Result<(), Error> {
        let mut work = 0;
        for line in text.lines() {
            let unknown = || Error::Output(format!("the count `{line}`"));
            let [procedure, us, count] = *line.split(' ').collect::<Vec<_>>().as_slice() else {
                return Err(unknown());
            };
            let (Ok(us), Ok(count)) = (us.parse::<u64>(), count.parse::<u64>()) else {
                return Err(unknown());
            };
            let at = PROCEDURES.iter().position(|name| *name == procedure).ok_or_else(unknown)?;
            let kind = &mut self.kinds[Transaction::ALL[at] as usize];
            kind.answers.count += count;
            kind.sent_ns.saturating_record_n(us * 1000, count);
            self.event_ns.saturating_record_n(us * 1000, count);
            work += count;
        }
        self.work.push(work);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_all_users_are_added_up() {
        let mut counts = Counts::none().unwrap();
        counts.add("neword 1200 3\nostat 450 1\n").unwrap();
        counts.add("neword 2500 1\n").unwrap();
        assert_eq!(counts.work, [4, 1]);
        let new_order = &counts.kinds[Transaction::NewOrder as usize];
        assert_eq!((new_order.kind, new_order.answers.count, new_order.sent_ns.len()), ("new-order", 4, 4));
        assert!((2_490_000..2_510_000).contains(&new_order.sent_ns.max()));
        assert_eq!(counts.kinds[Transaction::OrderStatus as usize].answers.count, 1);
        assert_eq!(counts.event_ns.len(), 5);
        assert!(counts.add("neworder 1 1").is_err());
    }
}
