//! Single faults, and how a run reports them.

use crate::run::{End, SHARES, Scene};
use crate::system::OPENED;
use crate::world::{self, Fault, World};
use rqps_executor::{Error, Finish, Resume};
use rqps_store::{BlockStatus, Recorded, Run, Status, Window};
use rqps_verdicts::blocks_by_test;
use std::path::PathBuf;
use std::time::Duration;

const STEPS: &str = "as_base = true\nsteps = [\"put-1\", \"sum-1\", \"put-2\"]";
const BLOCKS: &str = "protocol = \"isolated\"\n[isolated]\ncontrol = false\nwindows = 2\nblocks_max = 6\nblocks_min = 6\ncount_instructions = false";

/// Sets a fault for the first moment from this one on at which it can happen.
fn fault_at(moment: u64, fault: Fault) {
    world::with(|world| (world.moments, world.fault) = (0, Some((moment, fault))));
}

/// Number of moments of a run of this plan without faults.
fn moments(top: &str, workload: &str, arms: usize) -> u64 {
    world::replace(World::new(1));
    let end = Scene::new(top, workload, arms).execute();
    assert!(matches!(end, End::Finished(Finish::Complete | Finish::Ended(_))), "{end:?}");
    world::with(|world| world.moments)
}

fn windows_of(run: &Run, arm: &str) -> Vec<String> {
    run.windows.iter().filter(|w| w.action.arm == arm).map(|w| w.action.step.clone()).collect()
}

#[test]
fn the_death_of_base_ends_a_run_whose_arms_repeat_its_work_and_resume_completes_it() {
    let half = moments("", STEPS, 1) / 2;
    world::replace(World::new(1));
    let scene = Scene::new("", STEPS, 2);
    fault_at(half, Fault::Death);
    let end = scene.execute();
    assert!(matches!(&end, End::Failed(Error::ServerDied { arm, .. }) if arm == "a"), "{end:?}");
    let run = scene.results();
    assert_eq!((run.status.status, windows_of(&run, "b")), (Status::Failed, Vec::new()));
    assert!(matches!(scene.execute(), End::Finished(Finish::Complete)));
    assert_eq!(windows_of(&scene.results(), "b"), ["put-1", "sum-1", "put-2"]);
}

#[test]
fn an_arm_that_does_not_start_is_given_up_and_resume_measures_only_this_arm() {
    world::replace(World::new(1));
    let scene = Scene::new("", STEPS, 3);
    world::with(|world| world.refused.insert("12".to_owned()));
    let end = scene.execute();
    let End::Finished(Finish::Partly(errors)) = &end else { panic!("{end:?}") };
    assert!(matches!(&errors[..], [Error::NotStarted { arm, .. }] if arm == "b"), "{errors:?}");
    let run = scene.results();
    assert_eq!((windows_of(&run, "b").len(), windows_of(&run, "c").len()), (0, 3));
    let note = run.notes.iter().find(|note| note.arm.as_deref() == Some("b")).unwrap();
    assert!(note.text.contains("did not start (exit status: 1); given up for now"), "{}", note.text);
    world::with(|world| world.refused.clear());
    assert!(matches!(scene.execute(), End::Finished(Finish::Complete)));
    let after = scene.results();
    let attempts =
        |run: &Run| run.windows.iter().map(|w| (w.action.seq, w.action.attempt)).collect::<Vec<_>>();
    assert_eq!(attempts(&after).len(), 9);
    assert!(attempts(&run).iter().all(|one| attempts(&after).contains(one)), "measured windows are kept");
}

/// The passes of the others are done, so that verdicts use them; the arm's own are added to them by a resume.
#[test]
fn passes_are_done_without_an_arm_that_was_given_up() {
    let steps = "steps = [\"put-1\", \"sum-1\"]";
    let all = moments("passes = 3", steps, 3);
    for dies_at in [None, Some(all * 2 / 3)] {
        world::replace(World::new(1));
        let scene = Scene::new("passes = 3", steps, 3);
        match dies_at {
            Some(moment) => fault_at(moment, Fault::Death),
            None => world::with(|world| _ = world.refused.insert("13".to_owned())),
        }
        let end = scene.execute();
        let End::Finished(Finish::Partly(errors)) = &end else { panic!("{dies_at:?}: {end:?}") };
        assert_eq!(errors.len(), 1, "{errors:?}");
        let expect_done = || {
            let run = scene.results();
            let states: Vec<_> = run.blocks.iter().map(|block| block.status).collect();
            assert_eq!(states, [BlockStatus::Done; 3], "{dies_at:?}");
        };
        expect_done();
        world::with(|world| world.refused.clear());
        assert!(matches!(scene.execute(), End::Finished(Finish::Complete)));
        expect_done();
        assert_eq!(scene.results().windows.len(), 3 * 3 * 2, "{dies_at:?}");
    }
}

/// Its next pass begins with a new load. A resume measures what is missing, although the later pass has replaced the
/// data of the earlier one.
#[test]
fn an_arm_that_dies_in_a_pass_is_measured_again_in_the_next() {
    let all = moments("passes = 3", STEPS, 2);
    let mut died = 0;
    for moment in (all / 12..all / 3).step_by(7) {
        world::replace(World::new(1));
        let scene = Scene::new("passes = 3", STEPS, 2);
        fault_at(moment, Fault::Death);
        // Base's death ends such a run.
        let End::Finished(Finish::Partly(errors)) = scene.execute() else { continue };
        // One that dies in the trial is left out of all passes.
        let [Error::ServerDied { .. }] = &errors[..] else { continue };
        let run = scene.results();
        let count = |run: &Run, arm: &str| {
            [1, 2, 3].map(|block| run.windows.iter().filter(|window| is_in(window, arm, block)).count())
        };
        let [first, second, third] = count(&run, "b");
        assert!(first <= 3 && (second, third) == (3, 3), "{moment}: {:?}", count(&run, "b"));
        assert_eq!(count(&run, "a"), [3, 3, 3], "{moment}");
        let note =
            run.notes.iter().find(|note| note.text.contains("given up in pass 1: pass 2 measures it again"));
        assert!(note.is_some(), "{moment}: {:?}", run.notes);
        died += usize::from(first < 3);
        // Another death, now in what is repeated of the first pass.
        fault_at(moment, Fault::Death);
        let is_complete = |_: &usize| matches!(scene.execute(), End::Finished(Finish::Complete));
        assert!((0..3).find(is_complete).is_some(), "{moment}");
        let after = scene.results();
        assert_eq!((count(&after, "a"), count(&after, "b")), ([3; 3], [3; 3]), "{moment}");
        assert!(after.windows.iter().all(|window| window.valid()), "{moment}");
    }
    assert!(died >= 3, "{died}");
}

fn is_in(window: &Recorded<Window>, arm: &str, block: u32) -> bool {
    window.action.arm == arm && window.placement.is_some_and(|placement| placement.block == block)
}

#[test]
fn a_full_disk_ends_the_run_and_no_measured_window_is_lost() {
    let near_end = moments("", STEPS, 2) - 8;
    world::replace(World::new(1));
    let scene = Scene::new("", STEPS, 2);
    fault_at(near_end, Fault::DiskFull);
    let end = scene.execute();
    let End::Failed(error @ Error::DiskFull { arm, .. }) = &end else { panic!("{end:?}") };
    assert_eq!(arm, "b");
    let text = error.to_string();
    assert!(text.contains("no space left for") && text.contains("free some on that disk"), "{text}");
    let before = scene.results().windows.len();
    assert!(before >= 3, "{before}");
    assert!(matches!(scene.execute(), End::Finished(Finish::Complete)));
    assert_eq!(scene.results().windows.len(), 6);
}

#[test]
fn a_block_around_which_the_host_changed_is_void_and_is_replaced() {
    world::replace(World::new(1));
    let steps = "steps = [\"put-1\", \"sum-1\"]";
    let scene = Scene::new(BLOCKS, steps, 2);
    SHARES.take();
    world::with(|world| world.spins_ns.extend([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]));
    let end = scene.execute();
    assert!(matches!(end, End::Finished(Finish::Ended(_))), "{end:?}");
    let run = scene.results();
    let void: Vec<_> = run.blocks.iter().filter(|block| block.status == BlockStatus::Void).collect();
    assert_eq!(void.len(), 1);
    let note = void[0].note.as_deref().unwrap();
    assert_eq!(void[0].number, 4);
    assert!(note.contains("2.00 ns after the block"), "{note}");
    assert_eq!(run.blocks.iter().filter(|block| block.status == BlockStatus::Done).count(), 6);
    // Within a block the share grows with the time until the first verdicts.
    let shares: Vec<f64> = SHARES.take().into_iter().skip_while(|share| *share == 0.0).take(3).collect();
    assert!(shares.len() == 3 && shares.windows(2).all(|two| two[0] < two[1]), "{shares:?}");
}

/// The plan of a gate with little time ends it at the first look; whoever gives more time gets more blocks, also after
/// a kill, and the bar begins anew.
#[test]
fn a_run_that_ended_as_planned_goes_on_with_the_time_that_it_is_given() {
    let done = |scene: &Scene| {
        let run = scene.results();
        run.blocks.iter().filter(|block| block.status == BlockStatus::Done).count()
    };
    let top = BLOCKS.replace("blocks_max = 6\nblocks_min = 6", "blocks_max = 3");
    world::replace(World::new(1));
    world::with(|world| world.noise = 0.3);
    let scene = Scene::new(&top, "steps = [\"put-1\", \"sum-1\"]", 2);
    SHARES.take();
    let end = scene.execute();
    let End::Finished(Finish::Ended(ending)) = &end else { panic!("{end:?}") };
    assert_eq!((done(&scene), &*ending.why), (3, "the 3 blocks of its plan are done"));
    assert!(ending.resume_s.is_some(), "{ending:?}");
    SHARES.take();
    let end = scene.execute();
    assert!(matches!(end, End::Failed(Error::Ended(_))), "without more time: {end:?}");
    let more = || Resume { more: Some(Duration::from_secs(600)), ..Resume::default() };
    fault_at(20, Fault::Kill);
    let end = scene.execute_as(more());
    assert!(matches!(end, End::Killed), "{end:?}");
    let first = SHARES.take().into_iter().find(|share| *share > 0.0);
    assert!(first.is_none_or(|share| share < 0.6), "the bar begins anew: {first:?}");
    // Goes on with what is left of the time.
    let end = scene.execute();
    assert!(matches!(end, End::Finished(Finish::Ended(_))), "{end:?}");
    let of_test = blocks_by_test(&scene.results());
    let most = of_test.values().max().copied().unwrap_or(0);
    assert!((5..=18).contains(&most), "up to the last look: {of_test:?}");
    // Once nothing is left to measure, nothing is loaded for more time.
    let is_refused = |_| matches!(scene.execute_as(more()), End::Failed(Error::NothingLeft { .. }));
    assert!((0..20).any(is_refused), "{:?}", blocks_by_test(&scene.results()));
    let loads = scene.results().loads.len();
    assert!(is_refused(0) && matches!(scene.execute(), End::Failed(Error::NothingLeft { .. })));
    assert_eq!(scene.results().loads.len(), loads);
}

#[test]
fn a_death_voids_the_block_which_is_measured_again() {
    let steps = "steps = [\"put-1\", \"sum-1\"]";
    let all = moments(BLOCKS, steps, 3);
    world::replace(World::new(1));
    let scene = Scene::new(BLOCKS, steps, 3);
    fault_at(all / 2, Fault::Death);
    let end = scene.execute();
    assert!(matches!(end, End::Finished(Finish::Ended(_))), "{end:?}");
    let run = scene.results();
    let count = |status| run.blocks.iter().filter(|block| block.status == status).count();
    assert_eq!((count(BlockStatus::Void), count(BlockStatus::Done)), (1, 6), "measured again");
    assert!(run.notes.iter().any(|note| note.text.contains("is void")), "{:?}", run.notes);
}

/// A ledger has no process, so that its sessions cannot be counted.
#[test]
fn a_run_whose_counting_fails_says_so_once_and_goes_on() {
    world::replace(World::new(1));
    let top = BLOCKS.replace("count_instructions = false", "count_instructions = true");
    let scene = Scene::new(&top, "steps = [\"put-1\", \"sum-1\"]", 2);
    let end = scene.execute();
    assert!(matches!(end, End::Finished(Finish::Ended(_))), "{end:?}");
    let run = scene.results();
    let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done).count();
    assert_eq!(done, 6, "{:?}", run.notes);
    let notes = run.notes.iter().filter(|note| note.text.contains("are not counted")).count();
    // Where the processor has counters, or valgrind is not installed, no program is asked.
    let asks = rqps_probe::counts_instructions().is_err() && rqps_servers::instrument::available().is_some();
    assert_eq!(notes, usize::from(asks), "{:?}", run.notes);
    assert!(run.counts.iter().all(|count| !count.valid()));
    assert!(run.windows.iter().all(|window| window.valid()) && run.without_result().is_empty());
}

/// Blocks run without some options of the config, so only the instance that loads warns of them.
#[test]
fn what_an_instance_warns_of_while_it_loads_is_recorded() {
    world::replace(World::new(1));
    let scene = Scene::new(BLOCKS, "steps = [\"put-1\", \"sum-1\"]", 2);
    let end = scene.execute();
    assert!(matches!(end, End::Finished(Finish::Ended(_))), "{end:?}");
    for arm in &scene.results().arms {
        let warnings = arm.facts.iter().filter(|fact| fact.name == rqps_model::START_WARNING);
        let warnings: Vec<&str> = warnings.map(|fact| fact.value.as_str()).collect();
        assert_eq!(warnings, ["\"ink_colour\" is old"], "{}", arm.name);
    }
}

#[test]
fn blocks_run_the_copies_of_a_build_in_turn_and_record_which() {
    world::replace(World::new(1));
    let top = BLOCKS.replace("[isolated]", "[isolated]\ncopies = 3");
    let scene = Scene::new(&top, "steps = [\"put-1\", \"sum-1\"]", 2);
    let end = scene.execute();
    assert!(matches!(end, End::Finished(Finish::Ended(_))), "{end:?}");
    let run = scene.results();
    // Of each block two arms, once for the test that reads and once for the one that writes.
    let opened = OPENED.lock().unwrap();
    let side_of = |(dir, hash): &(PathBuf, String)| {
        let side = dir.parent()?.file_name()?.to_str()?.strip_prefix("side-")?;
        dir.starts_with(&scene.dirs.work).then(|| (side.to_owned(), hash.clone()))
    };
    let opened: Vec<(String, String)> = opened.iter().filter_map(side_of).collect();
    let of_blocks = opened[opened.len() - 6 * 4..].chunks(4);
    for (block, opened) in run.blocks.iter().zip(of_blocks) {
        for (arm, version) in block.arms.iter().zip(["11", "12"]) {
            let expected = match arm.copy {
                1 => format!("hash of {version}"),
                number => format!("copy {number}"),
            };
            let here: Vec<_> = opened.iter().filter(|(side, _)| *side == arm.side).collect();
            assert!(here.len() == 2 && here.iter().all(|(_, hash)| *hash == expected), "{arm:?} {opened:?}");
        }
    }
    let copies = |arm: usize| run.blocks.iter().map(move |block| block.arms[arm].copy);
    for arm in [0, 1] {
        let mut each: Vec<u32> = copies(arm).collect();
        each.sort_unstable();
        assert_eq!(each, [1, 1, 2, 2, 3, 3], "each as often");
    }
    assert!(copies(0).ne(copies(1)), "arms of one build seldom run the same copy");
}
