//! Sampling of processes of which some end just then.

use rqps_probe::profile::{CallGraph, Perf, Recorder};
use rqps_probe::{ServerTarget, WorkIn};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Whatever ends between the listing of a server's processes and their sampling, the others are sampled.
#[test]
fn a_process_that_ends_meanwhile_keeps_no_other_from_being_sampled() {
    let perf = Perf::find().unwrap();
    for delay_ms in (1..200).step_by(40) {
        let script = format!("sleep 0.{delay_ms:03}; exec sleep 60");
        let mut server = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let target = ServerTarget { pid: server.id(), work_in: WorkIn::Processes };
        let begun = Recorder::start(&perf, target, (100.0, CallGraph::FramePointers), dir.path());
        let outcome = begun.and_then(|recorder| recorder.stop(&[], &AtomicBool::new(false)).map(drop));
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(outcome.is_ok(), "{delay_ms} ms: {outcome:?}");
    }
}
