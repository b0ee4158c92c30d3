//! Sessions of a DBMS as clients of the load engine.

use rqps_driver::{Clients, Flush};
use rqps_probe::FlushProcedure;
use rqps_wire::{Error as Wire, Session};
use std::time::Duration;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Niceness 0 on the scale of `thread_priority`, 0 to 100.
const PRIORITY_OF_NICE_0: u8 = 48;

/// Clients with sessions from `connect`.
pub(crate) fn clients<'a, S: Session>(
    yields_cpu: bool,
    connect: impl Fn() -> Result<S, Wire> + Sync + 'a,
) -> Clients<'a> {
    Clients::new(move |_| {
        if yields_cpu {
            give_way();
        }
        connect()
    })
}

/// Switches this thread to SCHED_BATCH, so that it yields to the server on the same CPU: it preempts nobody
/// when it wakes, and gets no less CPU time in the long run. Otherwise the scheduler decides whether a
/// client's next statement arrives before the server looks for it, and a server that finds none executes some
/// more instructions to wait. No effect if the system refuses.
fn give_way() {
    let nice = rustix::process::getpriority_process(None);
    let Ok(priority) = ThreadPriorityValue::try_from(PRIORITY_OF_NICE_0) else { return };
    let _policy = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(priority),
        ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch),
    );
    // The call above also sets the niceness.
    let _restored = nice.and_then(|nice| rustix::process::setpriority_process(None, nice));
}

/// The flush procedure in the form of the load engine.
pub(crate) fn flush(procedure: FlushProcedure) -> Flush {
    Flush { idle: Duration::from_millis(procedure.idle_ms), sql: procedure.session_sql.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field of `/proc/thread-self/stat`, counted from 1 as proc(5) does.
    fn field(number: usize) -> i64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let after_name = stat.rsplit_once(") ").unwrap().1;
        after_name.split(' ').nth(number - 3).unwrap().parse().unwrap()
    }

    #[test]
    fn giving_way_changes_the_policy_and_not_the_niceness() {
        const NICE: usize = 19;
        const POLICY: usize = 41;
        const SCHED_BATCH: i64 = 3;
        let nice = field(NICE);
        give_way();
        assert_eq!((field(NICE), field(POLICY)), (nice, SCHED_BATCH));
    }
}
