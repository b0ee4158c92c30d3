//! Sampling while processes end.

use rqps_probe::profile::{CallGraph, Perf, Recorder};
use rqps_probe::{ServerTarget, WorkIn};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// A process that ends between the listing of the server's processes and the start of sampling does not prevent
/// sampling of the others.
#[test]
fn an_ending_process_does_not_prevent_sampling() {
    let perf = Perf::find().unwrap();
    for delay_ms in (1..200).step_by(40) {
        let script = format!("sleep 0.{delay_ms:03}; exec sleep 60");
        let mut server = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let target = ServerTarget { pid: server.id(), work_in: WorkIn::Processes };
        let recorder = Recorder::start(&perf, target, (100.0, CallGraph::FramePointers), dir.path());
        let outcome = recorder.and_then(|recorder| recorder.stop(&[], &AtomicBool::new(false)).map(drop));
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(outcome.is_ok(), "{delay_ms} ms: {outcome:?}");
    }
}
