//! What an explanation consists of: values that tables, pages and JSON are made of, without a way of showing them.

use crate::quantity::Quantity;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Tests by step name. Empty: every test with a verdict that is not `same`; in a run without verdicts, every test
    /// whose rQPS lies beyond [`RATIO_LOW`] or [`RATIO_HIGH`].
    pub tests: Vec<String>,
    /// Arms as numbered in [`rqps_store::Run::arms`]. Empty: all but base and its control.
    pub arms: Vec<usize>,
    /// What they are compared with; none: the plan's base.
    pub base: Option<usize>,
}

/// Below this rQPS a test of a run without verdicts is explained without being asked for.
pub const RATIO_LOW: f64 = 0.95;
pub const RATIO_HIGH: f64 = 1.05;

/// Why one test has another rate or cost on an arm than on base.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The test's step name: `point-query`, `point-query.pre`.
    pub test: String,
    pub group: String,
    /// The arm, as numbered in [`rqps_store::Run::arms`].
    pub arm: usize,
    /// What it is compared with.
    pub base: usize,
    /// Where the time of one operation goes; none where times are missing.
    pub decomposition: Option<Decomposition>,
    /// Whether causes were looked for: not where there are verdicts and none shows a change. The only finding then can
    /// be that the query plan changed.
    pub searched: bool,
    /// The findings, the weightiest first.
    pub findings: Vec<Finding>,
    /// What differs between the arms, whether or not it matters here.
    pub differences: Vec<Difference>,
    /// What could not be looked at, and what would make it visible.
    pub remarks: Vec<String>,
}

rqps_model::words! {
    /// The kind of an explanation, in the words of reports.
    Word {
        /// An operation takes more instructions, rows, blocks or bytes.
        MoreWork = "more work",
        LessWork = "less work",
        /// The same work takes more CPU time.
        SlowerWork = "slower work",
        /// The same work takes less CPU time.
        FasterWork = "faster work",
        /// An operation waits longer for disk, CPU or other sessions.
        MoreWaiting = "more waiting",
        LessWaiting = "less waiting",
        /// What was measured on the two is not the same work.
        NotComparable = "not comparable",
        /// The server chose another query plan.
        AnotherPlan = "another plan",
        /// The step began with work that earlier ones put off.
        InheritedDebt = "inherited debt",
        /// The machine was not the same for both.
        TheHost = "the host",
        /// Nothing that was looked at accounts for it.
        NotExplained = "not explained",
    }
}

impl Word {
    /// The word for work that rose or fell.
    pub fn work(rose: bool) -> Self {
        if rose { Word::MoreWork } else { Word::LessWork }
    }

    /// The word for CPU time of the same work that rose or fell.
    pub fn speed(time_rose: bool) -> Self {
        if time_rose { Word::SlowerWork } else { Word::FasterWork }
    }

    /// The word for waiting that rose or fell.
    pub fn waiting(rose: bool) -> Self {
        if rose { Word::MoreWaiting } else { Word::LessWaiting }
    }
}

rqps_model::words! {
    /// The mechanism that a finding names; its key is what tests and JSON compare.
    Cause {
        /// Another query plan was chosen.
        QueryPlan = "query-plan",
        /// Statements are planned more or less often, or planning takes another time.
        Planning = "planning",
        /// Bytes written to the write-ahead log (redo log), full-page images among them.
        Wal = "wal",
        /// Table or index blocks touched.
        HeapBlocks = "heap-blocks",
        Rows = "rows",
        /// Blocks that were not in the buffers.
        BufferMisses = "buffer-misses",
        /// Blocks read from storage, and how.
        Reads = "reads",
        /// Updates that could stay on their page.
        HotUpdates = "hot-updates",
        /// A checkpoint in the window.
        Checkpoint = "checkpoint",
        Autovacuum = "autovacuum",
        /// Purge of old row versions in the window.
        Purge = "purge",
        /// Pages written twice, for the case that a write is cut off.
        Doublewrite = "doublewrite",
        /// The binary log of statements and rows.
        BinaryLog = "binary-log",
        /// Pages written by backends themselves.
        BackendWrites = "backend-writes",
        /// Waiting for the log to reach the disk.
        Fsync = "fsync",
        /// Dead rows that have to be passed over.
        DeadRows = "dead-rows",
        /// Deleted rows at the tail of a queue that planning, or each DELETE, passes over.
        TailEntries = "tail-entries",
        /// Writes beside queries that did not come at the rate asked for.
        BackgroundRate = "background-rate",
        /// Size of tables and indexes.
        Size = "size",
        TempFiles = "temp-files",
        /// Locks, deadlocks, retries.
        Locks = "locks",
        /// Functions whose share of CPU time changed.
        Function = "function",
        Instructions = "instructions",
        /// Time that an instruction takes: cache misses, branches, layout.
        Cycles = "cycles",
        /// CPU time, where instructions are not known.
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
        /// Waiting of no known kind.
        Waiting = "waiting",
        /// Waiting for a CPU to run on.
        CpuQueue = "cpu-queue",
        /// Other programs on the machine.
        OtherLoad = "other-load",
        /// CPU time that other guests of the machine took.
        CpuSteal = "cpu-steal",
        /// Fixed work of the host itself ran at another speed.
        Canary = "canary",
        Swap = "swap",
        /// None is known.
        Unknown = "unknown",
    }
}

/// How well a finding is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Compared with how base differs from itself, over blocks.
    Replicated {
        /// Blocks that both arms were measured in.
        blocks: usize,
    },
    /// Seen once on each arm: nothing tells it from noise but its size.
    SinglePass,
    /// A fact that needs no repetition, such as a query plan.
    Fact,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub word: Word,
    pub cause: Cause,
    /// One sentence that could stand in a report, without the word, beginning in lower case and without a full stop.
    pub sentence: String,
    /// What findings are ordered by: the share of the change in time per operation that it accounts for (negative where
    /// it works against the change), or from 0 to 1 how far it is out of noise where no share can be said.
    pub weight: f64,
    /// The share of the change in time per operation that it accounts for, where that can be said; negative where it
    /// works against the change.
    pub(crate) share: Option<f64>,
    /// How well it is known.
    pub certainty: Certainty,
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// Values of its first figure; none where that is text.
    pub(crate) fn figure(&self) -> Option<(f64, f64)> {
        let first = self.evidence.first()?;
        first.base.zip(first.arm)
    }

    /// The figure that shows something; none where none does.
    pub(crate) fn shown(&self, shows: &Shows) -> Option<&Evidence> {
        self.evidence.iter().find(|figure| figure.shows == *shows)
    }

    /// Adds a clause to its sentence.
    pub(crate) fn add(&mut self, clause: &str) {
        self.sentence.push_str("; ");
        self.sentence.push_str(clause);
    }

    /// Whether it says that the arm has more of something; none for what has no direction.
    pub(crate) fn direction(&self) -> Option<bool> {
        match self.word {
            Word::MoreWork | Word::SlowerWork | Word::MoreWaiting | Word::InheritedDebt => Some(true),
            Word::LessWork | Word::FasterWork | Word::LessWaiting => Some(false),
            Word::TheHost | Word::NotExplained => self.figure().map(|(base, arm)| arm > base),
            Word::AnotherPlan | Word::NotComparable => None,
        }
    }
}

/// A figure or a text that a finding rests on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// What it is: `heap blocks found in the buffers`.
    pub what: String,
    /// Unit of the figures: `blocks/query`.
    pub unit: String,
    pub base: Option<f64>,
    pub arm: Option<f64>,
    /// Half width of the 99 % interval of the difference, as a share of base's value; none in a single pass.
    pub noise: Option<f64>,
    /// Where there is more to show than figures: a plan, a setting.
    pub text: Option<String>,
    pub(crate) shows: Shows,
}

/// What a figure shows, where that decides which other findings it belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Nothing that another finding asks for.
    #[default]
    Itself,
    /// That the machine slowed the client down, or sped it up, as it did the server.
    ClientCpu,
    FullPageImages,
    /// Bytes that were fetched from storage.
    StorageReads,
    /// That sessions were seen waiting.
    SeenWaiting,
    LogBufferFull,
    /// CPU time of background processes of one role.
    Role(String),
    /// What became of a plan.
    Plan(Vec<PlanPart>),
}

/// What of a plan a change is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanPart {
    /// A node of this kind, in the server's words, came, went or became another one.
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
        /// A setting that somebody set.
        Setting = "setting",
        /// A setting that nobody set and whose default differs.
        DefaultSetting = "default",
        /// An option that a build does not know.
        LeftOut = "left out",
        /// Compiler, flags, options of configure.
        Build = "build",
        /// A fact of the host.
        Host = "host",
        /// Statements run on one arm after its data were there.
        AfterLoad = "after load",
        /// Environment of the server program.
        Environment = "environment",
        Version = "version",
    }
}

/// One thing that differs between two arms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// Its name: `random_page_cost`.
    pub name: String,
    /// On base; none where base has nothing of that name.
    pub base: Option<String>,
    /// On the arm; none where it has nothing of that name.
    pub arm: Option<String>,
}

/// Where the time of one operation goes, on base and on the arm. All times are microseconds per operation, of one
/// client: clients x window / operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Decomposition {
    pub clients: u32,
    /// Time per operation on base.
    pub base_us_per_op: f64,
    /// Time per operation on the arm.
    pub arm_us_per_op: f64,
    /// Lower end of the 99 % interval of the change; NaN in a single pass.
    pub low: f64,
    pub high: f64,
    /// Its parts: CPU time of the server's sessions, CPU time of the client, and waiting. They add up to the change.
    pub parts: Vec<Part>,
    /// How much of the change is waiting of a kind that nobody measured.
    pub unexplained_us_per_op: f64,
    /// CPU time of background processes per operation, which runs beside the clients' and is in no part.
    pub background: Option<Part>,
    /// Context switches and storage traffic of an operation, which take time in several of the parts.
    pub beside: Vec<Evidence>,
}

impl Decomposition {
    /// The change in time per operation.
    pub fn change_us_per_op(&self) -> f64 {
        self.arm_us_per_op - self.base_us_per_op
    }
}

rqps_model::words! {
    /// What a part of the time per operation is.
    PartName {
        Server = "server CPU",
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
        Unexplained = "unexplained",
        /// Beside all others.
        Background = "background processes",
        /// All of them.
        Operation = "an operation",
    }
}

/// A part of the time per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub name: PartName,
    /// On base; NaN for what only a change can be split into.
    pub base_us_per_op: f64,
    /// On the arm; NaN likewise.
    pub arm_us_per_op: f64,
    /// What the arm has more.
    pub change_us_per_op: f64,
    /// Lower end of the 99 % interval of the change; NaN in a single pass.
    pub low: f64,
    pub high: f64,
    /// What the change is made of; sums to it. Empty where it is not known.
    pub of: Vec<Part>,
}
