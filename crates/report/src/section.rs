//! The sections of a report, by the names that a command line takes.

use crate::document::Block;
use crate::error::Result;
use crate::sides::{Layout, Sides, StepKind};
use crate::tables;

rqps_model::words! {
    /// A section: one kind of table. In the order of a full report.
    Section {
        /// Which differences are real, test by test (runs with blocks).
        Verdicts = "verdicts",
        /// Cost per operation and rate, with intervals from few replicates (runs with blocks or passes).
        Costs = "costs",
        /// Which version brought a change (runs with three or more versions).
        Arrivals = "arrivals",
        /// Every figure behind the verdicts.
        Evidence = "evidence",
        /// Blocks, with the canaries around them.
        Blocks = "blocks",
        Arms = "arms",
        Host = "host",
        /// Medians per group, and tests at 0.95 or below, or 1.05 or above.
        Headline = "headline",
        /// Rates relative to the base.
        Relative = "relative",
        Absolute = "absolute",
        /// Each arm relative to the arm before it.
        Chain = "chain",
        /// Background writes: target and achieved rate (consecutive steps).
        Background = "background",
        /// CPU of server and client (consecutive steps).
        Cpu = "cpu",
        /// Sizes, dead rows, planning of the DELETE (consecutive steps).
        State = "state",
        /// What ended each step, and how its writes were paced (consecutive steps).
        Ends = "ends",
        /// Response times by size (consecutive steps).
        Responses = "responses",
        /// Cost per operation, test by test.
        PerOp = "per-op",
        /// Events, working statements, no-ops, retries.
        Rates = "rates",
        /// Rate per second, stalls and latencies of events.
        Variance = "variance",
        /// Latency by kind of statement.
        Latency = "latency",
        /// Server counters per operation.
        Counters = "counters",
        /// CPU seconds per connection.
        Connections = "connections",
        Loads = "loads",
        Settles = "settles",
        /// Options that a build does not support.
        LeftOut = "left-out",
        /// State of the servers before each test.
        Fingerprints = "fingerprints",
        /// Query plans that differ from the base's.
        Plans = "plans",
        /// Invalid and repeated steps, notes.
        Remarks = "remarks",
    }
}

impl Section {
    /// What `show` and `compare` print by default.
    pub(crate) fn suitable(layout: Layout, has_blocks: bool) -> Vec<Section> {
        let first = match (has_blocks, layout) {
            (true, Layout::Independent) => &[Section::Verdicts, Section::Arrivals][..],
            (true, Layout::Consecutive) => &[Section::Verdicts],
            (false, _) => &[Section::Headline],
        };
        let rates = match (layout, has_blocks) {
            (Layout::Consecutive, _) => Section::RATES_OF_CONSECUTIVE.as_slice(),
            (Layout::Independent, true) => &[Section::Absolute],
            (Layout::Independent, false) => &[Section::Relative, Section::Absolute, Section::Chain],
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

    /// The section's blocks. Tests that ran before any write are added where they were asked for.
    pub(crate) fn blocks(self, sides: &Sides<'_>, include_pre: bool) -> Result<Vec<Block>> {
        let mut blocks = self.tables(sides, StepKind::Tests)?;
        let has_pre = !sides.steps(StepKind::Pre).is_empty();
        if include_pre && has_pre && self.has_tests() {
            blocks.extend(self.tables(sides, StepKind::Pre)?);
        }
        let warnings = sides.warnings();
        blocks.iter_mut().for_each(|block| block.warn(&warnings));
        Ok(blocks)
    }

    fn has_tests(self) -> bool {
        use Section::{
            Absolute, Connections, Counters, Fingerprints, Latency, PerOp, Plans, Rates, Relative, Variance,
        };
        matches!(
            self,
            Relative
                | Absolute
                | PerOp
                | Rates
                | Variance
                | Latency
                | Counters
                | Connections
                | Fingerprints
                | Plans
        )
    }

    fn tables(self, sides: &Sides<'_>, which: StepKind) -> Result<Vec<Block>> {
        let one = |table| Ok(vec![Block::Table(table)]);
        if sides.layout() == Layout::Consecutive
            && let Some(blocks) = self.consecutive_tables(sides, which)
        {
            return blocks;
        }
        match self {
            Section::Verdicts => tables::verdicts::blocks(sides),
            Section::Costs => tables::costs::blocks(sides),
            Section::Arrivals => tables::arrivals::blocks(sides),
            Section::Evidence => tables::evidence::blocks(sides),
            Section::Blocks => Ok(tables::blocks::blocks(sides)),
            Section::Arms => one(tables::arms::table(sides)),
            Section::Host => {
                Ok(sides.runs().into_iter().map(|run| Block::Table(tables::host::table(run))).collect())
            }
            Section::Headline => Ok(tables::headline::blocks(sides)),
            Section::Relative if sides.others().next().is_none() => Ok(Vec::new()),
            Section::Relative => one(tables::relative::table(sides, which)),
            Section::Absolute => one(tables::absolute::table(sides, which)),
            Section::Chain => Ok(tables::chain::table(sides).map(Block::Table).into_iter().collect()),
            // What connections of several roles leave behind.
            Section::Background | Section::Cpu | Section::State | Section::Ends | Section::Responses => {
                Ok(Vec::new())
            }
            Section::PerOp => Ok(tables::metrics::blocks(sides, which)),
            Section::Rates => one(tables::rates::table(sides, which)),
            Section::Variance => tables::variance::blocks(sides, which),
            Section::Latency => tables::latency::blocks(sides, which),
            Section::Counters => tables::counters::blocks(sides, which),
            Section::Connections => one(tables::connections::table(sides, which)),
            Section::Loads => Ok(tables::loads::table(sides).map(Block::Table).into_iter().collect()),
            Section::Settles => one(tables::settles::table(sides)),
            Section::LeftOut => Ok(tables::left_out::blocks(sides)),
            Section::Fingerprints => tables::fingerprints::blocks(sides, which),
            Section::Plans => tables::plans::blocks(sides, which),
            Section::Remarks => Ok(tables::remarks::blocks(sides)),
        }
    }
}

impl Section {
    /// The section for consecutive steps; none if it is the same as for other runs.
    fn consecutive_tables(self, sides: &Sides<'_>, which: StepKind) -> Option<Result<Vec<Block>>> {
        let one = |table| Ok(vec![Block::Table(table)]);
        Some(match self {
            Section::Headline => Ok(tables::consecutive::headline::blocks(sides)),
            Section::Relative if sides.others().next().is_none() => Ok(Vec::new()),
            Section::Relative => one(tables::consecutive::rates::relative(sides)),
            Section::Absolute => one(tables::consecutive::rates::absolute(sides)),
            Section::Background => Ok(tables::consecutive::background::blocks(sides)),
            Section::Connections => Ok(tables::consecutive::sessions::blocks(sides, which)),
            Section::Cpu => one(tables::consecutive::cpu::table(sides, which)),
            Section::State => Ok(tables::consecutive::state::blocks(sides, which)),
            Section::Ends => one(tables::consecutive::ends::table(sides, which)),
            Section::Responses => tables::consecutive::responses::blocks(sides, which),
            _ => return None,
        })
    }
}
