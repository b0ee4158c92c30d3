//! The report of a campaign in Markdown: results, frequencies and their uncertainty.

use crate::DETECTORS;
use crate::analysis::{Analysis, AtLook, Input};
use crate::confusion::{Range, Row};
use crate::frozen::Call;
use crate::goals::Goal;
use crate::share::Share;
use crate::truth::Size;
use rqps_stats::{Detector, Rules};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Facts about the run that a report is about.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub run: String,
    pub program_version: String,
    pub build: String,
    pub rows: u64,
    /// How instructions were counted, as a phrase.
    pub instructions: String,
    /// Mean length of a block, seconds.
    pub block_s: f64,
    pub blocks_done: usize,
    /// Number of void blocks.
    pub blocks_void: usize,
    /// SHA-256 of the doses.
    pub seal: String,
    /// SHA-256 of the verdicts.
    pub frozen: String,
    pub host: Vec<(String, String)>,
    /// The command line that repeats the campaign.
    pub command: String,
}

pub fn report(input: &Input<'_>, analysis: &Analysis, about: &About) -> String {
    let sections = [
        head(input, analysis, about),
        goals(input, analysis),
        blind(analysis),
        false_changes(input, analysis),
        found(analysis),
        columns(analysis),
        noise(analysis),
        sizes(input, analysis),
        host(about),
    ];
    let texts: Vec<String> = sections.iter().map(|text| text.trim_end().to_owned()).collect();
    format!("{}\n", texts.join("\n\n"))
}

fn head(input: &Input<'_>, analysis: &Analysis, about: &About) -> String {
    let verdicts = input.frozen.verdicts.len();
    let all_s = about.block_s * about.blocks_done as f64;
    format!(
        "# Calibration: how often verdicts are wrong on this machine\n\n\
         Made by rqps {version} with\n\n```\n{command}\n```\n\n\
         from run `{run}`. {build}, {rows} rows, {tests} tests, {arms} arms of the \
         same build, {nulls} of them without a dose, in {done} blocks ({void} more were void) of {block_s:.0} s: \
         {per_verdict:.1} s for each of {verdicts} verdicts. Instructions are {instructions}.\n\n\
         An arm with a dose does extra work for each message that it receives (`crates/dose`): dependent \
         multiplications, or a sleep, a record in its write-ahead log, and a flush of the log. All \
         arms, base included, load the same library. Doses were drawn at random and sealed before the run \
         (SHA-256 `{seal}`, in every arm's environment), verdicts were written down (SHA-256 `{frozen}`, in the \
         run's notes) before the seal was opened. The cost of one multiplication was measured in a separate run, `{ladder}`.",
        version = about.program_version,
        command = about.command,
        run = about.run,
        build = about.build,
        rows = about.rows,
        tests = input.experiment.tests.len(),
        arms = input.arms.len(),
        nulls = analysis.nulls,
        done = about.blocks_done,
        void = about.blocks_void,
        block_s = about.block_s,
        per_verdict = all_s / verdicts.max(1) as f64,
        instructions = about.instructions,
        seal = about.seal,
        frozen = about.frozen,
        ladder = input.truth.run,
    )
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        "0 %".to_owned()
    } else if percent.abs() < 0.1 {
        format!("{percent:.3} %")
    } else if percent.abs() < 10.0 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.0} %")
    }
}

fn hits(share: &Share) -> String {
    format!("{} of {}", share.hits, share.tries)
}

fn interval(share: &Share) -> String {
    format!("{} to {}", percent(share.low), percent(share.high))
}

/// A table in Markdown; columns of numbers are right-aligned.
fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|", heads.join(" | "));
    for at in 0..heads.len() {
        let is_number = |row: &Vec<String>| {
            row.get(at).is_none_or(|cell| cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit()))
        };
        text.push_str(if at > 0 && rows.iter().all(is_number) { " ---: |" } else { " --- |" });
    }
    text.push('\n');
    for row in rows {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

fn goals(input: &Input<'_>, analysis: &Analysis) -> String {
    let row = |goal: &Goal| {
        let aim = if goal.at_least { "at least" } else { "at most" };
        let mut row = vec![goal.what.clone(), format!("{aim} {}", percent(goal.aim))];
        let share = goal.share.as_ref();
        row.push(share.map(|share| percent(share.share())).unwrap_or_default());
        row.push(share.map(hits).unwrap_or_default());
        row.push(share.map(interval).unwrap_or_default());
        row.push(goal.status());
        row
    };
    let rows: Vec<Vec<String>> = analysis.goals.iter().map(row).collect();
    let last_blocks = analysis.looks.last().map_or(0, |look| look.blocks);
    format!(
        "## In short\n\n{}\nAfter {last_blocks} blocks unless said otherwise, over all tests, from the re-paired \
         verdicts below. {}",
        table(&["", "goal", "share", "verdicts", "95 % interval", ""], &rows),
        rules(input.rules)
    )
}

fn rules(rules: &Rules) -> String {
    let looks: Vec<String> = rules.looks.iter().map(|look| look.blocks.to_string()).collect();
    let mei: Vec<String> =
        rules.mei.iter().map(|(metric, mei)| format!("{metric} {}", percent(*mei))).collect();
    format!(
        "Rules: an error rate of {} per detector over all looks (at {} blocks), a false discovery rate of {}; smallest \
         changes of interest: {}.",
        percent(rules.alpha),
        looks.join(", "),
        percent(rules.q),
        mei.join(", ")
    )
}

fn verdict_cells(range: Range, row: &Row) -> Vec<String> {
    let counts = Call::ALL.map(|call| row.count(call).to_string());
    [range.label()].into_iter().chain(counts).chain([row.all().to_string()]).collect()
}

const VERDICT_HEADS: [&str; 6] = ["true size", "regression", "improvement", "same", "inconclusive", "all"];

fn blind(analysis: &Analysis) -> String {
    let mut text = "## Blind verdicts\n\nEvery verdict of the run, as it was written down before the doses \
                    were known. `same` is right where the true size is below the smallest change of interest; \
                    `inconclusive` is never wrong."
        .to_owned();
    for detector in DETECTORS {
        let of_detector = analysis.blind.iter().filter(|((other, _), _)| *other == detector);
        let rows: Vec<Vec<String>> =
            of_detector.map(|((_, range), row)| verdict_cells(*range, row)).collect();
        let _written =
            write!(text, "\n\nBy {}:\n\n{}", detector.key(), table(&VERDICT_HEADS, &rows).trim_end());
    }
    text
}

fn false_changes(input: &Input<'_>, analysis: &Analysis) -> String {
    let mut rows = Vec::new();
    for (at, look) in analysis.looks.iter().enumerate() {
        let is_last = at + 1 == analysis.looks.len();
        for ((detector, group), share) in
            look.false_changes.iter().filter(|((_, group), _)| is_last || group.is_none())
        {
            let significant = look.false_significant.get(detector).filter(|_| group.is_none());
            let by = look.false_by.iter().filter(|((other, _), _)| other == detector && group.is_none());
            let by: Vec<String> = by.map(|((_, metric), count)| format!("{metric} {count}")).collect();
            let bootstrap = share
                .bootstrap
                .filter(|_| share.hits > 0)
                .map(|(low, high)| format!("{} to {}", percent(low), percent(high)));
            rows.push(vec![
                detector.key().to_owned(),
                group.clone().unwrap_or_else(|| "all".to_owned()),
                look.blocks.to_string(),
                hits(share),
                percent(share.share()),
                by.join(", "),
                significant.map_or_else(String::new, |significant| significant.hits.to_string()),
                bootstrap.unwrap_or_default(),
                share.independent.to_string(),
                interval(share),
            ]);
        }
    }
    rows.sort_by(|a, b| (&a[0], &a[1]).cmp(&(&b[0], &b[1])));
    let heads = [
        "detector",
        "tests",
        "blocks",
        "false changes",
        "share",
        "called by",
        "significant",
        "95 % interval (block bootstrap)",
        "independent",
        "95 % interval (Clopper-Pearson)",
    ];
    format!(
        "## False alarms\n\n{draws} draws from {blocks} blocks. In each, two of the {nulls} arms without a dose become \
        base and control, the blocks are put in random order, and at each look all arms are judged as in a run whose \
        plan ends there. These verdicts share blocks. The first interval resamples whole blocks (omitted where the \
        draws have most blocks in common, or where nothing was found); the second is Clopper-Pearson for as many \
        verdicts as can be independent: disjoint sets of blocks, times pairs of test and arm.\n\n{table}",
        draws = input.draws,
        blocks = analysis.blocks,
        nulls = analysis.nulls,
        table = table(&heads, &rows)
    )
}

fn found(analysis: &Analysis) -> String {
    let keys: BTreeSet<(Detector, Range)> =
        analysis.looks.iter().flat_map(|look| look.verdicts.keys().copied()).collect();
    let mut text = "## Detection\n\nThe same draws, by true size: how often a regression was called at each look, \
                    with the Clopper-Pearson interval for as many verdicts as can be independent, and the verdicts \
                    at the last look."
        .to_owned();
    for detector in DETECTORS {
        let mut heads = vec!["true size".to_owned()];
        heads.extend(analysis.looks.iter().map(|look| format!("{} blocks", look.blocks)));
        heads.extend(Call::ALL.map(|call| call.key().to_owned()));
        let mut rows = Vec::new();
        for (_, range) in keys.iter().filter(|(other, _)| *other == detector) {
            let at = |look: &AtLook| match look.found.get(&(detector, *range)) {
                Some(share) => format!("{} ({})", percent(share.share()), interval(share)),
                None => String::new(),
            };
            let row = analysis.looks.last().and_then(|look| look.verdicts.get(&(detector, *range)));
            let counts = Call::ALL.map(|call| row.map_or(0, |row| row.count(call)).to_string());
            rows.push(
                [range.label()].into_iter().chain(analysis.looks.iter().map(at)).chain(counts).collect(),
            );
        }
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let _written = write!(text, "\n\nBy {}:\n\n{}", detector.key(), table(&heads, &rows).trim_end());
    }
    text
}

fn columns(analysis: &Analysis) -> String {
    if analysis.columns.is_empty() {
        return String::new();
    }
    let list = |tests: &[String]| if tests.is_empty() { "none".to_owned() } else { tests.join(", ") };
    let rows: Vec<Vec<String>> = analysis
        .columns
        .iter()
        .map(|column| vec![column.metric.clone(), list(&column.called), list(&column.missed)])
        .collect();
    format!(
        "## Positive control of each metric\n\nAn arm that sleeps, writes WAL and flushes it: the blind verdict \
        of each metric alone. Writing WAL also takes instructions and CPU time.\n\n{}",
        table(&["metric", "called worse", "not called"], &rows)
    )
}

fn noise(analysis: &Analysis) -> String {
    let shares = |figures: Option<(f64, f64)>| match figures {
        Some((sd, mde80)) => [percent(sd), percent(mde80)],
        None => [String::new(), String::new()],
    };
    let row = |test: &crate::analysis::TestNoise| {
        let cost = test.cost.as_ref().map(|(_, sd, mde80)| (*sd, *mde80));
        let by = test.cost.as_ref().map(|(metric, ..)| metric.clone()).unwrap_or_default();
        let mut row = vec![test.test.clone(), test.group.clone()];
        row.extend(shares(test.rate));
        row.push(by);
        row.extend(shares(cost));
        row
    };
    let rows: Vec<Vec<String>> = analysis.noise.iter().map(row).collect();
    let heads =
        ["test", "group", "rate: block sd", "rate: MDE80", "cost by", "cost: block sd", "cost: MDE80"];
    format!(
        "## Noise of each test\n\nMedians over arms, from the blind verdicts. Block sd: standard deviation of \
        one block's log ratio. MDE80: smallest change for the worse that the blocks of this run \
        would have shown with 80 % probability.\n\n{}",
        table(&heads, &rows)
    )
}

fn sizes(input: &Input<'_>, analysis: &Analysis) -> String {
    let size_text = |size: &Option<Size>| match size {
        Some(size) => format!("{} ({} to {})", percent(size.share), percent(size.low), percent(size.high)),
        None => "not measured".to_owned(),
    };
    let arms: Vec<&String> =
        analysis.sizes.iter().map(|size| &size.arm).collect::<BTreeSet<_>>().into_iter().collect();
    let tests: BTreeSet<&String> = analysis.sizes.iter().map(|size| &size.test).collect();
    let row = |test: &&String| {
        let of_arm = |arm: &&String| {
            let size = analysis.sizes.iter().find(|size| size.arm == **arm && size.test == **test);
            size.map_or_else(Default::default, |size| [size_text(&size.cost), size_text(&size.rate)])
        };
        [(*test).clone()].into_iter().chain(arms.iter().flat_map(of_arm)).collect()
    };
    let rows: Vec<Vec<String>> = tests.iter().map(row).collect();
    let columns = arms.iter().flat_map(|arm| [format!("{arm}: cost"), format!("{arm}: rate")]);
    let heads: Vec<String> = ["test".to_owned()].into_iter().chain(columns).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let dose = |(arm, dose): (&String, &crate::dose::Dose)| {
        let crate::dose::Dose { spin, sleep_us, wal_bytes, fsync_every } = *dose;
        let parts = [
            (spin > 0).then(|| format!("{spin} multiplications")),
            (sleep_us > 0).then(|| format!("a sleep of {sleep_us} us")),
            (wal_bytes > 0).then(|| format!("{wal_bytes} bytes of WAL")),
            (fsync_every > 0).then(|| format!("a WAL flush every {fsync_every} messages")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{arm}: {}", if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
    };
    let doses: Vec<String> = input.arms.iter().zip(input.doses).map(dose).collect();
    format!(
        "## True sizes\n\nDoses per message: {}.\n\nSizes come from a line through 0, fitted to {} blocks \
        of the first run, with its 95 % interval. Cost is the increase per operation, rate the decrease per second. \
        A multiplication takes longer than most instructions, so the two differ.\n\n{}",
        doses.join("; "),
        input.truth.blocks,
        table(&heads, &rows)
    )
}

fn host(about: &About) -> String {
    let rows: Vec<Vec<String>> =
        about.host.iter().map(|(key, value)| vec![format!("`{key}`"), value.replace('|', "/")]).collect();
    format!("## The host\n\n{}", table(&["", ""], &rows))
}
