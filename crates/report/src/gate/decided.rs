//! What the gate decided: of everything that it may fail on, how many verdicts are reached, which are open, and which
//! figures of the run do not matter to it.

use rqps_model::part_of;
use rqps_stats::{Detector, Verdict};

use crate::gate::{ArmAtGate, GateRules};
use crate::tables::undecided;
use crate::verdict_lines::{Judged, Line};
use crate::words;

/// The verdicts on one thing that the gate asks for.
struct Asked {
    detector: Detector,
    decided: usize,
    of: usize,
}

impl Asked {
    fn open(&self) -> usize {
        self.of - self.decided
    }

    /// `cost in 6 of 7`
    fn share(&self) -> String {
        format!("{} in {}", name(self.detector), part_of(self.decided, self.of))
    }
}

/// What the gate asks for and the run has verdicts on.
pub(super) struct Decided {
    /// What the gate fails on, and in how many tests.
    regressed: Vec<(Detector, usize)>,
    /// All of them.
    tests: usize,
    asked: Vec<Asked>,
    /// On stalls none must be reached, but a regression fails the gate.
    also: Vec<Detector>,
    /// How many verdicts on those are open.
    also_open: usize,
    /// Resources that the rules ask for, of which no arm uses enough for a verdict.
    too_little: Vec<Detector>,
    /// Judged in the run, but of no consequence.
    others: Vec<Detector>,
    /// `tests`, or pairs of test and arm.
    noun: &'static str,
    /// Arms of which nothing that is asked for is decided.
    nothing_on: Vec<String>,
    inconclusive_fails: bool,
    /// `fillseq on new, at 0.03 (0.01 to 0.11) times base's rate`: the largest of the open differences.
    furthest: Option<String>,
}

impl Decided {
    pub fn of(judged: &Judged<'_>, arms: &[ArmAtGate<'_>], rules: &GateRules) -> Self {
        let all = || arms.iter().flat_map(|arm| arm.lines.iter().flat_map(Line::all));
        let asked = |detector: Detector| {
            let of = || all().filter(|one| one.detector == detector && rules.requires(one));
            let decided = of().filter(|one| one.class.is_decided()).count();
            (of().count() > 0).then(|| Asked { detector, decided, of: of().count() })
        };
        let has = |detector: Detector, covered: bool| {
            let is_of = |one: &Verdict| one.detector == detector && rules.covers(one) == covered;
            judged.verdicts.on_candidates().any(is_of)
        };
        let asked: Vec<Asked> = Detector::ALL.into_iter().filter_map(asked).collect();
        let is_asked = |detector: &Detector| asked.iter().any(|one| one.detector == *detector);
        let rest = || Detector::ALL.into_iter().filter(|detector| !is_asked(detector));
        let also: Vec<Detector> = rest().filter(|detector| has(*detector, true)).collect();
        // CPU time may be the cost.
        let is_little = |detector: &Detector| {
            let is_named =
                detector.is_resource() && *detector != Detector::Cpu && rules.fail_on.contains(detector);
            is_named && !also.contains(detector)
        };
        let regressed = |detector: Detector| {
            let is_regression = |one: &&Verdict| one.detector == detector && rules.is_regression(one);
            let missed = arms.iter().flat_map(|arm| &arm.lines).filter_map(|line| line.missed.as_ref());
            let missed = missed.filter(|missed| detector == Detector::Rate && rules.fails_on_missed(missed));
            let count = all().filter(is_regression).count() + missed.count();
            (count > 0).then_some((detector, count))
        };
        let is_also_open = |one: &&Verdict| also.contains(&one.detector) && !one.class.is_decided();
        Self {
            regressed: Detector::ALL.into_iter().filter_map(regressed).collect(),
            tests: arms.iter().map(|arm| arm.lines.len()).sum(),
            also_open: all().filter(is_also_open).count(),
            too_little: rest().filter(is_little).collect(),
            also,
            others: rest().filter(|detector| has(*detector, false)).collect(),
            asked,
            noun: if arms.len() > 1 { "pairs of test and arm" } else { "tests" },
            nothing_on: { arms.iter() }
                .filter(|one| rules.decides_nothing(one))
                .map(|one| judged.run.arms[one.arm].name.clone())
                .collect(),
            inconclusive_fails: rules.inconclusive,
            furthest: undecided::furthest(all().filter(|one| rules.requires(one))).map(|one| {
                let arm = &judged.run.arms[one.arm].name;
                format!("{} on {arm}, at {}", one.test, words::times_base(one))
            }),
        }
    }

    /// For the heading: `: regression of rate in 1, of cost in 2 of 6 tests`. Empty without any.
    pub fn regressed(&self) -> String {
        let each =
            self.regressed.iter().map(|(detector, count)| format!("of {} in {count}", name(*detector)));
        let each = each.collect::<Vec<_>>().join(", ");
        if each.is_empty() { each } else { format!(": regression {each} of {} {}", self.tests, self.noun) }
    }

    /// For the heading: `; decided: cost in 7 of 7 tests, CPU time in none of 7`. Empty if all is decided.
    pub fn heading(&self) -> String {
        if self.asked.iter().all(|one| one.open() == 0) {
            return String::new();
        }
        let shares = self.asked.iter().enumerate().map(|(place, one)| match place {
            0 => format!("{} {}", one.share(), self.noun),
            _ => one.share(),
        });
        format!("; decided: {}", shares.collect::<Vec<_>>().join(", "))
    }

    /// What fails the gate, what is open and what that means, and what does not matter.
    pub fn sentence(&self) -> Option<String> {
        let fails_on: Vec<&str> =
            self.asked.iter().map(|one| one.detector).chain(self.also.iter().copied()).map(name).collect();
        let too_little: Vec<&str> = self.too_little.iter().map(|detector| name(*detector)).collect();
        let too_little = match too_little.as_slice() {
            [] => String::new(),
            names => format!(
                " Operations have too little of {} for a verdict, so that passes.",
                names.join(" and ")
            ),
        };
        if fails_on.is_empty() {
            return (!too_little.is_empty()).then(|| too_little.trim_start().to_owned());
        }
        let open: Vec<String> = self
            .asked
            .iter()
            .filter(|one| one.open() > 0)
            .map(|one| format!("{} in {}", name(one.detector), one.open()))
            .collect();
        let open = match (open.as_slice(), self.inconclusive_fails) {
            ([], _) if self.asked.is_empty() => "verdicts on it that are inconclusive pass".to_owned(),
            ([], _) => "all of these verdicts are reached".to_owned(),
            (_, false) if !self.nothing_on.is_empty() => {
                format!("of {} nothing is decided, which does not pass", self.nothing_on.join(" and "))
            }
            (open, false) => format!(
                "what is inconclusive ({}) passes, unless `--inconclusive-is-failure` is given",
                open.join(", ")
            ),
            (open, true) => {
                format!(
                    "what is inconclusive ({}) fails it, too: `--inconclusive-is-failure`",
                    open.join(", ")
                )
            }
        };
        let furthest = { self.furthest.iter() }
            .map(|furthest| format!(" The largest difference that is inconclusive: {furthest}."))
            .collect::<String>();
        let others: Vec<&str> = self.others.iter().map(|detector| name(*detector)).collect();
        let others = match others.as_slice() {
            [] => String::new(),
            others => {
                format!(" Not asked for by `--fail-on`, so of no consequence here: {}.", others.join(", "))
            }
        };
        let fails_on = match fails_on.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            one => one.concat(),
        };
        let also: Vec<&str> = self.also.iter().map(|detector| name(*detector)).collect();
        let also = match self.also_open {
            0 => String::new(),
            open => format!(" Verdicts on {} need not be reached; {open} inconclusive.", also.join(" and ")),
        };
        Some(format!(
            "The gate fails on regressions of {fails_on}; {open}.{also}{furthest}{too_little}{others}"
        ))
    }
}

/// `cost`, `CPU time`
fn name(detector: Detector) -> &'static str {
    let resource = detector.measure().filter(|_| detector.is_resource());
    resource.map_or(detector.key(), |measure| measure.label)
}
