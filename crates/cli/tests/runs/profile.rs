//! CPU profiles of real servers: roles of their stacks, the share of a known slow function, and no leftovers of perf.

use std::process::Command;
use std::time::Duration;

use rqps_calibrate::shim;
use rqps_store::{Profile, Run, Status};
use rustix::process::Signal;

use crate::bench::{Bench, exact_version};

/// The dose of arm `b`: multiplications that take some 100 us per message.
const SPIN: u32 = 100_000;

/// Minimum number of samples of an arm's sessions for reliable shares.
const SAMPLES_MIN: u64 = 200;

/// A plan whose second arm has a dose.
fn plan(bench: &Bench) -> String {
    let library = shim::write_to(bench.path()).unwrap().display().to_string();
    let build = exact_version("18");
    format!(
        "name = \"t\"\nbase = \"a\"\n\
        [workload]\nrows = 2_000\nclients = 2\nwrite_seconds = 1\nwarmup_seconds = 0\nsettle_seconds_max = 1\n\
        steps = [\"update-index\"]\n\
        [[arm]]\nname = \"a\"\nbuild = \"postgres-{build}\"\nconfig = \"./small.conf\"\n\
        [[arm]]\nname = \"b\"\nbuild = \"postgres-{build}\"\nconfig = \"./small.conf\"\n\
        env = {{ LD_PRELOAD = \"{library}\", RQPS_DOSE_SPIN = \"{SPIN}\" }}\n"
    )
}

/// The share of a role's samples with this innermost function, and the role's samples.
fn share_of(function: &str, role: &str, (run, profile): (&Run, &Profile)) -> (f64, u64) {
    let (mut there, mut all) = (0, 0);
    for line in run.folded(profile).unwrap().lines() {
        let (stack, samples) = line.rsplit_once(' ').unwrap();
        let samples: u64 = samples.parse().unwrap();
        if stack.starts_with(&format!("{role};")) {
            all += samples;
            there += if stack.ends_with(&format!(";{function}")) { samples } else { 0 };
        }
    }
    (there as f64 / all.max(1) as f64, all)
}

#[test]
fn a_dosed_function_stands_out_in_its_arm_and_nothing_of_perf_is_left() {
    let has_perf = Command::new("perf").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(has_perf, "perf is missing: tools/debian-packages installs it");
    let bench = Bench::new();
    let plan = bench.plan_text(&plan(&bench));
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let actions_before = bench.run().actions.len();
    check_cut_off(&bench);

    let run = profiled(&bench);
    assert_eq!(run.status.status, Status::Complete);
    assert_eq!(run.actions.len(), actions_before + 2);
    let of = |arm: &str| run.profiles.iter().find(|profile| profile.action.arm == arm).unwrap();
    for arm in ["a", "b"] {
        // The preloaded library's `recv`, which applies the dose; the C library's has another symbol name.
        let (dose, samples) = share_of("recv", "backend", (&run, &of(arm).result));
        // Samples are of CPU time, so they agree with the kernel's accounting.
        let cpu_s: f64 = of(arm).connections.iter().map(|one| one.cpu_us).sum::<f64>() / 1e6;
        let sampled_s = samples as f64 / of(arm).result.frequency_hz;
        assert!(
            samples > SAMPLES_MIN && (0.8..1.2).contains(&(sampled_s / cpu_s)),
            "{sampled_s} of {cpu_s} s on {arm}"
        );
        assert!(if arm == "b" { dose > 0.3 } else { dose < 0.05 }, "{dose} on {arm}");
    }
    let Profile { operations, unresolved_samples, samples, note, .. } = &of("a").result;
    assert!(*operations > 100.0 && *unresolved_samples * 5 < *samples, "{:?}", of("a"));
    assert!(note.as_deref().unwrap().contains("data just loaded"), "{note:?}");
    let folded = run.folded(&of("a").result).unwrap();
    assert!(folded.contains(";PostgresMain;") && folded.contains(";ExecModifyTable;"), "{folded}");
    assert!(folded.lines().any(|line| line.starts_with("wal writer;")), "{folded}");
    assert!(!folded.contains("other session"), "what looks at waits is in the stacks: {folded}");
    let waits = run.waits(of("a").action.seq).unwrap();
    assert!(waits.iter().any(|wait| wait.event == "ClientRead" && wait.found > 0), "{waits:?}");

    let unknown = bench.call(&["profile", "--test", "update-indx"]).expect(2).stderr;
    assert!(unknown.contains("it has update-index"), "{unknown}");
    let left: Vec<_> = std::fs::read_dir(bench.work()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Profiles the run for longer until there are enough samples: on a busy machine servers get less CPU.
fn profiled(bench: &Bench) -> Run {
    for seconds in ["2", "8", "32"] {
        bench.call(&["profile", "--all", "--seconds", seconds]).expect(0);
        let run = bench.run();
        let samples = |arm: &str| {
            let of = run.profiles.iter().find(|profile| profile.action.arm == arm).unwrap();
            share_of("recv", "backend", (&run, &of.result)).1
        };
        if samples("a").min(samples("b")) > SAMPLES_MIN {
            return run;
        }
    }
    panic!("too few samples: {:?}", bench.run().profiles);
}

/// An interruption while sampling the second arm leaves no process, the profile of the first arm, and a complete run.
/// The next profile of the first arm replaces that one.
fn check_cut_off(bench: &Bench) {
    let mut cut = bench.start(&["profile", "--all", "--seconds", "2"]);
    cut.expect_line(&["a ", "samples"]);
    while bench.processes().iter().all(|(_, arguments)| !arguments.contains("perf record")) {
        assert!(!cut.has_ended(), "{:?}", cut.end());
        std::thread::sleep(Duration::from_millis(20));
    }
    cut.signal(Signal::INT);
    cut.end().expect(130);
    bench.expect_no_process();
    let run = bench.run();
    let profiled: Vec<&str> = run.profiles.iter().map(|profile| profile.action.arm.as_str()).collect();
    assert_eq!(profiled, ["a"]);
    assert_eq!(run.status.status, Status::Complete);
}
