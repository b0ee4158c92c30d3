//! Clients of our own: sessions of a DBMS in the hands of the load engine.

use rqps_driver::{Clients, Flush};
use rqps_probe::FlushProcedure;
use rqps_wire::{Error as Wire, Session};
use std::time::Duration;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// What the crate's scale of 0 to 100 calls the usual niceness.
const PRIORITY_OF_NICE_0: u8 = 48;

/// Clients of our own, whose sessions `connect` gives.
pub(crate) fn clients<'a, S: Session>(
    gives_way: bool,
    connect: impl Fn() -> Result<S, Wire> + Sync + 'a,
) -> Clients<'a> {
    Clients::new(move |_| {
        if gives_way {
            give_way();
        }
        connect()
    })
}

/// Has this thread give way to the server, which runs on the same CPU: under this policy it takes the CPU from nobody
/// when it wakes, and gets no less of it in the long run. Else it depends on the scheduler whether a client's next
/// statement is there before the server looks for it, and a server that finds none executes some more instructions to
/// wait for it. Where the system refuses this, clients compete.
fn give_way() {
    let nice = rustix::process::getpriority_process(None);
    let Ok(priority) = ThreadPriorityValue::try_from(PRIORITY_OF_NICE_0) else { return };
    let _policy = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(priority),
        ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch),
    );
    // The call sets both; only the policy is wanted.
    let _back = nice.and_then(|nice| rustix::process::setpriority_process(None, nice));
}

/// How sessions hand their statistics in, as the load engine is told.
pub(crate) fn flush(how: FlushProcedure) -> Flush {
    Flush { idle: Duration::from_millis(how.idle_ms), sql: how.session_sql.to_owned() }
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
