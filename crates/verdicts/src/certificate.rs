//! What a host's certificate means: plain answers, and what changed between two certificates.

use rqps_model::{HostFigure, HostQuantity, words};
use rqps_store::{Arm, Certificates, Role, Run};
use serde::Serialize;

/// Shares of CPU time above which windows that follow each other differ by more than what matters.
const STEAL_PERCENT_MAX: f64 = 3.0;
const OTHER_PROGRAMS_PERCENT_MAX: f64 = 10.0;
/// Spread of 100 ms slices of integer speed by CPU time from which frequency is not steady.
const FREQUENCY_SPREAD_MAX: f64 = 0.05;
/// Mount options with which a file system sends no flushes to its disk.
const WITHOUT_FLUSHES: [&str; 4] = ["nobarrier", "barrier=0", "volatile", "fsync=volatile"];
/// File systems that keep their files in another one, whose mount options they do not have.
const IN_ANOTHER: &str = "overlay";
/// Syncs of a write cache that survives power loss take 1 to 60 us on published devices, those of other SSDs 450 us and
/// more. Between these is no device.
const CACHED_SYNC_US_MAX: f64 = 100.0;
const DEVICE_SYNC_US_MIN: f64 = 400.0;
/// On a busy host even the fastest of some slices with such a cache may take as long.
const CACHED_SLICE_US_MAX: f64 = 200.0;
/// Smallest change between two certificates: 2 % of a figure, 2 points of a share.
const CHANGE_MIN: f64 = 0.02;
const SHARE_CHANGE_MIN: f64 = 2.0;
/// The protocol of a run of blocks.
const ISOLATED: &str = "isolated";
/// File systems whose files are in memory only.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// What turns are good for, in the same words wherever a host is not quiet.
pub const IN_TURNS: &str = "Arms take turns, so that others disturb all alike";

/// How the windows of a run follow each other, which decides what helps on a host that is not quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowOrder {
    /// Arms take turns of milliseconds within each.
    InTurns,
    /// One after the other; with protocol `isolated` or passes they would be in turns.
    CouldBeInTurns,
    OneAfterTheOther,
    /// Windows of directories: what is measured is how long a disk takes, not how fast a CPU is.
    OfDirectories,
}

impl WindowOrder {
    /// Those of a run that has begun.
    pub fn of(run: &Run) -> Self {
        if run.arms.iter().any(Arm::is_directory) {
            return Self::OfDirectories;
        }
        let in_turns = match run.meta.protocol == ISOLATED {
            true => run.works.iter().all(|work| work.slice_events > 0),
            // What a resume measures of one arm gets no verdict on its rate.
            false => run
                .windows
                .iter()
                .any(|window| run.slices(window.action.seq).is_ok_and(|all| !all.is_empty())),
        };
        // Whether the windows of a sequence could be in turns is not recorded.
        if in_turns { Self::InTurns } else { Self::OneAfterTheOther }
    }

    /// What helps on a host that is not quiet.
    fn remedy(self) -> String {
        let remedy = match self {
            Self::InTurns => {
                return format!("{IN_TURNS}; verdicts still take more blocks than on a quiet host");
            }
            Self::CouldBeInTurns => {
                "Rates of windows that follow each other can't be judged now: wait for a quiet host, or use passes or \
                 protocol = \"isolated\", where arms take turns, so that others disturb all alike"
            }
            Self::OneAfterTheOther => {
                "Rates of windows that follow each other can't be judged now: wait for a quiet host"
            }
            Self::OfDirectories => {
                "Writes and syncs that wait for a CPU look like a slow disk: measure again when the host is quiet"
            }
        };
        remedy.to_owned()
    }
}

words! {
    /// A question about a host.
    HostQuestion {
        /// Does its disk have a write cache that survives power loss?
        WriteCache = "write-cache",
        SteadyFrequency = "steady-frequency",
        /// Does it have its CPUs to itself?
        OwnCpus = "own-cpus",
        /// Can the rates of windows that follow each other be compared?
        ComparableRates = "comparable-rates",
    }
}

impl HostQuestion {
    /// The question in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::WriteCache => "write cache that survives power loss",
            Self::SteadyFrequency => "steady frequency",
            Self::OwnCpus => "CPUs to itself",
            Self::ComparableRates => "rates of windows in a row can be judged",
        }
    }
}

words! {
    Answer {
        Yes = "yes",
        No = "no",
        Unclear = "unclear",
    }
}

/// The answer to a question about a host, with its reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostAnswer {
    pub question: HostQuestion,
    pub answer: Answer,
    /// The answer in a sentence, with its figures and a remedy.
    pub text: String,
}

/// The mounted file system of the data, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct DataMount<'a> {
    /// The directory.
    pub place: Option<&'a str>,
    pub filesystem: Option<&'a str>,
    pub device: Option<&'a str>,
    /// Separated by commas.
    pub options: Option<&'a str>,
}

impl<'a> DataMount<'a> {
    /// That of a run: where it keeps data, or base's directory if directories are measured.
    pub fn of(run: &'a Run) -> Self {
        let base = run.arms.iter().find(|arm| arm.role == Role::Base && arm.is_directory());
        if let Some(base) = base {
            return Self { place: Some(&base.build_origin), ..Self::from_facts(|name| base.fact(name)) };
        }
        Self { place: run.host_fact("directory"), ..Self::from_facts(|key| run.host_fact(key)) }
    }

    fn from_facts(fact: impl Fn(&str) -> Option<&'a str>) -> Self {
        let [filesystem, device, options] = ["filesystem", "device", "mount_options"].map(fact);
        Self { place: None, filesystem, device, options }
    }

    /// `/data (ext4 on vda, relatime,rw)`, or `/dev/shm (tmpfs, in memory)`; `None` if any of it is unknown.
    pub fn described(&self) -> Option<String> {
        let filesystem = self.filesystem?;
        if IN_MEMORY.contains(&filesystem) {
            return Some(format!("{} ({filesystem}, in memory)", self.place?));
        }
        let device = self.device?;
        Some(format!("{} ({filesystem} on {device}, {})", self.place?, self.options?))
    }

    /// The option by which syncs do not reach the disk, if there is one.
    fn without_flushes(self) -> Option<&'a str> {
        self.options?.split(',').find(|option| WITHOUT_FLUSHES.contains(option))
    }
}

/// Answers all questions that a certificate can answer.
pub fn host_answers(figures: &[HostFigure], mount: DataMount<'_>, windows: WindowOrder) -> Vec<HostAnswer> {
    let seen = Seen(figures);
    let answers =
        [seen.write_cache(mount), seen.steady_frequency(), seen.own_cpus(), seen.comparable_rates(windows)];
    answers.into_iter().flatten().collect()
}

/// What is wrong with a host for a run, and what helps, as a complement of "the host is"; `None` if nothing is.
pub fn host_doubt(figures: &[HostFigure], windows: WindowOrder) -> Option<String> {
    let doubts = Seen(figures).doubts(windows);
    let is = match windows {
        WindowOrder::InTurns | WindowOrder::OfDirectories => "not quiet",
        WindowOrder::CouldBeInTurns | WindowOrder::OneAfterTheOther => "not fit for judging rates",
    };
    (!doubts.is_empty()).then(|| format!("{is}: {}. {}", doubts.join("; "), windows.remedy()))
}

/// Commits per second that a disk promises to a client that waits for it at each: it writes 16 KiB, and syncs them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommitPromise {
    pub write_us: f64,
    pub sync_us: f64,
    pub per_s: f64,
    /// With the slowest slices.
    pub low_per_s: f64,
    /// With the fastest slices.
    pub high_per_s: f64,
    /// Whether it was also measured at the end of the run.
    pub is_of_end: bool,
}

impl CommitPromise {
    /// `before and after the run`.
    pub fn when(&self) -> &'static str {
        if self.is_of_end { "before and after the run" } else { "before the run" }
    }
}

/// What the disk of a certificate promises; `None` without the disk's figures.
pub fn commit_promise(figures: &[HostFigure]) -> Option<CommitPromise> {
    let seen = Seen(figures);
    let (write, sync) = (seen.figure(HostQuantity::Write)?, seen.figure(HostQuantity::Sync)?);
    let per_s = |write_us: f64, sync_us: f64| 1e6 / (write_us + sync_us);
    (write.low + sync.low > 0.0).then(|| CommitPromise {
        write_us: write.value,
        sync_us: sync.value,
        per_s: per_s(write.value, sync.value),
        low_per_s: per_s(write.high, sync.high),
        high_per_s: per_s(write.low, sync.low),
        is_of_end: false,
    })
}

/// A figure that differs between two certificates by more than the slices of either.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostChange {
    pub before: HostFigure,
    pub after: HostFigure,
}

impl HostChange {
    /// `context switch: 3.1 us before, 4.2 us after (+35 %; …)`, in these words for the two.
    pub fn text(&self, first: &str, second: &str) -> String {
        let (before, after) = (&self.before, &self.after);
        let quantity = before.quantity;
        let printed =
            |value: f64| if quantity.is_share() { format!("{value:.1}") } else { significant(value) };
        let [a, b] = [before, after].map(|figure| printed(figure.value));
        let values =
            format!("{}: {a} {unit} {first}, {b} {unit} {second}", quantity.title(), unit = quantity.unit());
        if quantity.is_share() {
            return values;
        }
        let range =
            |figure: &HostFigure| format!("{} to {}", significant(figure.low), significant(figure.high));
        let change = 100.0 * (after.value / before.value - 1.0);
        format!("{values} ({change:+.1} %; slices of {} and of {})", range(before), range(after))
    }
}

/// The two certificates of a run as one: the mean of both figures, and the range of all slices.
pub fn pooled(certificates: &Certificates) -> Vec<HostFigure> {
    let pool = |before: &HostFigure| {
        let after = certificates.after.iter().find(|after| after.quantity == before.quantity);
        after.map_or(*before, |after| HostFigure {
            quantity: before.quantity,
            value: (before.value + after.value) / 2.0,
            low: before.low.min(after.low),
            high: before.high.max(after.high),
        })
    };
    certificates.before.iter().map(pool).collect()
}

/// A figure with three significant digits, whole above 100.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// What changed between two certificates: the ranges of their slices do not overlap.
pub fn host_changes(before: &[HostFigure], after: &[HostFigure]) -> Vec<HostChange> {
    let change = |before: &HostFigure| {
        let after = after.iter().find(|after| after.quantity == before.quantity)?;
        let is_apart = before.high < after.low || after.high < before.low;
        let difference = (after.value - before.value).abs();
        let matters = match before.quantity.is_share() {
            true => difference > SHARE_CHANGE_MIN,
            false => difference > CHANGE_MIN * before.value,
        };
        (is_apart && matters).then_some(HostChange { before: *before, after: *after })
    };
    before.iter().filter_map(change).collect()
}

struct Seen<'a>(&'a [HostFigure]);

impl Seen<'_> {
    fn figure(&self, quantity: HostQuantity) -> Option<&HostFigure> {
        self.0.iter().find(|figure| figure.quantity == quantity)
    }

    fn value(&self, quantity: HostQuantity) -> Option<f64> {
        self.figure(quantity).map(|figure| figure.value)
    }

    fn write_cache(&self, mount: DataMount<'_>) -> Option<HostAnswer> {
        let HostFigure { value: us, low, high, .. } = *self.figure(HostQuantity::Sync)?;
        let took = format!("fdatasync after 16 KiB takes {us:.*} us", if us < 10.0 { 1 } else { 0 });
        let (answer, text) = match (mount.filesystem, mount.without_flushes()) {
            (Some(name), _) if IN_MEMORY.contains(&name) => (
                Answer::No,
                format!(
                    "files are in memory ({name}) and lost with it; set RQPS_WORK to a directory on a disk"
                ),
            ),
            (_, Some(option)) => (
                Answer::No,
                format!(
                    "the file system is mounted with {option}: a sync does not flush the disk's write cache, and a power \
                     loss loses what is in it ({took}); mount it without this option"
                ),
            ),
            _ if low <= CACHED_SLICE_US_MAX && high >= DEVICE_SYNC_US_MIN => (
                Answer::Unclear,
                format!(
                    "{took}, and {low:.0} to {high:.0} us in single slices: others use the disk or the CPUs, measure again when they do not"
                ),
            ),
            (Some(IN_ANOTHER), _) if us <= CACHED_SYNC_US_MAX => (
                Answer::Unclear,
                format!(
                    "{took}, and files of an overlay are in another file system, whose mount options are not known here; set \
                     RQPS_WORK to a directory of that one"
                ),
            ),
            _ if us <= CACHED_SYNC_US_MAX => (
                Answer::Yes,
                format!(
                    "{took}, too little to reach flash: the write cache survives power loss, or flushes are ignored \
                     somewhere below, which latency cannot tell"
                ),
            ),
            _ if us < DEVICE_SYNC_US_MIN => (
                Answer::Unclear,
                format!(
                    "{took}, more than with a write cache that survives power loss, less than to reach flash"
                ),
            ),
            // A sync that waits for a CPU takes as long as one that waits for the medium.
            _ if self.own_cpus().is_some_and(|own| own.answer == Answer::No) => (
                Answer::Unclear,
                format!(
                    "{took}, for which busy CPUs are reason enough: measure again when other programs do not use them"
                ),
            ),
            _ => (
                Answer::No,
                format!(
                    "{took}: each sync waits for the medium or a network, and so does each durable commit"
                ),
            ),
        };
        Some(HostAnswer { question: HostQuestion::WriteCache, answer, text })
    }

    fn steady_frequency(&self) -> Option<HostAnswer> {
        let spread = self.figure(HostQuantity::OneCoreCpu)?.spread();
        let range = format!(
            "by CPU time, one core's integer speed varied by {:.1} % over 100 ms slices",
            100.0 * spread
        );
        let (answer, text) = match spread <= FREQUENCY_SPREAD_MAX {
            true => (Answer::Yes, range),
            false => (
                Answer::No,
                format!(
                    "{range}: the frequency changes, or a neighbour shares the core; set the governor to performance and \
                     switch turbo off, or take dedicated CPUs"
                ),
            ),
        };
        Some(HostAnswer { question: HostQuestion::SteadyFrequency, answer, text })
    }

    fn own_cpus(&self) -> Option<HostAnswer> {
        let (steal, others) = (self.value(HostQuantity::Steal)?, self.value(HostQuantity::OtherPrograms)?);
        let own = steal <= STEAL_PERCENT_MAX && others <= OTHER_PROGRAMS_PERCENT_MAX;
        let by_guests = format!("other guests took {steal:.1} % of the CPU time");
        let by_programs = format!("other programs of this host took {others:.1} % of the CPU time");
        // Of a host that is not its own, what speaks against it.
        let took = match (steal > STEAL_PERCENT_MAX, others > OTHER_PROGRAMS_PERCENT_MAX) {
            (true, false) => by_guests,
            (false, true) => by_programs,
            _ => format!("{by_guests}, other programs of this host {others:.1} %"),
        };
        let answer = if own { Answer::Yes } else { Answer::No };
        Some(HostAnswer { question: HostQuestion::OwnCpus, answer, text: took })
    }

    /// What speaks against comparing windows. A disk does not wait for a CPU's frequency.
    fn doubts(&self, windows: WindowOrder) -> Vec<String> {
        let frequency = (windows != WindowOrder::OfDirectories).then(|| self.steady_frequency()).flatten();
        let answers = [self.own_cpus(), frequency].into_iter().flatten();
        answers.filter(|one| one.answer == Answer::No).map(|one| one.text).collect()
    }

    fn comparable_rates(&self, windows: WindowOrder) -> Option<HostAnswer> {
        self.steady_frequency().and(self.own_cpus())?;
        let (answer, text) = match self.doubts(windows).len() {
            1 if windows == WindowOrder::OfDirectories => {
                (Answer::No, format!("because the CPUs are not its own. {}", windows.remedy()))
            }
            0 => (Answer::Yes, "nothing speaks against it".to_owned()),
            1 => (Answer::No, format!("because of the \"no\" above. {}", windows.remedy())),
            _ => (Answer::No, format!("because of both \"no\" above. {}", windows.remedy())),
        };
        Some(HostAnswer { question: HostQuestion::ComparableRates, answer, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(quantity: HostQuantity, low: f64, value: f64, high: f64) -> HostFigure {
        HostFigure { quantity, value, low, high }
    }

    fn quiet() -> Vec<HostFigure> {
        vec![
            figure(HostQuantity::OneCoreCpu, 595.0, 600.0, 602.0),
            figure(HostQuantity::Steal, 0.0, 0.0, 0.0),
            figure(HostQuantity::OtherPrograms, 1.0, 1.0, 1.0),
            figure(HostQuantity::Write, 20.0, 25.0, 30.0),
            figure(HostQuantity::Sync, 9.0, 10.0, 12.0),
        ]
    }

    fn answers(figures: &[HostFigure], filesystem: &str) -> Vec<Answer> {
        let mount = DataMount { filesystem: Some(filesystem), ..DataMount::default() };
        host_answers(figures, mount, WindowOrder::CouldBeInTurns).iter().map(|answer| answer.answer).collect()
    }

    #[test]
    fn each_doubt_alone_makes_rates_incomparable() {
        use Answer::{No, Unclear, Yes};
        assert_eq!(answers(&quiet(), "ext4"), [Yes, Yes, Yes, Yes]);
        assert_eq!(host_doubt(&quiet(), WindowOrder::OneAfterTheOther), None);
        for (index, worse, expected) in [
            (0, figure(HostQuantity::OneCoreCpu, 500.0, 600.0, 602.0), [Yes, No, Yes, No]),
            (1, figure(HostQuantity::Steal, 9.0, 9.0, 9.0), [Yes, Yes, No, No]),
            (2, figure(HostQuantity::OtherPrograms, 40.0, 40.0, 40.0), [Yes, Yes, No, No]),
            (4, figure(HostQuantity::Sync, 150.0, 200.0, 300.0), [Unclear, Yes, Yes, Yes]),
            (4, figure(HostQuantity::Sync, 500.0, 900.0, 1500.0), [No, Yes, Yes, Yes]),
            (4, figure(HostQuantity::Sync, 60.0, 80.0, 723.0), [Unclear, Yes, Yes, Yes]),
            (4, figure(HostQuantity::Sync, 127.0, 2022.0, 5530.0), [Unclear, Yes, Yes, Yes]),
        ] {
            let mut figures = quiet();
            figures[index] = worse;
            assert_eq!(answers(&figures, "ext4"), expected, "{worse:?}");
            let doubts = [WindowOrder::InTurns, WindowOrder::CouldBeInTurns, WindowOrder::OneAfterTheOther]
                .map(|windows| host_doubt(&figures, windows));
            assert_eq!(doubts.iter().flatten().count(), if expected[3] == No { 3 } else { 0 }, "{worse:?}");
            let advised = doubts.map(|doubt| doubt.is_some_and(|doubt| doubt.contains("isolated")));
            assert_eq!(advised, [false, expected[3] == No, false], "{worse:?}");
        }
        assert_eq!(answers(&quiet(), "tmpfs")[0], No, "fast, but in memory");
        let options = Some("nobarrier,relatime,rw");
        let mount = DataMount { filesystem: Some("ext4"), options, ..DataMount::default() };
        let write_cache = &host_answers(&quiet(), mount, WindowOrder::CouldBeInTurns)[0];
        assert_eq!(write_cache.answer, No, "fast, as nothing is flushed");
        assert!(write_cache.text.contains("mounted with nobarrier"), "{}", write_cache.text);
        let of_overlay = |options| {
            let mount =
                DataMount { filesystem: Some("overlay"), options: Some(options), ..DataMount::default() };
            host_answers(&quiet(), mount, WindowOrder::CouldBeInTurns)[0].answer
        };
        assert_eq!((of_overlay("fsync=volatile,rw"), of_overlay("relatime,rw")), (No, Unclear));
        assert_eq!(
            host_answers(&quiet()[3..], DataMount::default(), WindowOrder::CouldBeInTurns).len(),
            1,
            "no answer without its figures"
        );
        let promise = commit_promise(&quiet()).unwrap();
        let rates = [promise.low_per_s, promise.per_s, promise.high_per_s].map(f64::round);
        assert_eq!(rates, [23810.0, 28571.0, 34483.0]);
        assert_eq!(commit_promise(&quiet()[..4]), None);
    }

    #[test]
    fn a_change_is_more_than_the_noise_of_both_and_more_than_two_percent() {
        let before = quiet();
        let mut after = quiet();
        after[0] = figure(HostQuantity::OneCoreCpu, 601.0, 700.0, 702.0); // overlaps
        after[3] = figure(HostQuantity::Write, 31.0, 33.0, 35.0);
        after[4] = figure(HostQuantity::Sync, 12.1, 12.2, 12.3);
        let changed: Vec<_> =
            host_changes(&before, &after).iter().map(|change| change.after.quantity).collect();
        assert_eq!(changed, [HostQuantity::Write, HostQuantity::Sync]);
        after[3] = figure(HostQuantity::Write, 30.1, 30.2, 30.3);
        after[4] = figure(HostQuantity::Sync, 8.9, 8.9, 8.9);
        after[1] = figure(HostQuantity::Steal, 1.5, 1.5, 1.5);
        after[2] = figure(HostQuantity::OtherPrograms, 4.0, 4.0, 4.0);
        let changed: Vec<_> =
            host_changes(&before, &after).iter().map(|change| change.after.quantity).collect();
        assert_eq!(changed, [HostQuantity::OtherPrograms, HostQuantity::Write, HostQuantity::Sync]);
        after[3] = figure(HostQuantity::Write, 19.0, 19.5, 19.9);
        let mut narrow = before.clone();
        narrow[3] = figure(HostQuantity::Write, 25.0, 25.0, 25.0);
        after[3] = figure(HostQuantity::Write, 25.1, 25.2, 25.3);
        assert!(
            !host_changes(&narrow, &after).iter().any(|one| one.after.quantity == HostQuantity::Write),
            "1 %"
        );
    }
}
