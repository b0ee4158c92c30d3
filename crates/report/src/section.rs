//! The sections of a report, by the names that a command line takes.

use std::fmt;
use std::str::FromStr;

use crate::document::Block;
use crate::error::Result;
use crate::sides::{Sides, Which};
use crate::tables;

/// A section: one kind of table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Which differences are real, test by test: runs with blocks.
    Verdicts,
    /// What an operation costs, then the rate, with intervals from few replicates: runs with blocks or passes.
    Costs,
    /// In which version a change arrived: runs with three versions or more.
    Arrivals,
    /// Every figure behind the verdicts.
    Evidence,
    /// Blocks, with the host around them.
    Blocks,
    Arms,
    Host,
    /// Medians per group, and tests at or beyond 0.95 or 1.05.
    Headline,
    /// Rates relative to the base.
    Relative,
    Absolute,
    /// Each arm relative to the arm before it.
    Chain,
    /// Background writes: the rate asked for, the rate that came (runs of a queue).
    Background,
    /// CPU of server and client apart (runs of a queue).
    Cpu,
    /// Sizes, deleted rows that are still there, planning of the DELETE (runs of a queue).
    State,
    /// What ended each step, and how its writes were paced (runs of a queue).
    Ends,
    /// Response times by size (runs of a queue).
    Responses,
    /// Cost of an operation, test by test.
    PerOp,
    /// Events, working statements, no-ops, retries.
    Rates,
    /// Seconds, stalls and latencies of events.
    Variance,
    /// Latency by kind of statement.
    Latency,
    /// Server counters per operation.
    Counters,
    /// CPU seconds per connection.
    Connections,
    Loads,
    Settles,
    /// Options that a build does not know.
    LeftOut,
    /// State of the servers before each test.
    Fingerprints,
    /// Query plans that differ from the base's.
    Plans,
    /// Invalid and repeated steps, notes.
    Remarks,
}

impl Section {
    /// All sections with their names, in the order of a full report.
    pub const ALL: [(Section, &'static str); 28] = [
        (Section::Verdicts, "verdicts"),
        (Section::Costs, "costs"),
        (Section::Arrivals, "arrivals"),
        (Section::Evidence, "evidence"),
        (Section::Blocks, "blocks"),
        (Section::Arms, "arms"),
        (Section::Host, "host"),
        (Section::Headline, "headline"),
        (Section::Relative, "relative"),
        (Section::Absolute, "absolute"),
        (Section::Chain, "chain"),
        (Section::Background, "background"),
        (Section::Cpu, "cpu"),
        (Section::State, "state"),
        (Section::Ends, "ends"),
        (Section::Responses, "responses"),
        (Section::PerOp, "per-op"),
        (Section::Rates, "rates"),
        (Section::Variance, "variance"),
        (Section::Latency, "latency"),
        (Section::Counters, "counters"),
        (Section::Connections, "connections"),
        (Section::Loads, "loads"),
        (Section::Settles, "settles"),
        (Section::LeftOut, "left-out"),
        (Section::Fingerprints, "fingerprints"),
        (Section::Plans, "plans"),
        (Section::Remarks, "remarks"),
    ];

    /// What `show` and `compare` print unless told otherwise, of runs without blocks.
    pub const DEFAULT: [Section; 5] =
        [Section::Headline, Section::Relative, Section::Absolute, Section::Chain, Section::Remarks];

    /// The same of runs with blocks.
    pub const DEFAULT_WITH_BLOCKS: [Section; 4] =
        [Section::Verdicts, Section::Arrivals, Section::Absolute, Section::Remarks];

    /// What is shown at the end of a run that is too short for verdicts.
    pub const OF_A_LOOK: [Section; 3] = [Section::Costs, Section::Absolute, Section::Remarks];

    /// The same of runs whose steps share a table that is a queue.
    pub const DEFAULT_OF_QUEUE: [Section; 9] = [
        Section::Headline,
        Section::Absolute,
        Section::Relative,
        Section::Background,
        Section::Connections,
        Section::Cpu,
        Section::State,
        Section::Ends,
        Section::Remarks,
    ];

    /// The same of such runs with blocks, which have verdicts.
    pub const DEFAULT_OF_QUEUE_WITH_BLOCKS: [Section; 9] = [
        Section::Verdicts,
        Section::Absolute,
        Section::Relative,
        Section::Background,
        Section::Connections,
        Section::Cpu,
        Section::State,
        Section::Ends,
        Section::Remarks,
    ];

    pub fn name(self) -> &'static str {
        Section::ALL.iter().find(|(section, _)| *section == self).map_or("", |(_, name)| name)
    }

    /// The section's blocks. Tests that ran before any write are added where they were asked for.
    pub(crate) fn blocks(self, sides: &Sides<'_>, include_pre: bool) -> Result<Vec<Block>> {
        let mut blocks = self.of(sides, Which::Tests)?;
        let has_pre = !sides.steps(Which::Pre).is_empty();
        if include_pre && has_pre && self.has_tests() {
            blocks.extend(self.of(sides, Which::Pre)?);
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

    fn of(self, sides: &Sides<'_>, which: Which) -> Result<Vec<Block>> {
        let one = |table| Ok(vec![Block::Table(table)]);
        if sides.is_queue()
            && let Some(blocks) = self.of_queue(sides, which)
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
            Section::Background | Section::Cpu | Section::State | Section::Ends | Section::Responses => {
                Ok(Vec::new())
            }
            Section::PerOp => Ok(tables::metrics::blocks(sides, which)),
            Section::Rates => one(tables::rates::table(sides, which)),
            Section::Variance => tables::variance::blocks(sides, which),
            Section::Latency => tables::latency::blocks(sides, which),
            Section::Counters => tables::counters::blocks(sides, which),
            Section::Connections => one(tables::connections::table(sides, which)),
            Section::Loads => one(tables::loads::table(sides)),
            Section::Settles => one(tables::settles::table(sides)),
            Section::LeftOut => Ok(tables::left_out::blocks(sides)),
            Section::Fingerprints => tables::fingerprints::blocks(sides, which),
            Section::Plans => tables::plans::blocks(sides, which),
            Section::Remarks => Ok(tables::remarks::blocks(sides)),
        }
    }
}

impl Section {
    /// What the section has of steps that share a table that is a queue; none where it is like that of any run.
    fn of_queue(self, sides: &Sides<'_>, which: Which) -> Option<Result<Vec<Block>>> {
        let one = |table| Ok(vec![Block::Table(table)]);
        Some(match self {
            Section::Headline => Ok(tables::insert::headline::blocks(sides)),
            Section::Relative if sides.others().next().is_none() => Ok(Vec::new()),
            Section::Relative => one(tables::insert::rates::relative(sides)),
            Section::Absolute => one(tables::insert::rates::absolute(sides)),
            Section::Background => Ok(tables::insert::background::blocks(sides)),
            Section::Connections => Ok(tables::insert::sessions::blocks(sides, which)),
            Section::Cpu => one(tables::insert::cpu::table(sides, which)),
            Section::State => Ok(tables::insert::state::blocks(sides, which)),
            Section::Ends => one(tables::insert::ends::table(sides, which)),
            Section::Responses => tables::insert::responses::blocks(sides, which),
            // The tables begin empty: the first step fills them.
            Section::Loads => Ok(Vec::new()),
            _ => return None,
        })
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Section {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Section::ALL.iter().find(|(_, name)| *name == text).map(|(section, _)| *section).ok_or_else(|| {
            let names: Vec<&str> = Section::ALL.iter().map(|(_, name)| *name).collect();
            format!("unknown section {text:?}; there are: {}", names.join(", "))
        })
    }
}
