//! Decisions on runs with known truth.

use super::*;
use rqps_plan::PlanContext;
use rqps_store::{Outcome, RunFolder};
use rqps_verdicts::testing::{Spec, TESTS, write_run};

/// The outlook after a made-up run, with this much budget left.
fn outlook(spec: &Spec, isolated: &str, left_s: Option<u64>) -> Outlook {
    outlook_on(spec, isolated, left_s, |_| ())
}

/// The same after a `change` of the run.
fn outlook_on(spec: &Spec, isolated: &str, left_s: Option<u64>, change: impl Fn(&mut Run)) -> Outlook {
    let dir = tempfile::tempdir().unwrap();
    let folder = write_run(dir.path(), spec).unwrap();
    let mut run = RunFolder::open(&folder).unwrap();
    change(&mut run);
    let names: Vec<String> = TESTS.iter().map(|(name, ..)| format!("{name:?}")).collect();
    let text = format!(
        "protocol = \"isolated\"\n[workload]\nrows = 1000\nsteps = [{}]\n[isolated]\ncontrol = false\n{isolated}\n\
         [matrix]\nbuilds = [\"postgres-17.7\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n",
        names.join(", ")
    );
    let plan = Plan::parse(&text, "p.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan;
    let left = left_s.map(Duration::from_secs);
    next(&plan, &run, left.map(|left| Budget { whole: left, left }), &|_| false).unwrap()
}

fn tests_of(outlook: &Outlook) -> Vec<String> {
    match &outlook.what {
        Next::Measure(tests) => tests.clone(),
        Next::Stop(_) => Vec::new(),
    }
}

fn why_stopped(outlook: &Outlook) -> &str {
    match &outlook.what {
        Next::Measure(tests) => panic!("not stopped, but {tests:?}"),
        Next::Stop(stop) => &stop.why,
    }
}

#[test]
fn all_tests_are_measured_until_the_first_look() {
    let two = Spec { blocks: 2, ..Spec::default() };
    assert_eq!(tests_of(&outlook(&two, "", None)).len(), TESTS.len());
    let void = Spec { blocks: 5, void: 3, ..Spec::default() };
    assert_eq!(tests_of(&outlook(&void, "", None)).len(), TESTS.len(), "void blocks don't count");
    let more = Spec { blocks: 5, ..Spec::default() };
    assert_eq!(tests_of(&outlook(&more, "blocks_min = 6", None)).len(), TESTS.len());
}

#[test]
fn verdicts_may_overrun_the_budget_a_little_and_what_a_plan_promises_wholly() {
    // A block takes 130 s.
    let one = Spec { blocks: 1, ..Spec::default() };
    let short = outlook(&one, "", Some(200));
    assert!(why_stopped(&short).contains("verdicts need 3 blocks"), "{}", why_stopped(&short));
    assert!(why_stopped(&short).contains("rqps resume made-up-"), "{}", why_stopped(&short));
    assert!(why_stopped(&short).ends_with(" --more 6m"), "{}", why_stopped(&short));
    let nearly = outlook(&one, "", Some(220));
    assert_eq!(tests_of(&nearly).len(), TESTS.len(), "over by less than a quarter");
    assert!(nearly.why.contains("after the budget"), "{}", nearly.why);
    let enough = outlook(&one, "", Some(300));
    assert!(!enough.why.contains("budget"), "{}", enough.why);
    let promised = outlook(&one, "blocks_min = 3", Some(1));
    assert_eq!(tests_of(&promised).len(), TESTS.len());
    assert!(promised.why.contains("after the budget"), "{}", promised.why);
}

#[test]
fn blocks_end_when_every_verdict_is_reached() {
    let quiet = Spec { block_sd: 0.002, ..Spec::default() };
    let ended = outlook(&quiet, "", None);
    assert!(why_stopped(&ended).contains("12 of 12 verdicts reached"), "{}", why_stopped(&ended));
    let invalid = |run: &mut Run| {
        let of_insert = run.windows.iter_mut().filter(|window| window.action.step == "insert");
        of_insert.for_each(|window| window.action.outcome = Outcome::Invalid);
        run.counts.retain(|count| count.action.step != "insert");
    };
    let ended = outlook_on(&quiet, "", None, invalid);
    let Next::Stop(Stop { why, short_text }) = &ended.what else { panic!("not stopped") };
    assert!(why.contains("10 of 10 verdicts reached; 1 test without a valid result"), "{why}");
    assert!(short_text.contains("every verdict reached but those on 1 test"), "{short_text}");
}

#[test]
fn only_undecided_and_affordable_tests_are_measured() {
    // Noisy rates need more blocks; counted instructions are decided long before.
    let noisy = Spec { block_sd: 0.014, blocks: 5, seed: 3, ..Spec::default() };
    let all = outlook(&noisy, "", None);
    let open = tests_of(&all);
    assert!(!open.is_empty() && open.len() <= TESTS.len(), "{open:?}");
    assert_eq!(all.cost_decided.len(), TESTS.len(), "no test is counted further: {:?}", all.cost_decided);
    let some = tests_of(&outlook(&noisy, "", Some(450)));
    assert!(some.len() <= open.len() && some.iter().all(|test| open.contains(test)), "{some:?} of {open:?}");
    let none = outlook(&noisy, "", Some(5));
    // With room for what a resume begins with.
    let minutes = ((all.seconds_left.unwrap() * 1.2 + 30.0) / 60.0).ceil();
    assert!(why_stopped(&none).ends_with(&format!(" --more {minutes}m")), "{}", why_stopped(&none));
    let capped = outlook(&noisy, "blocks_max = 5", None);
    assert!(why_stopped(&capped).contains("blocks_max = 5"), "{}", why_stopped(&capped));
}
