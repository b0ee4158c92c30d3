//! A list of jobs, and threads that take them from it.

use alloc::vec::Vec;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does `work` on every job, the last one first, on so many threads, this one among them. If it panics, so does this,
/// when all threads have ended.
///
/// Where the system gives no thread, the others do its work: nothing here fails but `work`.
pub(super) fn for_each<T: Send>(threads: usize, jobs: Vec<T>, work: impl Fn(T) + Sync) {
    let others = threads.min(jobs.len()).saturating_sub(1);
    let jobs = Mutex::new(jobs);
    let run = || {
        loop {
            // Nothing that panics runs under the lock.
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match job {
                Some(job) => work(job),
                None => break,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn every_job_is_done_once_by_any_number_of_threads() {
        for threads in [0, 1, 2, 7] {
            let sum = AtomicUsize::new(0);
            for_each(threads, (1..=100).collect(), |job: usize| {
                sum.fetch_add(job, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 5050, "{threads} threads");
        }
    }

    #[test]
    fn a_job_that_panics_is_not_kept_quiet() {
        for threads in [1, 3] {
            let jobs = (0..10).collect();
            let work = |job: usize| assert!(job != 4, "on purpose");
            assert!(
                catch_unwind(AssertUnwindSafe(|| for_each(threads, jobs, work))).is_err(),
                "{threads} threads"
            );
        }
    }
}
