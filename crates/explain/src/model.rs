//! The parts of an explanation, as plain values that tables, pages and JSON render.

use rqps_model::Digits;
use rqps_verdicts::CommitPromise;

use crate::quantity::Quantity;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainRequest {
    /// Tests by step name. Empty: every test with a verdict other than `same`; in a run without verdicts,
    /// every test whose rQPS is below [`RATIO_LOW`] or above [`RATIO_HIGH`].
    pub tests: Vec<String>,
    /// Arms, as indexes into [`rqps_store::Run::arms`]. Empty: all but base and its control.
    pub arms: Vec<usize>,
    /// The arm to compare with; `None`: the plan's base.
    pub base: Option<usize>,
}

/// In a run without verdicts, a test with an rQPS below this is explained unasked.
pub const RATIO_LOW: f64 = 0.95;
pub const RATIO_HIGH: f64 = 1.05;

/// Why the rate or cost of one test differs between an arm and base.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The test's step name: `point-query`, `point-query.pre`.
    pub test: String,
    pub group: String,
    /// Index into [`rqps_store::Run::arms`].
    pub arm: usize,
    /// Index of the arm that it is compared with.
    pub base: usize,
    /// Where the time of an operation goes; `None` if times are missing.
    pub decomposition: Option<Decomposition>,
    /// Whether causes were searched for: of a change, or of a named test that is inconclusive. The only possible
    /// finding else is a changed query plan.
    pub searched: bool,
    /// Whether there are verdicts, and none shows a change.
    pub may_be_chance: bool,
    /// Findings by descending weight.
    pub findings: Vec<Finding>,
    /// Whether shares of the time's change say something: a verdict shows that the rate changed, or there are none.
    pub has_shares: bool,
    /// Commits, if they wait for the disk on either arm.
    pub commits: Option<Commits>,
    /// What differs between the arms, relevant here or not.
    pub differences: Vec<Difference>,
    /// What was not measured, and how to measure it.
    pub remarks: Vec<String>,
}

rqps_model::words! {
    /// The kind of a finding, as reports name it.
    Word {
        /// An operation takes more instructions, rows, blocks or bytes.
        MoreWork = "more work",
        LessWork = "less work",
        /// Background processes use more CPU time: whether they do more or are slower is not counted.
        MoreCpuTime = "more CPU time",
        LessCpuTime = "less CPU time",
        /// The same work takes more CPU time.
        SlowerWork = "slower work",
        /// The same work takes less CPU time.
        FasterWork = "faster work",
        /// An operation waits longer for disk, CPU or other sessions.
        MoreWaiting = "more waiting",
        LessWaiting = "less waiting",
        /// The two arms did not do the same work.
        NotComparable = "not comparable",
        /// The server chose a different query plan.
        AnotherPlan = "another plan",
        /// The step began with work that earlier steps deferred.
        InheritedDebt = "inherited debt",
        /// The machine did not behave the same for both arms.
        TheHost = "the host",
        /// No measured figure tells how, but the arms differ in one thing alone.
        OnlyDifference = "only difference",
        /// No measured figure accounts for it.
        NotExplained = "not explained",
    }
}

impl Word {
    /// The word for work that increased or decreased.
    pub fn work(rose: bool) -> Self {
        if rose { Word::MoreWork } else { Word::LessWork }
    }

    /// The word for CPU time that increased or decreased, with whatever work.
    pub fn cpu_time(rose: bool) -> Self {
        if rose { Word::MoreCpuTime } else { Word::LessCpuTime }
    }

    /// The word for CPU time of the same work that increased or decreased.
    pub fn speed(time_rose: bool) -> Self {
        if time_rose { Word::SlowerWork } else { Word::FasterWork }
    }

    /// The word for waiting that increased or decreased.
    pub fn waiting(rose: bool) -> Self {
        if rose { Word::MoreWaiting } else { Word::LessWaiting }
    }

    pub(crate) fn is_waiting(self) -> bool {
        matches!(self, Word::MoreWaiting | Word::LessWaiting)
    }
}

rqps_model::words! {
    /// The mechanism that a finding names. Tests and JSON compare its key.
    Cause {
        /// A different query plan was chosen.
        QueryPlan = "query-plan",
        /// Statements are planned more or less often, or planning takes longer or shorter.
        Planning = "planning",
        /// Bytes written to the write-ahead log (redo log), including full-page images.
        Wal = "wal",
        /// Table or index blocks touched.
        BlocksTouched = "blocks-touched",
        Rows = "rows",
        /// Blocks that were not in the buffer pool.
        BufferMisses = "buffer-misses",
        /// Blocks read from storage, and how.
        Reads = "reads",
        /// Heap-only (HOT) updates.
        HotUpdates = "hot-updates",
        /// A checkpoint in the window.
        Checkpoint = "checkpoint",
        Autovacuum = "autovacuum",
        /// Flushes and compactions of an LSM tree.
        Compaction = "compaction",
        /// Writes that the engine delays until compactions have caught up.
        WriteStall = "write-stall",
        /// Purge of old row versions in the window.
        Purge = "purge",
        /// Pages written twice to survive torn writes.
        Doublewrite = "doublewrite",
        /// The binary log of statements and rows.
        BinaryLog = "binary-log",
        /// Bytes written to the host's disks, by all programs.
        DiskWrites = "disk-writes",
        /// Pages written by backends themselves.
        BackendWrites = "backend-writes",
        /// Waiting for the log to be flushed.
        Fsync = "fsync",
        /// Dead rows that scans skip.
        DeadRows = "dead-rows",
        /// Deleted rows at the tail of a queue that planning, or each DELETE, skips.
        TailEntries = "tail-entries",
        /// Background writes that missed their requested rate.
        BackgroundRate = "background-rate",
        /// Size of tables and indexes.
        Size = "size",
        TempFiles = "temp-files",
        /// Locks, deadlocks, retries.
        Locks = "locks",
        /// Functions whose share of CPU time changed.
        Function = "function",
        Instructions = "instructions",
        /// Time per instruction: cache misses, branches, code layout.
        Cycles = "cycles",
        /// CPU time, if instructions were not counted.
        CpuTime = "cpu-time",
        /// CPU time in the kernel.
        KernelTime = "kernel-time",
        Frequency = "frequency",
        /// CPU time of background processes.
        Background = "background",
        /// One connection that differs from the others.
        Connections = "connections",
        /// CPU time of the client program.
        Client = "client",
        /// Waiting of an unknown kind.
        Waiting = "waiting",
        /// Waiting for a CPU to run on.
        CpuQueue = "cpu-queue",
        /// Other programs on the machine.
        OtherLoad = "other-load",
        /// CPU time taken by other guests of the host.
        CpuSteal = "cpu-steal",
        /// A canary ran at another speed.
        Canary = "canary",
        Swap = "swap",
        /// No cause was found.
        Unknown = "unknown",
    }
}

/// How certain a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Compared with base's own variation between blocks.
    Replicated {
        /// Blocks in which both arms were measured.
        blocks: usize,
    },
    /// A verdict finds the change likely and does not establish it.
    Likely {
        /// Blocks in which both arms were measured.
        blocks: usize,
    },
    /// Measured once on each arm: only its size distinguishes it from noise.
    SinglePass,
    /// A fact that needs no repetition, such as a query plan.
    Fact,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub word: Word,
    pub cause: Cause,
    /// One sentence for a report, without the word, in lower case and without a full stop.
    pub sentence: String,
    /// What findings are ordered by: the share of the change in time per operation that it accounts for
    /// (negative if it works against the change), or, without a share, from 0 to 1 how far it exceeds noise.
    pub weight: f64,
    /// The share of the change in time per operation that it accounts for, if known; negative if it works
    /// against the change.
    pub(crate) share: Option<f64>,
    pub certainty: Certainty,
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// The share of the change in time per operation that it accounts for, -1 to 1, if known.
    pub fn share(&self) -> Option<f64> {
        self.share.map(|share| share.clamp(-1.0, 1.0))
    }

    /// Base's and the arm's value of its first evidence; `None` if that is text.
    pub(crate) fn figure(&self) -> Option<(f64, f64)> {
        let first = self.evidence.first()?;
        first.base.zip(first.arm)
    }

    /// The evidence of this kind, if any.
    pub(crate) fn shown(&self, shows: &Shows) -> Option<&Evidence> {
        self.evidence.iter().find(|figure| figure.shows == *shows)
    }

    /// Appends a clause to its sentence.
    pub(crate) fn add(&mut self, clause: &str) {
        self.sentence.push_str("; ");
        self.sentence.push_str(clause);
    }

    /// Whether the arm has more of something; `None` for findings without a direction.
    pub(crate) fn direction(&self) -> Option<bool> {
        match self.word {
            Word::MoreWork
            | Word::MoreCpuTime
            | Word::SlowerWork
            | Word::MoreWaiting
            | Word::InheritedDebt => Some(true),
            Word::LessWork | Word::LessCpuTime | Word::FasterWork | Word::LessWaiting => Some(false),
            Word::TheHost | Word::OnlyDifference | Word::NotExplained => {
                self.figure().map(|(base, arm)| arm > base)
            }
            Word::AnotherPlan | Word::NotComparable => None,
        }
    }
}

#[cfg(test)]
impl Finding {
    /// A finding with the given evidence, for tests.
    pub(crate) fn made(word: Word, cause: Cause, sentence: &str, evidence: Vec<Evidence>) -> Self {
        let (sentence, certainty) = (sentence.to_owned(), Certainty::SinglePass);
        Self { word, cause, sentence, weight: 1.0, share: None, certainty, evidence }
    }
}

/// Commits that wait for the disk, beside what the disk promises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Commits {
    pub promise: CommitPromise,
    /// On base; `None` if its commits do not wait.
    pub base: Option<WaitingCommits>,
    pub arm: Option<WaitingCommits>,
}

/// Commits of a test on an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitingCommits {
    /// Connections that commit at the same time.
    pub sessions: u32,
    /// Of all of them.
    pub per_s: f64,
    /// Their statements that found nothing to change: rates count them, but nothing is committed.
    pub unchanged_per_s: f64,
    /// A session's commits over those that the disk promises it.
    pub share: f64,
    /// The server's syncs of the logs that it waits for per commit; `None` if it does not count them.
    pub log_syncs: Option<f64>,
    /// Logs that a commit waits for: with a synced binary log two.
    pub logs: u32,
}

/// A figure or text that supports a finding.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Its name: `table blocks touched`.
    pub what: String,
    /// Unit of the figures: `blocks/query`.
    pub unit: String,
    pub base: Option<f64>,
    pub arm: Option<f64>,
    /// Half width of the 99 % interval of the difference, as a share of the larger value; `None` in a single
    /// pass.
    pub noise: Option<f64>,
    /// Further text to show: a plan, a setting.
    pub text: Option<String>,
    pub(crate) shows: Shows,
}

/// The kind of a figure, if that decides which findings it is merged into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Shows {
    /// No kind that another finding looks for.
    #[default]
    Itself,
    /// The machine slowed down or sped up the client as it did the server.
    ClientCpu,
    FullPageImages,
    /// Bytes of the write-ahead log.
    LogBytes,
    /// Bytes read from storage.
    StorageReads,
    /// Lookups of data blocks, without those of indexes and filters.
    DataBlocks,
    /// Bytes that flushes wrote, of all that was rewritten.
    Flushes,
    /// Samples in which sessions were waiting.
    SeenWaiting,
    LogBufferFull,
    /// CPU time of background processes of one role.
    Role(String),
    /// Changes of a query plan.
    Plan(Vec<PlanPart>),
}

/// The part of a query plan that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanPart {
    /// A node of this type, in the server's words, was added, removed or replaced.
    Node(String),
    Workers,
    Jit,
}

impl Evidence {
    /// A figure on both arms.
    pub(crate) fn figure(what: impl Into<String>, unit: impl Into<String>, found: &Quantity) -> Self {
        Self {
            what: what.into(),
            unit: unit.into(),
            base: Some(found.base),
            arm: Some(found.arm),
            noise: found.noise(),
            ..Self::default()
        }
    }

    pub(crate) fn showing(self, shows: Shows) -> Self {
        Self { shows, ..self }
    }
}

rqps_model::words! {
    /// What kind of thing differs between two arms.
    DifferenceKind {
        /// A setting that was set explicitly.
        Setting = "setting",
        /// A default that differs between the versions.
        DefaultSetting = "default",
        /// An option that the build does not know.
        LeftOut = "left out",
        /// Compiler, flags, configure options.
        Build = "build",
        Host = "host",
        /// Statements run on one arm after the load.
        AfterLoad = "after load",
        /// Environment variables of the server.
        Environment = "environment",
        Version = "version",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub kind: DifferenceKind,
    pub name: String,
    /// Value on base; `None` if base has nothing of that name.
    pub base: Option<String>,
    /// Value on the arm; `None` if the arm has nothing of that name.
    pub arm: Option<String>,
}

/// Where the time of an operation goes, on base and on the arm. All times are microseconds per operation of
/// one client: clients x window / operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Decomposition {
    pub clients: u32,
    pub base_us_per_op: f64,
    pub arm_us_per_op: f64,
    /// Lower end of the 99 % interval of the change; NaN in a single pass.
    pub low: f64,
    pub high: f64,
    /// CPU time of the server's sessions, CPU time of the client, and waiting. Their changes sum to the whole
    /// change.
    pub parts: Vec<Part>,
    /// How much of the change is waiting of a kind that was not measured.
    pub unexplained_us_per_op: f64,
    /// CPU time of background processes per operation. It runs concurrently with the clients and is in no
    /// part.
    pub background: Option<Part>,
    /// Context switches and storage traffic per operation, whose time is spread over several parts.
    pub beside: Vec<Evidence>,
}

impl Decomposition {
    pub fn change_us_per_op(&self) -> f64 {
        self.arm_us_per_op - self.base_us_per_op
    }

    /// Whether its change is known not to be 0; never of a single pass.
    pub fn is_beyond_noise(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether the interval of the change includes none; false of a single pass, which has no interval.
    pub(crate) fn is_within_noise(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

rqps_model::words! {
    /// Names of the parts of the time per operation.
    PartName {
        /// Of what serves the clients, without background processes.
        Server = "session CPU",
        Instructions = "instructions",
        CyclesPerInstruction = "cycles per instruction",
        TimePerCycle = "time per cycle",
        TimePerInstruction = "time per instruction",
        Kernel = "kernel",
        Client = "client CPU",
        Waiting = "waiting",
        ForCpu = "for a CPU",
        ForReads = "for reads",
        ForLog = "for the log",
        ForStalls = "in write stalls, off the CPU",
        Unexplained = "unexplained",
        /// Not part of an operation's time.
        Background = "background processes",
        /// The whole.
        Operation = "an operation",
    }
}

/// A part of the time per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub name: PartName,
    /// On base; NaN for factors, which only split a change.
    pub base_us_per_op: f64,
    /// On the arm; NaN for factors.
    pub arm_us_per_op: f64,
    /// Arm minus base.
    pub change_us_per_op: f64,
    /// Lower end of the 99 % interval of the change; NaN in a single pass.
    pub low: f64,
    pub high: f64,
    /// Its own parts, which sum to it; empty if unknown.
    pub of: Vec<Part>,
}

/// Most decimals of a change in microseconds.
const DECIMALS_MAX: f64 = 3.0;

impl Part {
    /// How its change and interval are printed: with three digits at most.
    pub fn digits(&self) -> Digits {
        let change = self.change_us_per_op.abs();
        let digits = if change > 0.0 { (2.0 - change.log10().floor()).clamp(0.0, DECIMALS_MAX) } else { 0.0 };
        Digits::of_difference((self.low, self.high), digits as usize)
    }

    /// Whether its change is known not to be 0; never of a single pass.
    pub fn is_beyond_noise(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}
