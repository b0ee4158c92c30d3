//! Hostile plans: whatever is in the file, parsing ends in time, and every mistake has a place.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use std::cell::Cell;
use std::time::{Duration, Instant};

use rqps_model::random::Stream;
use rqps_plan::shipped::SHIPPED_PLANS;
use rqps_plan::{Plan, PlanContext, schedule};

/// Time limit for one plan of at most a megabyte, in a debug build on a busy machine. Quadratic code would take hours.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const SEED: u64 = 20_261_122;
const ROUNDS: u64 = 1_500;

/// Inserted into plans at random places.
const PIECES: [&str; 34] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    "\"",
    "\"\"\"",
    "'",
    ",",
    ".",
    "\n",
    "\r",
    "#",
    "\0",
    "\u{feff}",
    "é",
    "\u{202e}",
    "-1",
    "0",
    "1e999",
    "nan",
    "9223372036854775808",
    "0x",
    "1979-05-27",
    "true",
    "rows = 5\n",
    "[[arm]]\n",
    "[matrix]\n",
    "[workload]\n",
    "steps = [\"scan\"]\n",
    "builds = [\"postgres-18\"]\n",
    "protocol = \"isolated\"\n",
];

/// Parses a plan and checks what must hold for any outcome.
fn check(text: &str, what: &str) {
    let (begun, calls) = (Instant::now(), Cell::new(0));
    let ask = |known: bool| {
        calls.set(calls.get() + 1);
        if known { Ok(()) } else { Err("not known".to_owned()) }
    };
    let context = PlanContext {
        benchmarks: rqps_workloads::BENCHMARKS,
        read_text: &|_| Err("no such file".to_owned()),
        open: &|_| Err("no such file".to_owned()),
        known_config: &|_, name| ask(!name.contains('0')),
        known_build: &|build| ask(!build.to_string().contains('7')),
    };
    match Plan::parse(text, "plans/hostile.toml", &context) {
        Ok(checked) => {
            let written = checked.plan.to_toml().unwrap();
            let again =
                Plan::parse(&written, "plan.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS));
            assert_eq!(again.map(|again| again.plan), Ok(checked.plan.clone()), "{what}:\n{text}\n{written}");
            schedule(&checked.plan);
        }
        Err(errors) => {
            let lines = text.matches('\n').count() as u32 + 1;
            assert!((1..=101).contains(&errors.problems.len()), "{what}: {} mistakes", errors.problems.len());
            for problem in &errors.problems {
                assert!((1..=lines).contains(&problem.line) && problem.column > 0, "{what}: {problem:?}");
                // Mistakes of SQL say what to write.
                let has_remedy = !problem.remedy.is_empty() || problem.place.starts_with("[sql");
                assert!(!problem.what.is_empty() && has_remedy, "{what}: {problem:?}");
            }
            assert!(errors.to_string().contains("mistake"));
            let arms = errors.arms.len();
            assert!(arms <= 64 && (arms > 0 || !errors.has_all_arms), "{what}: {arms} arms without mistakes");
        }
    }
    // Each of at most 64 arms has a build, and a config that is looked up for up to three DBMSs.
    assert!(calls.get() <= 64 * 4 + 64 * 3, "{what}: {} lookups", calls.get());
    assert!(begun.elapsed() < TIME_LIMIT, "{what}: took {:?}", begun.elapsed());
}

/// From 0 to `end` - 1.
fn below(stream: &mut Stream, end: u64) -> u64 {
    stream.key(end) - 1
}

/// A random position between two characters.
fn position(stream: &mut Stream, text: &str) -> usize {
    let at = below(stream, text.len() as u64 + 1) as usize;
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap()
}

fn mutated(stream: &mut Stream, mut text: String) -> String {
    for _ in 0..=below(stream, 4) {
        let (a, b) = (position(stream, &text), position(stream, &text));
        let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 300));
        let to = (from..=to).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let part = text[from..to].to_owned();
        let piece = PIECES[below(stream, PIECES.len() as u64) as usize];
        match below(stream, 5) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(a, &part),
            2 => text.insert_str(from, &piece.repeat(1 + below(stream, 40) as usize)),
            3 => text.replace_range(from..to, piece),
            _ => text = text.replacen(|c: char| c.is_ascii_digit(), piece, 1 + below(stream, 3) as usize),
        }
    }
    text
}

#[test]
fn randomly_damaged_plans_are_parsed() {
    let mut texts: Vec<&str> = SHIPPED_PLANS.iter().map(|plan| plan.text).collect();
    texts.push(include_str!("plans/bad.toml"));
    for round in 0..ROUNDS {
        let mut stream = Stream::new(&[SEED, round]);
        let text = texts[below(&mut stream, texts.len() as u64) as usize].to_owned();
        check(&mutated(&mut stream, text), &format!("round {round}"));
    }
}

#[test]
fn a_megabyte_of_anything_is_parsed() {
    const MEGABYTE: usize = 1 << 20;
    let fill = |piece: &str| piece.repeat(MEGABYTE / piece.len() - 200);
    let list = |key: &str, item: &str, count: usize| format!("{key} = [{}]\n", vec![item; count].join(","));
    let arm = "[[arm]]\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    let named =
        |name: &str| format!("base = \"{name}b\"\n{arm}name = \"{name}a\"\n[workload]\nrows = 1000\n");
    let numbered = |line: fn(usize) -> String, count| (0..count).map(line).collect::<String>();
    let half = "x".repeat(MEGABYTE / 2 - 500);
    let matrix = |builds, configs| {
        list("[matrix]\nbuilds", "\"postgres-18\"", builds) + &list("configs", "\"sized\"", configs)
    };
    let cases = [
        ("arms", fill(arm)),
        ("arms of one name", fill("[[arm]]\nname=\"a\"\n")),
        ("a matrix", matrix(20_000, 20_000)),
        ("half a matrix", matrix(60_000, 0)),
        ("a matrix of 65", matrix(5, 13)),
        ("arms as a list", list("arm", "{}", 200_000)),
        ("unknown keys", numbered(|i| format!("k{i}=1\n"), 100_000)),
        ("broken lines", fill("= =\n")),
        ("open brackets", fill("[")),
        ("open lists", format!("x = {}", fill("["))),
        ("nested tables", format!("x = {}", fill("{a="))),
        ("a path of keys", format!("{}a = 1", fill("a."))),
        ("a path of tables", format!("[{}a]", fill("a."))),
        ("quotes", fill("\"")),
        ("a long key", format!("{} = 1\n{arm}", fill("x"))),
        ("a long name", format!("name = \"{}\"\n{arm}", fill("x"))),
        ("two long names", named(&half)),
        ("a long build", format!("[[arm]]\nbuild = \"{}\"\n", fill("x"))),
        ("a long step", format!("[workload]\nsteps = [\"{}\"]\n", fill("x"))),
        ("steps", format!("[workload]\nrows=1000\n{}{arm}", list("steps", "\"sacn\"", 100_000))),
        ("500 equal steps", format!("[workload]\nrows=1000\n{}{arm}", list("steps", "\"scan\"", 500))),
        ("tests", numbered(|i| format!("[test.scna{i}]\n"), 50_000)),
        (
            "scripts",
            format!("[sql]\n[sql.tests]\n{}{arm}", numbered(|i| format!("t{i}='SELECT :a{i}'\n"), 40_000)),
        ),
        ("statements", format!("{arm}{}", list("after_load", "5", 300_000))),
        (
            "an environment",
            format!("{arm}env = {{ {} a = 1 }}\n", numbered(|i| format!("\"{i} \"=1,"), 90_000)),
        ),
        (
            "rates",
            format!("[workload]\nbenchmark = \"insert\"\n[insert]\n{}{arm}", list("rates", "0", 300_000)),
        ),
        ("comments", fill("#\n")),
        ("NULs", fill("\0")),
        ("more than a megabyte", fill("# é\n").repeat(2)),
    ];
    for (what, text) in cases {
        check(&text, what);
    }
}
