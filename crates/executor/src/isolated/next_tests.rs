//! Decisions on runs with known truth.

use super::super::{Given, nothing_left};
use super::*;
use rqps_plan::PlanContext;
use rqps_store::{Load, Outcome, Recorded, RunFolder, testing as made_up};
use rqps_verdicts::testing::{Spec, TESTS, write_run};

/// The outlook after a made-up run, with this much budget left.
fn outlook(spec: &Spec, isolated: &str, left_s: Option<u64>) -> Outlook {
    outlook_on(spec, isolated, left_s, |_| ())
}

/// The same after a `change` of the run.
fn outlook_on(spec: &Spec, isolated: &str, left_s: Option<u64>, change: impl Fn(&mut Run)) -> Outlook {
    on_run(spec, isolated, |plan, run| {
        change(run);
        let left = left_s.map(Duration::from_secs);
        next(plan, run, &BTreeSet::new(), Limits::of(plan, left, false), &|_| false).unwrap()
    })
}

/// What `does` returns on a made-up run and a plan like its own.
fn on_run<T>(spec: &Spec, isolated: &str, does: impl Fn(&Plan, &mut Run) -> T) -> T {
    let dir = tempfile::tempdir().unwrap();
    let folder = write_run(dir.path(), spec).unwrap();
    let own = folder.join("plan.toml");
    let own_text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(own, format!("{own_text}\n[isolated]\n{isolated}\n")).unwrap();
    let mut run = RunFolder::open(&folder).unwrap();
    let names: Vec<String> = TESTS.iter().map(|(name, ..)| format!("{name:?}")).collect();
    let text = format!(
        "protocol = \"isolated\"\n[workload]\nrows = 1000\nsteps = [{}]\n[isolated]\ncontrol = false\n{isolated}\n\
         [matrix]\nbuilds = [\"postgres-17.7\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n",
        names.join(", ")
    );
    let plan = Plan::parse(&text, "p.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan;
    does(&plan, &mut run)
}

fn tests_of(outlook: &Outlook) -> Vec<String> {
    match &outlook.what {
        Next::Measure { tests, .. } => tests.clone(),
        Next::Stop(_) => Vec::new(),
    }
}

/// What a run's state says of its end.
fn short_text(outlook: &Outlook) -> &str {
    match &outlook.what {
        Next::Measure { tests, .. } => panic!("not stopped, but {tests:?}"),
        Next::Stop(stop) => &stop.short_text,
    }
}

fn why_stopped(outlook: &Outlook) -> String {
    match &outlook.what {
        Next::Measure { tests, .. } => panic!("not stopped, but {tests:?}"),
        Next::Stop(Stop { why, resume_s: Some(seconds), .. }) => {
            format!("{why}: --more {}m", rqps_verdicts::minutes_to_give(*seconds))
        }
        Next::Stop(stop) => stop.why.clone(),
    }
}

#[test]
fn all_tests_are_measured_until_the_first_look() {
    let two = Spec { blocks: 2, ..Spec::default() };
    assert_eq!(tests_of(&outlook(&two, "", None)).len(), TESTS.len());
    let void = outlook(&Spec { blocks: 5, void: 3, ..Spec::default() }, "", None);
    assert_eq!(tests_of(&void).len(), TESTS.len(), "void blocks don't count");
    assert!(void.why.starts_with("block 6, 2 of at least 3 valid so far, 3 void: "), "{}", void.why);
    let more = Spec { blocks: 5, ..Spec::default() };
    assert_eq!(tests_of(&outlook(&more, "blocks_min = 6", None)).len(), TESTS.len());
    let of = |isolated| outlook(&two, isolated, None).why;
    assert!(of("").starts_with("block 3 of at least 3: "), "{}", of(""));
    assert!(of("blocks_max = 3").starts_with("block 3 of 3: "), "{}", of("blocks_max = 3"));
    let share = outlook(&two, "blocks_max = 3", None).share;
    assert!((share - 2.0 / 3.0).abs() < 1e-9, "the third block is the last: {share}");
}

#[test]
fn verdicts_may_overrun_the_budget_a_little_and_what_a_plan_promises_wholly() {
    // A block takes 130 s.
    let one = Spec { blocks: 1, ..Spec::default() };
    let short = outlook(&one, "", Some(200));
    assert!(why_stopped(&short).contains("verdicts need 3 blocks"), "{}", why_stopped(&short));
    assert!(why_stopped(&short).ends_with(" --more 6m"), "{}", why_stopped(&short));
    let text = short_text(&short);
    assert_eq!(text, "budget too short after 1 of at most 18 blocks");
    let nearly = outlook(&one, "", Some(220));
    assert_eq!(tests_of(&nearly).len(), TESTS.len(), "over by less than a quarter");
    assert!(nearly.why.contains("; the last one ends about "), "block 2 is not the last: {}", nearly.why);
    let two = outlook(&Spec { blocks: 2, ..Spec::default() }, "", Some(120));
    assert!(two.why.ends_with("; it ends about 10 s after the budget"), "{}", two.why);
    let enough = outlook(&one, "", Some(300));
    assert!(!enough.why.contains("budget"), "{}", enough.why);
    let promised = outlook(&one, "blocks_min = 3", Some(1));
    assert_eq!(tests_of(&promised).len(), TESTS.len());
    assert!(promised.why.contains("after the budget"), "{}", promised.why);
}

/// A block of a made-up run takes this long; a load of all its arms here, 100 s for each.
const BLOCK_S: u64 = 130;
const LOAD_S: u64 = 300;

/// Makes a load of all arms as often as this.
fn load(run: &mut Run, times: usize) {
    for arm in ["old", "control", "new"].repeat(times) {
        let mut action = made_up::record(0, arm, "load", "load");
        action.finished_at_ms = action.started_at_ms + (LOAD_S / 3 * 1000) as i64;
        let result = Load { tables: 1, rows: 1, load_us: 1, index_us: 1 };
        run.loads.push(Recorded { action, placement: None, metrics: [].into(), connections: vec![], result });
    }
}

#[test]
fn the_time_that_a_stopped_run_names_suffices_to_resume_it() {
    let after = |blocks: u32, loads: usize, made: &BTreeSet<u32>, budget: Budget| {
        on_run(&Spec { blocks, ..Spec::default() }, "", |plan, run| {
            load(run, loads);
            let limits = Limits { budget: Some(budget), ..Limits::of(plan, None, false) };
            next(plan, run, made, limits, &|_| false).unwrap()
        })
    };
    let named = |loads: usize| {
        let left = Duration::from_secs(1);
        let stopped = after(1, loads, &[1].into(), Budget { whole: left, left });
        let why = why_stopped(&stopped);
        let minutes = why.rsplit_once(" --more ").unwrap().1.trim_end_matches('m');
        minutes.parse::<u64>().unwrap()
    };
    let minutes = named(1);
    assert_eq!(minutes, named(4), "loads that a resume repeated are not needed as often");
    assert!((minutes * 60) < 2 * (2 * BLOCK_S + 3 * LOAD_S), "{minutes}");
    // The data directories are gone: a resume begins with a load, and each block needs another.
    let whole = Duration::from_secs(minutes * 60);
    let mut spent_s = LOAD_S;
    for (blocks, made) in [(1, [1].into()), (2, [1, 2].into())] {
        let left = whole.saturating_sub(Duration::from_secs(spent_s));
        let outlook = after(blocks, blocks as usize + 1, &made, Budget { whole, left });
        assert_eq!(tests_of(&outlook).len(), TESTS.len(), "after {blocks} blocks and {spent_s} s");
        let expected_s = (3 - u64::from(blocks)) * (BLOCK_S + LOAD_S);
        let left = outlook.ahead.unwrap().after(0.0, 0.0);
        assert!(
            (left.seconds - expected_s as f64).abs() < 1.0 && left.until == Until::FirstVerdicts,
            "{left:?}"
        );
        spent_s += LOAD_S + BLOCK_S;
    }
    assert!(spent_s <= whole.as_secs(), "{spent_s} s of {minutes} min");
}

#[test]
fn the_time_to_decide_more_counts_the_loads_that_a_resume_repeats() {
    let noisy = Spec { block_sd: 0.0137, blocks: 5, seed: 3, ..Spec::default() };
    let minutes_named = |loads: usize| {
        let stopped = outlook_on(&noisy, "", Some(5), |run| load(run, loads));
        why_stopped(&stopped).rsplit_once(" --more ").unwrap().1.trim_end_matches('m').parse::<u64>().unwrap()
    };
    let loads_min = minutes_named(3) - minutes_named(0);
    assert!((3 * LOAD_S..4 * LOAD_S + 60).contains(&(loads_min * 60)), "{loads_min}");
}

#[test]
fn blocks_end_when_every_verdict_is_reached() {
    let quiet = Spec { block_sd: 0.002, ..Spec::default() };
    let ended = outlook(&quiet, "", None);
    assert!(
        why_stopped(&ended).contains("12 of 12 verdicts on rate and cost reached"),
        "{}",
        why_stopped(&ended)
    );
    let invalid = |run: &mut Run| {
        let of_insert = run.windows.iter_mut().filter(|window| window.action.step == "insert");
        of_insert.for_each(|window| window.action.outcome = Outcome::Invalid);
        run.counts.retain(|count| count.action.step != "insert");
    };
    let ended = outlook_on(&quiet, "", None, invalid);
    let Next::Stop(Stop { why, short_text, .. }) = &ended.what else { panic!("not stopped") };
    assert!(
        why.contains("10 of 10 verdicts on rate and cost reached; 1 test without a valid result"),
        "{why}"
    );
    assert!(
        short_text.contains("every verdict on rate and cost reached but those on 1 test"),
        "{short_text}"
    );
}

/// The windows of an arm are invalid in so many of the last blocks.
fn invalidate(run: &mut Run, arm: &str, blocks: std::ops::RangeInclusive<u32>) {
    let is_hit = |at: Option<rqps_store::Placement>| at.is_some_and(|at| blocks.contains(&at.block));
    let of = run.windows.iter_mut().filter(|window| window.action.arm == arm && is_hit(window.placement));
    of.for_each(|window| window.action.outcome = Outcome::Invalid);
}

#[test]
fn an_arm_that_keeps_being_invalid_is_not_measured_until_blocks_max() {
    let three = Spec { blocks: 3, ..Spec::default() };
    let ended = outlook_on(&three, "blocks_max = 8", None, |run| invalidate(run, "new", 2..=3));
    let Next::Stop(Stop { why, short_text, resume_s, .. }) = &ended.what else { panic!("not stopped") };
    assert!(why.contains("are invalid in half of the blocks or more"), "{why}");
    assert!(short_text.contains("keep being invalid") && resume_s.is_none(), "{short_text}");
    // One block without it may be an exception: another takes its place, unless the plan has no room for that.
    let once = |isolated| outlook_on(&three, isolated, None, |run| invalidate(run, "new", 2..=2));
    assert_eq!(tests_of(&once("blocks_max = 8")).len(), TESTS.len());
    let ended = once("blocks_max = 3");
    assert!(
        why_stopped(&ended).contains("the 3 blocks of its plan are done: --more "),
        "{}",
        why_stopped(&ended)
    );
}

#[test]
fn only_undecided_and_affordable_tests_are_measured() {
    // Noisy rates need more blocks; counted instructions are decided long before.
    let noisy = Spec { block_sd: 0.0137, blocks: 5, seed: 3, ..Spec::default() };
    let all = outlook(&noisy, "", None);
    let open = tests_of(&all);
    assert!(!open.is_empty() && open.len() <= TESTS.len(), "{open:?}");
    assert_eq!(all.cost_decided.len(), TESTS.len(), "no test is counted further: {:?}", all.cost_decided);
    let some = tests_of(&outlook(&noisy, "", Some(450)));
    assert!(some.len() <= open.len() && some.iter().all(|test| open.contains(test)), "{some:?} of {open:?}");
    let none = outlook(&noisy, "", Some(5));
    // With room for what a resume begins with.
    let minutes = ((all.ahead.unwrap().after(0.0, 0.0).seconds * 1.2 + 30.0) / 60.0).ceil();
    assert!(why_stopped(&none).ends_with(&format!(" --more {minutes}m")), "{}", why_stopped(&none));
    assert_eq!(short_text(&none), "budget used up after 5 of at most 18 blocks");
    let void = outlook(&Spec { blocks: 7, void: 2, ..noisy.clone() }, "", Some(5));
    assert_eq!(short_text(&void), "budget used up after 5 of at most 18 blocks, 2 void not counted");
    // A block fits, which alone decides nothing.
    let little = outlook(&noisy, "", Some(BLOCK_S));
    assert_eq!(
        short_text(&little),
        "the budget left after 5 of at most 18 blocks was too short to decide more"
    );
    assert!(why_stopped(&little).contains("; the rest of the budget is too short to decide "));
    // What is shown beside the bar is what is measured.
    assert!(all.why.starts_with("block 6: ") && all.why.contains("; inconclusive: "), "{}", all.why);
}

/// The host may be quieter than it was.
#[test]
fn time_that_is_asked_for_is_used_although_the_noise_speaks_against_it() {
    let given = |spec: &Spec, more_s, change: fn(&mut Run)| {
        on_run(spec, "", |plan, run| {
            change(run);
            let more = Duration::from_secs(more_s);
            let limits = Limits::of(plan, Some(more), true);
            let tests = tests_of(&next(plan, run, &BTreeSet::new(), limits, &|_| false).unwrap()).len();
            (tests, super::super::given(plan, run, more, true).unwrap())
        })
    };
    let (three, change): (Spec, fn(&mut Run)) =
        (Spec { blocks: 3, ..Spec::default() }, |run| invalidate(run, "new", 2..=3));
    let ended = outlook_on(&three, "", None, change);
    assert!(short_text(&ended).contains("keep being invalid"), "{}", short_text(&ended));
    let (tests, Given::Measures { doubt }) = given(&three, 3600, change) else { panic!("refused") };
    let doubt = doubt.unwrap();
    assert!(tests > 0 && doubt.contains("; more blocks will probably not decide "), "{tests} {doubt}");
    let (0, Given::TooShort(why)) = given(&three, 5, change) else { panic!("not refused") };
    assert!(why.contains("the budget was used up"), "{why}");
    // One block of several that would decide something.
    let some = Spec { block_sd: 0.0137, blocks: 5, seed: 3, ..Spec::default() };
    let (tests, Given::Measures { doubt }) = given(&some, BLOCK_S, |_| ()) else { panic!("refused") };
    let doubt = doubt.unwrap();
    assert!(tests > 0 && doubt.contains("; the time is probably too short to decide "), "{tests} {doubt}");
    let (tests, Given::Measures { doubt: None }) = given(&some, 36_000, |_| ()) else { panic!("a doubt") };
    assert!(tests > 0);
}

/// As many as fit into the time, of which the plan promises more: as in a calibration.
#[test]
fn blocks_that_are_promised_end_with_the_time_that_was_asked_for() {
    let after = |blocks, more_s| {
        on_run(&Spec { blocks, ..Spec::default() }, "blocks_min = 1000\nblocks_max = 1000", |plan, run| {
            let limits = Limits::of(plan, Some(Duration::from_secs(more_s)), true);
            next(plan, run, &BTreeSet::new(), limits, &|_| false).unwrap()
        })
    };
    assert_eq!(after(2, 200).why, "block 3 of at least 3: 6 tests");
    let sixth = after(5, 200);
    assert_eq!((&*sixth.why, tests_of(&sixth).len()), ("block 6: 6 tests", TESTS.len()));
    assert_eq!(sixth.ahead.unwrap().after(0.0, 0.0).seconds, 200.0, "until its end");
    assert_eq!(short_text(&after(5, 60)), "budget used up after 5 of at most 1,000 blocks");
}

/// A block of few tests is mostly restarts: its reading tests get more windows, up to what the budget has time for.
#[test]
fn few_tests_get_more_windows() {
    let windows_of = |outlook: &Outlook| match &outlook.what {
        Next::Measure { windows_of_reads, .. } => *windows_of_reads,
        Next::Stop(_) => 0,
    };
    let first = outlook(&Spec { blocks: 2, ..Spec::default() }, "", None);
    assert_eq!(windows_of(&first), 2, "the plan's");
    // A block takes 130 s, its windows some seconds.
    let noisy = Spec { block_sd: 0.0137, blocks: 5, seed: 3, ..Spec::default() };
    assert_eq!(windows_of(&outlook(&noisy, "window_seconds = 1", None)), 8);
    assert_eq!(
        windows_of(&outlook(&noisy, "window_seconds = 30", None)),
        2,
        "windows take longer than all else"
    );
    // The next look is after three more, of which none may be lost to longer ones.
    let left = |seconds| windows_of(&outlook(&noisy, "window_seconds = 4", Some(seconds)));
    assert_eq!([left(350), left(1000)], [2, 4]);
}

/// The plan of a gate with little time has three blocks: its user, who gives more, asked for none of that.
#[test]
fn a_run_that_has_the_blocks_of_its_plan_goes_on_only_with_more_time() {
    let noisy = Spec { block_sd: 0.014, blocks: 5, seed: 3, ..Spec::default() };
    let ended = outlook(&noisy, "blocks_max = 5", None);
    assert_eq!(short_text(&ended), "the 5 blocks of its plan are done");
    assert!(why_stopped(&ended).contains("are done: --more "), "{}", why_stopped(&ended));
    assert_eq!(ended.share, 1.0);
    let few = outlook(&Spec { blocks: 4, ..noisy.clone() }, "blocks_max = 4", None);
    assert_eq!(short_text(&few), "the 4 blocks of its plan are done");
    let given = |isolated, more| {
        let more = Duration::from_secs(more);
        on_run(&noisy, isolated, |plan, run| {
            let limits = Limits::of(plan, Some(more), true);
            let next = next(plan, run, &BTreeSet::new(), limits, &|_| false).unwrap();
            let given = super::super::given(plan, run, more, false).unwrap();
            (tests_of(&next).len(), nothing_left(plan, run).unwrap(), given)
        })
    };
    let (tests, nothing, given_much) = given("blocks_max = 5", 3600);
    assert!(tests > 0 && nothing.is_none() && matches!(given_much, Given::Measures { .. }), "{nothing:?}");
    let (0, None, Given::TooShort(short)) = given("blocks_max = 5", 5) else { panic!("not refused") };
    assert!(short.contains(" --more "), "{short}");
    // Looks end, too.
    let at_last = Spec { blocks: 18, block_sd: 0.05, ..noisy };
    let why = on_run(&at_last, "blocks_max = 5", |plan, run| nothing_left(plan, run).unwrap());
    assert_eq!(why.as_deref(), Some("more blocks would probably decide nothing more"));
    let quiet = Spec { block_sd: 0.002, ..Spec::default() };
    let why = on_run(&quiet, "", |plan, run| nothing_left(plan, run).unwrap()).unwrap();
    assert_eq!(why, "every verdict on rate and cost reached");
}

#[test]
fn the_third_of_three_blocks_is_the_last_of_the_bar() {
    let share = |blocks, isolated| outlook(&Spec { blocks, ..Spec::default() }, isolated, None).share;
    assert_eq!([share(1, "blocks_max = 3"), share(2, "blocks_max = 3")], [1.0 / 3.0, 2.0 / 3.0]);
    assert_eq!([share(1, ""), share(2, "")], [1.0 / 6.0, 1.0 / 3.0], "more may follow");
}

/// `rqps gate RUN` and `rqps resume RUN` tell the time that a run still needs: it is one figure.
#[test]
fn a_resume_needs_what_reports_say() {
    for (blocks, made, kept) in [(2, vec![1, 2], false), (2, vec![], true), (1, vec![1], false)] {
        on_run(&Spec { blocks, ..Spec::default() }, "", |plan, run| {
            load(run, blocks as usize);
            let made = made.iter().copied().collect();
            let outlook = next(plan, run, &made, Limits::of(plan, None, false), &|_| false).unwrap();
            let more = 3 - blocks as usize;
            let reported = seconds_of_resume(run, (more, (more as u64 * BLOCK_S) as f64), kept);
            assert_eq!(outlook.ahead.unwrap().whole().seconds, reported, "after {blocks}, ended: {kept}");
        });
    }
}
