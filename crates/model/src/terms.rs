//! What a kind of system is called and what its runs have, for texts about them.

use crate::build::Dbms;

/// Name of the setting in a run's method that has the size of the data in the benchmark's own words, if rows and
/// tables say little about it.
pub const SIZE: &str = "size";

/// The words of a kind of system.
#[derive(Debug)]
pub struct Terms {
    /// What does the work, singular: `server`.
    pub program: &'static str,
    /// Whether it has a config, a cost and counters of its own.
    pub has_program: bool,
    /// Whether each test can start from the same data, as blocks and CPU profiles require.
    pub has_independent_tests: bool,
    /// Whether the client's CPU time is that of work, the same on all arms. Clients of an engine are threads of its
    /// process: what counts as the client only waits.
    pub client_works: bool,
    /// A block with protocol `isolated`, and a pass of a sequence as one, after "a block is".
    pub block: &'static str,
    pub pass: &'static str,
    /// How each block of a test begins: `after a restart`.
    pub anew: &'static str,
    /// What differs between blocks, plural: `server starts, each with another load`.
    pub starts: &'static str,
    /// What the protocols do.
    pub isolated: &'static str,
    pub sequence: &'static str,
    /// How reliable a single pass is, and what one test leaves to the next; may be empty.
    pub single_pass: &'static str,
    pub inherited: &'static str,
    /// Events whose latencies are measured.
    pub events: &'static str,
    /// What a page has of each test, as a list; the headings of costs and of what precedes a test.
    pub of_tests: &'static str,
    pub costs: &'static str,
    pub before_tests: &'static str,
    /// Entries of a glossary that have no sense here, and those that say something else.
    pub unused: &'static [&'static str],
    pub glossary: &'static [(&'static str, &'static str)],
}

/// Servers that speak SQL.
const SERVERS: Terms = Terms {
    program: "server",
    has_program: true,
    has_independent_tests: true,
    client_works: true,
    block: "a restart of every server from the same data",
    pass: "a pass over all tests on freshly loaded data",
    anew: "after a restart",
    starts: "server starts, each with another load",
    isolated: "in every block all servers restart from the same data, and so does every test that writes",
    sequence: "the tests run in a fixed order, each on the state that earlier tests left",
    single_pass: "Every figure is from a single pass: one server start and one window per test. There are no error \
                  bars. Without repetition, a difference of a few percent cannot be distinguished from noise: \
                  published repetitions of the sysbench microbenchmarks differ by 1 to 2 % in the median, by 2 to 10 \
                  % for one test in twenty, and by up to 18 % for scan.",
    inherited: "The tests share state: if one test leaves a variant with more dead rows or dirty pages, the next test \
                starts at a disadvantage.",
    events: "events, from sending to the complete response,",
    of_tests: "cost per operation, counters, query plans",
    costs: "Cost per operation",
    before_tests: "Statements, CPU per connection, state before the test",
    unused: &[],
    glossary: &[],
};

/// Engines that a process of rqps loads as a library.
const ENGINES: Terms = Terms {
    program: "engine process",
    has_independent_tests: false,
    client_works: false,
    block: "a restart of every engine process from the same data",
    starts: "starts of engine processes, each with another load",
    single_pass: "Every figure is from a single pass: one start of an engine process and one window per test. There \
                  are no error bars, and when flushes and compactions run differs from pass to pass.",
    inherited: "The tests share state: compactions that one test leaves to be done slow down the next.",
    events: "operations",
    of_tests: "cost per operation, the LSM tree, counters",
    before_tests: "Operations, state before the test",
    glossary: &[
        ("operation", "what a test's rate counts: a put, a read, or a seek with its next entries"),
        ("cost", "what one operation takes of the engine process: CPU time of all its threads"),
        ("block", "one replicate: a pass over all tests on a new database"),
    ],
    ..SERVERS
};

/// Directories that are measured themselves.
const DIRECTORIES: Terms = Terms {
    program: "fio",
    has_program: false,
    block: "a new file in every directory",
    pass: "a pass over all tests with new files",
    anew: "with a new file",
    starts: "blocks, each with new files",
    isolated: "in every block each arm fills a file of its own",
    sequence: "the tests run in a fixed order",
    single_pass: "Every figure is from one window per test, and what others do on a disk changes its latency from one \
                  minute to the next.",
    inherited: "",
    events: "syncs, or of writes where none follows,",
    of_tests: "the host's counters for each write",
    costs: "The host's counters for each write",
    before_tests: "Writes, directories before the test",
    unused: &["operation", "cost", "slower, costs more"],
    glossary: &[
        ("rate, rQPS", "writes per second; rQPS is the rate divided by base's in the same test"),
        (
            "slower",
            "worse than base; the test keeps its error rate although results are checked several times",
        ),
        ("block", "one replicate: every arm fills a file anew, or one pass of a sequence"),
    ],
    ..SERVERS
};

impl Dbms {
    /// Its words.
    pub fn terms(self) -> &'static Terms {
        match self {
            Dbms::Postgres | Dbms::Mysql | Dbms::Mariadb => &SERVERS,
            Dbms::Rocksdb => &ENGINES,
            Dbms::Directory => &DIRECTORIES,
        }
    }
}
