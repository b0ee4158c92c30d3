//! Every figure behind the verdicts: one row per test, arm and metric, including the control. Rows of one metric and
//! arm have a heading of their own, so that a reader of hundreds of them knows what each is about.
//!
//! | column | means |
//! | --- | --- |
//! | `verdict` | the verdict on the metric |
//! | `ratio`, `from`, `to`, `confidence` | arm over base, its confidence interval and level |
//! | `robust` | the ratio with outlier blocks downweighted (Huber) |
//! | `blocks` | blocks used; `of`: blocks in which both arms were measured |
//! | `block sd` | standard deviation of one block's ratio, percent; `moderated`: shrunk towards that of the other tests |
//! | `by block` | ratio of each of the blocks used, in their order |
//! | `df` | degrees of freedom of the moderated deviation |
//! | `p` | p-value over all looks; `q`: adjusted for the number of verdicts of its kind |
//! | `detectable` | smallest change for the worse that would have been detected with 80 % probability |
//! | `matters` | smallest change that matters |
//! | `remarks` | as in the table of verdicts |
//! | `metric`, `arm`, `test` | what the row is about; readers have metric and arm in the heading above it |
//!
//! If a program counted instructions, a second table compares them with the CPU time of the windows:
//!
//! | column | means |
//! | --- | --- |
//! | `counted` | counted instructions per operation, over base's |
//! | `CPU` | CPU time per operation in the windows, over base's; `error`: its standard error |
//! | `apart` | difference between the two ratios |
//! | `used` | whether counts decide the verdict on the cost |
//! | `user` | share of user mode in the server's CPU time; only instructions in user mode are counted |
//! | `images` | share of the counted writes that log full-page images, as those of windows do |
//! | `arm`, `test` | what the row is about |

use rqps_model::Digits;
use rqps_stats::{Verdict, blocks_of};
use rqps_verdicts::Agreement;

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Figure, Table, Tint, cells};
use crate::error::Result;
use crate::number;
use crate::verdict_lines::Judged;
use crate::words;

/// The tables of each run that has blocks.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Result<Vec<Block>> {
    let judged = Judged::all(comparison)?;
    let tables = |judged: &Judged<'_>| [Some(table(comparison, judged)), agreements(comparison, judged)];
    Ok(judged.iter().flat_map(|judged| tables(judged)).flatten().map(Block::Table).collect())
}

/// Counted instructions against CPU time of windows; None if no program counted.
fn agreements(comparison: &Comparison<'_>, judged: &Judged<'_>) -> Option<Table> {
    let number = Column::number;
    let share = |value: Option<f64>| Cell::printed(value, |value| format!("{:.1} %", value * 100.0));
    let figures: [Figure<'_, &Agreement>; 9] = [
        (number("counted", "instructions_ratio"), &|one| Cell::fixed(Some(one.instructions), 4)),
        (number("CPU", "cpu_ratio"), &|one| Cell::fixed(Some(one.cpu_us), 4)),
        (number("error", "cpu_error"), &|one| share(Some(one.cpu_error))),
        (number("apart", "apart"), &|one| share(Some(one.factor() - 1.0))),
        (Column::words("used"), &|one| Cell::words(if one.is_parted() { "no" } else { "yes" })),
        (number("user", "user_share"), &|one| share(one.user_share)),
        (number("images", "dense_share"), &|one| share(one.dense_share)),
        (Column::words("arm"), &|one| Cell::words(&*judged.run.arms[one.arm].name)),
        (Column::words("test"), &|one| Cell::words(&*one.test)),
    ];
    let title = format!("Counted instructions against measured CPU time, {}", judged.run.folder.name());
    let shown = judged.verdicts.agreements.iter().filter(|one| comparison.shows(&one.test));
    let mut table = Table::of_figures("agreement", title, &figures, 2, shown);
    table.preamble.push(format!("Relative to: {}", judged.label(comparison, judged.base)));
    (!table.rows.is_empty()).then_some(table)
}

fn table(comparison: &Comparison<'_>, judged: &Judged<'_>) -> Table {
    let number = Column::number;
    let estimate = |one: &Verdict| Cell::estimate((one.ratio, one.low, one.high), 5);
    let fixed = |value: f64, decimals: usize| Cell::fixed(Some(value), decimals);
    let digits = |value: f64| Cell::printed(Some(value), |value| number::significant(value, 2));
    let share = |value: f64| Cell::printed(Some(value), words::percent);
    let level = |value: f64| Cell::printed(Some(value), words::level);
    let like_ratio = |one: &Verdict, value: f64| {
        Cell::printed(Some(value), |value| Digits::of_ratio((one.low, one.high), 5).text(value))
    };
    let by_block = |one: &Verdict| {
        let blocks = blocks_of(&judged.verdicts.experiment, one);
        blocks.into_iter().map(|of| number::significant(of.ratio, 6)).collect::<Vec<_>>().join(" ")
    };
    let arm = |one: &Verdict| judged.run.arms[one.arm].name.as_str();
    let figures: [Figure<'_, &Verdict>; 20] = [
        (Column::words("verdict"), &|one| Cell { tint: Tint::None, ..words::verdict_cell(one) }),
        (number("ratio", "ratio"), &|one| estimate(one)[0].clone()),
        (number("from", "low"), &|one| estimate(one)[1].clone()),
        (number("to", "high"), &|one| estimate(one)[2].clone()),
        (number("confidence", "confidence"), &|one| level(one.confidence)),
        (number("robust", "huber_ratio"), &|one| like_ratio(one, one.huber_ratio)),
        (number("blocks", "blocks"), &|one| Cell::count(one.blocks as u64)),
        (number("of", "blocks_measured"), &|one| Cell::count(one.blocks_measured as u64)),
        (number("block sd", "block_sd"), &|one| share(one.block_sd)),
        (number("moderated", "moderated_sd"), &|one| share(one.moderated_sd)),
        (Column::words("by block"), &|one| Cell::words(by_block(one))),
        (number("df", "df"), &|one| fixed(one.df, 1)),
        (number("p", "p"), &|one| digits(one.p_seq)),
        (number("q", "q"), &|one| digits(one.q_value)),
        (number("detectable", "detectable"), &|one| Cell::printed(Some(one.mde80), words::detectable)),
        (number("matters", "mei"), &|one| share(one.mei)),
        (Column::words("remarks"), &|one| Cell::words(words::remarks(one).join("; "))),
        (Column::words("metric").in_group(), &|one| Cell::words(one.metric.key())),
        (Column::words("arm").in_group(), &|one| Cell::words(arm(one))),
        (Column::words("test"), &|one| Cell::words(&*one.test)),
    ];
    let title = format!("Evidence of {}", judged.run.folder.name());
    let shown = judged.verdicts.judgement.verdicts.iter().filter(|one| comparison.shows(&one.test));
    let mut shown: Vec<&Verdict> = shown.collect();
    shown.sort_by_key(|one| (one.metric, one.arm));
    let columns = figures.iter().map(|(column, _)| column.clone()).collect();
    let mut table = Table::new("evidence", title, columns, 3);
    for one in shown {
        table.row_in(&format!("metric {}, arm {}", one.metric.key(), arm(one)), cells(&figures, &one));
    }
    table.preamble.push(format!("Relative to: {}", judged.label(comparison, judged.base)));
    table.footnotes.push(
        "confidence: of the interval of its row. Changes of a rate or a cost have that of verdicts, others 90 %; a \
         figure that hardly varies from block to block has the most that so many blocks allow. matters: by metric, \
         and more where an operation has little of it. by block: the ratios whose mean `ratio` is; without the most \
         extreme slices, so that totals of a block's windows give others on a busy host"
            .to_owned(),
    );
    table
}
