//! The sections of a report; the names are command-line values.

use crate::comparison::{Comparison, Layout, StepKind};
use crate::document::Block;
use crate::error::Result;
use crate::tables;

rqps_model::words! {
    /// A section: one kind of table, in the order of a full report.
    Section {
        Verdicts = "verdicts",
        Costs = "costs",
        Arrivals = "arrivals",
        Evidence = "evidence",
        Blocks = "blocks",
        Arms = "arms",
        Host = "host",
        Certificate = "certificate",
        Headline = "headline",
        Relative = "relative",
        Absolute = "absolute",
        Syncs = "syncs",
        Chain = "chain",
        Transactions = "transactions",
        Background = "background",
        Cpu = "cpu",
        State = "state",
        Ends = "ends",
        Responses = "responses",
        Lsm = "lsm",
        PerOp = "per-op",
        Rates = "rates",
        Variance = "variance",
        Latency = "latency",
        Counters = "counters",
        Connections = "connections",
        Loads = "loads",
        Settles = "settles",
        LeftOut = "left-out",
        Fingerprints = "fingerprints",
        Plans = "plans",
        Published = "published",
        Remarks = "remarks",
    }
}

/// Below tables of rates that someone asked for although nobody judges them.
const NOT_JUDGED: &str = "rates are not judged in this run (`rates = false` in its plan): its windows are too short, and differences are noise";

impl Section {
    /// What it shows, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Section::Verdicts => "Which differences are real, test by test (blocks)",
            Section::Costs => "Costs and rates, with intervals also of too few blocks for verdicts",
            Section::Arrivals => "Which version brought a change (three versions or more)",
            Section::Evidence => "Every figure behind the verdicts",
            Section::Blocks => "Blocks, with the canaries around them",
            Section::Arms => "What was compared",
            Section::Host => "Facts of the machine",
            Section::Certificate => "What the host could do before and after the run",
            Section::Headline => "Medians per group, and tests at 0.95 or below, or 1.05 or above",
            Section::Relative => "Rates relative to the base",
            Section::Absolute => "Rates",
            Section::Syncs => "Writes and syncs per second and their latency (benchmark sync-latency)",
            Section::Chain => "Each arm relative to the arm before it",
            Section::Transactions => "New orders per minute, transactions by kind (tests that place orders)",
            Section::Background => "Background writes: target and achieved rate (Insert Benchmark)",
            Section::Cpu => "CPU of server and client (Insert Benchmark)",
            Section::State => "Sizes, dead rows, planning of the DELETE (Insert Benchmark)",
            Section::Ends => "What ended each step, and how its writes were paced (Insert Benchmark)",
            Section::Responses => "Response times by size (Insert Benchmark)",
            Section::Lsm => "The LSM tree before and after each test, flushes, compactions, stalls (RocksDB)",
            Section::PerOp => "Cost per operation, test by test",
            Section::Rates => "Events, working statements, no-ops, retries",
            Section::Variance => "Rate per second, stalls and latencies of events",
            Section::Latency => "Latency by kind of statement",
            Section::Counters => "Server counters per operation",
            Section::Connections => "CPU seconds per connection",
            Section::Loads => "Loads of each arm",
            Section::Settles => "How debt was paid down between tests",
            Section::LeftOut => "Options that a build does not support, and those that rqps sets",
            Section::Fingerprints => "State of the servers before each test",
            Section::Plans => "Query plans that differ from the base's",
            Section::Published => "Figures of imported files, as published and as measured",
            Section::Remarks => "Invalid and repeated steps, notes",
        }
    }

    /// The sections that `show` and `compare` print by default.
    pub(crate) fn default_for(layout: Layout, has_blocks: bool) -> Vec<Section> {
        let first = match (has_blocks, layout) {
            (true, Layout::Independent) => &[Section::Verdicts, Section::Arrivals][..],
            (true, Layout::Consecutive) => &[Section::Verdicts],
            (false, _) => &[Section::Headline],
        };
        let rates = match (layout, has_blocks) {
            (Layout::Consecutive, _) => Section::RATES_OF_CONSECUTIVE.as_slice(),
            (Layout::Independent, true) => &[Section::Syncs, Section::Absolute, Section::Transactions],
            (Layout::Independent, false) => {
                use Section::{Absolute, Chain, Lsm, Relative, Syncs, Transactions};
                &[Syncs, Relative, Absolute, Chain, Transactions, Lsm]
            }
        };
        [first, rates, &[Section::Remarks]].concat()
    }

    const RATES_OF_CONSECUTIVE: [Section; 7] = [
        Section::Absolute,
        Section::Relative,
        Section::Background,
        Section::Connections,
        Section::Cpu,
        Section::State,
        Section::Ends,
    ];

    /// The blocks of several sections, without tests that ran before any write.
    pub(crate) fn all_blocks(sections: &[Self], comparison: &Comparison<'_>) -> Result<Vec<Block>> {
        let sections = Self::judged(sections, comparison)?.into_iter();
        let blocks = sections.map(|section| section.blocks(comparison, false));
        Ok(blocks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Without those of rates, where nobody judges rates: with windows too short for that they are noise.
    pub(crate) fn judged(sections: &[Self], comparison: &Comparison<'_>) -> Result<Vec<Self>> {
        let leaves_out = comparison.leaves_out_rates()?;
        Ok(sections.iter().copied().filter(|section| !(leaves_out && section.is_of_rates())).collect())
    }

    /// Whether it shows how fast an arm was, or how evenly.
    pub(crate) fn is_of_rates(self) -> bool {
        use Section::{Absolute, Chain, Latency, Relative, Syncs, Transactions, Variance};
        matches!(self, Relative | Absolute | Chain | Syncs | Transactions | Variance | Latency)
    }

    /// The section's blocks; with `include_pre`, also for tests that ran before any write.
    pub(crate) fn blocks(self, comparison: &Comparison<'_>, include_pre: bool) -> Result<Vec<Block>> {
        let mut blocks = self.tables(comparison, StepKind::Tests)?;
        if matches!(self, Section::Headline | Section::Verdicts) {
            blocks.splice(0..0, comparison.without_results().map(Block::Text));
        }
        let has_pre = !comparison.steps(StepKind::Pre).is_empty();
        if include_pre && has_pre && self.has_tests() {
            blocks.extend(self.tables(comparison, StepKind::Pre)?);
        }
        if comparison.runs().iter().all(|run| run.meta.is_imported()) {
            if self.needs_servers() {
                return Ok(Vec::new());
            }
            blocks.retain(|block| !block.is_unknown());
            blocks.iter_mut().for_each(Block::hide_unknown);
        }
        if self.is_of_rates() && comparison.leaves_out_rates()? {
            let tables = blocks.iter_mut();
            let tables =
                tables.filter_map(|one| if let Block::Table(table) = one { Some(table) } else { None });
            tables.for_each(|table| table.footnotes.insert(0, NOT_JUDGED.to_owned()));
        }
        let warnings = comparison.warnings();
        blocks.iter_mut().for_each(|block| block.warn(&warnings));
        Ok(blocks)
    }

    /// Whether it is about what only those know who ran the servers.
    fn needs_servers(self) -> bool {
        matches!(self, Section::LeftOut | Section::Blocks | Section::Settles | Section::Loads)
    }

    fn has_tests(self) -> bool {
        use Section::{
            Absolute, Connections, Counters, Fingerprints, Latency, Lsm, PerOp, Plans, Published, Rates,
            Relative, Transactions, Variance,
        };
        matches!(
            self,
            Relative
                | Absolute
                | Lsm
                | PerOp
                | Rates
                | Transactions
                | Variance
                | Latency
                | Counters
                | Connections
                | Fingerprints
                | Plans
                | Published
        )
    }

    fn tables(self, comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
        let one = |table| Ok(vec![Block::Table(table)]);
        if comparison.layout() == Layout::Consecutive
            && let Some(blocks) = self.consecutive_tables(comparison, which)
        {
            return blocks;
        }
        match self {
            Section::Verdicts => tables::verdicts::blocks(comparison),
            Section::Costs => tables::costs::blocks(comparison),
            Section::Arrivals => tables::arrivals::blocks(comparison),
            Section::Evidence => tables::evidence::blocks(comparison),
            Section::Blocks => Ok(tables::blocks::blocks(comparison)),
            Section::Arms => one(tables::arms::table(comparison)),
            Section::Host => {
                Ok(comparison.runs().into_iter().map(|run| Block::Table(tables::host::table(run))).collect())
            }
            Section::Certificate => tables::certificate::blocks(comparison),
            Section::Headline => Ok(tables::headline::blocks(comparison)),
            Section::Relative if comparison.others().next().is_none() => Ok(Vec::new()),
            Section::Relative => one(tables::relative::table(comparison, which)),
            Section::Absolute => one(tables::absolute::table(comparison, which)),
            Section::Syncs => tables::syncs::blocks(comparison, which),
            Section::Chain => Ok(tables::chain::table(comparison).map(Block::Table).into_iter().collect()),
            Section::Transactions => Ok(tables::transactions::blocks(comparison, which)),
            // These need connections with several roles.
            Section::Background | Section::Cpu | Section::State | Section::Ends | Section::Responses => {
                Ok(Vec::new())
            }
            Section::Lsm => tables::lsm::blocks(comparison, which),
            Section::PerOp => tables::metrics::blocks(comparison, which),
            Section::Rates => one(tables::rates::table(comparison, which)),
            Section::Variance => tables::variance::blocks(comparison, which),
            Section::Latency => tables::latency::blocks(comparison, which),
            Section::Counters => tables::counters::blocks(comparison, which),
            Section::Connections => one(tables::connections::table(comparison, which)),
            Section::Loads => Ok(tables::loads::table(comparison).map(Block::Table).into_iter().collect()),
            Section::Settles => Ok(tables::settles::blocks(comparison)),
            Section::LeftOut => Ok(tables::left_out::blocks(comparison)),
            Section::Fingerprints => tables::fingerprints::blocks(comparison, which),
            Section::Plans => tables::plans::blocks(comparison, which),
            Section::Published => tables::published::blocks(comparison, which),
            Section::Remarks => Ok(tables::remarks::blocks(comparison)),
        }
    }

    /// The section's version for consecutive steps; None if it has no separate one.
    fn consecutive_tables(self, comparison: &Comparison<'_>, which: StepKind) -> Option<Result<Vec<Block>>> {
        let one = |table| Ok(vec![Block::Table(table)]);
        Some(match self {
            Section::Headline => Ok(tables::consecutive::headline::blocks(comparison)),
            Section::Relative if comparison.others().next().is_none() => Ok(Vec::new()),
            Section::Relative => one(tables::consecutive::rates::relative(comparison)),
            Section::Absolute => one(tables::consecutive::rates::absolute(comparison)),
            Section::Background => Ok(tables::consecutive::background::blocks(comparison)),
            Section::Connections => Ok(tables::consecutive::sessions::blocks(comparison, which)),
            Section::Cpu => one(tables::consecutive::cpu::table(comparison, which)),
            Section::State => Ok(tables::consecutive::state::blocks(comparison, which)),
            Section::Ends => one(tables::consecutive::ends::table(comparison, which)),
            Section::Responses => tables::consecutive::responses::blocks(comparison, which),
            _ => return None,
        })
    }
}
