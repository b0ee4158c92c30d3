//! Every figure behind the verdicts: one line for each test, arm and metric, the control's with them.
//!
//! | column | means |
//! | --- | --- |
//! | `verdict` | what is said of the metric |
//! | `ratio`, `from`, `to`, `confidence` | arm over base, its interval, and how sure that is |
//! | `held in` | the ratio with far blocks held in (Huber) |
//! | `blocks` | restarts used; `of`: restarts in which both were measured |
//! | `block sd` | standard deviation of one block's ratio, percent; `moderated`: with what other tests vary |
//! | `df` | degrees of freedom of the moderated one |
//! | `p` | over all looks; `q`: adjusted for the number of verdicts of its kind |
//! | `could show` | smallest change for the worse that would have been shown with 80 % probability |
//! | `matters` | smallest change that matters |
//! | `metric`, `arm`, `test` | of what |
//!
//! Where a program counted instructions, a second table holds them against the windows:
//!
//! | column | means |
//! | --- | --- |
//! | `counted` | counted instructions of an operation, over base's |
//! | `CPU` | CPU time of an operation in the windows, over base's; `error`: its standard error |
//! | `apart` | by how much the one ratio is above the other |
//! | `used` | whether the counts decide on the cost |
//! | `user` | share of the server's CPU time in the windows that is in user mode, which alone is counted |
//! | `images` | of counted writes, the share that come with images of their pages, as those of windows do |
//! | `arm`, `test` | of what |

use rqps_stats::Verdict;

use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::sides::Sides;
use crate::verdict_lines::Judged;
use crate::words;

/// One table for each run that has blocks.
pub(crate) fn blocks(sides: &Sides<'_>) -> Result<Vec<Block>> {
    let judged = Judged::of_all(sides)?;
    let of = |judged: &Judged<'_>| [Some(table(sides, judged)), agreements(sides, judged)];
    Ok(judged.iter().flat_map(of).flatten().map(Block::Table).collect())
}

/// Counts beside windows; none where no program counted.
fn agreements(sides: &Sides<'_>, judged: &Judged<'_>) -> Option<Table> {
    let number = Column::number;
    let columns = vec![
        number("counted", "instructions_ratio"),
        number("CPU", "cpu_ratio"),
        number("error", "cpu_error"),
        number("apart", "apart"),
        Column::words("used"),
        number("user", "user_share"),
        number("images", "dense_share"),
        Column::words("arm"),
        Column::words("test"),
    ];
    let title = format!("Counted instructions and the windows of {}", judged.run.folder.name());
    let mut table = Table::new("agreement", title, columns, 2);
    table.preamble.push(format!("Relative to: {}", judged.label(sides, judged.base)));
    let share = |value: Option<f64>| {
        value
            .filter(|value| value.is_finite())
            .map_or_else(Cell::missing, |value| Cell::number(value, format!("{:.1} %", value * 100.0)))
    };
    for one in judged.verdicts.agreements.iter().filter(|one| sides.shows(&one.test)) {
        table.row(vec![
            Cell::fixed(Some(one.instructions), 4),
            Cell::fixed(Some(one.cpu_us), 4),
            share(Some(one.cpu_error)),
            share(Some(one.factor() - 1.0)),
            Cell::words(if one.is_parted() { "no" } else { "yes" }),
            share(one.user_share),
            share(one.dense_share),
            Cell::words(&*judged.run.arms[one.arm].name),
            Cell::words(&*one.test),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn table(sides: &Sides<'_>, judged: &Judged<'_>) -> Table {
    let number = Column::number;
    let columns = vec![
        Column::words("verdict"),
        number("ratio", "ratio"),
        number("from", "low"),
        number("to", "high"),
        number("confidence", "confidence"),
        number("held in", "huber_ratio"),
        number("blocks", "blocks"),
        number("of", "blocks_measured"),
        number("block sd", "block_sd"),
        number("moderated", "moderated_sd"),
        number("df", "df"),
        number("p", "p"),
        number("q", "q"),
        number("could show", "could_show"),
        number("matters", "mei"),
        Column::words("metric"),
        Column::words("arm"),
        Column::words("test"),
    ];
    let title = format!("Evidence of {}", judged.run.folder.name());
    let mut table = Table::new("evidence", title, columns, 3);
    table.preamble.push(format!("Relative to: {}", judged.label(sides, judged.base)));
    for verdict in judged.verdicts.judgement.verdicts.iter().filter(|verdict| sides.shows(&verdict.test)) {
        table.row(row(verdict, &judged.run.arms[verdict.arm].name));
    }
    table
}

fn row(one: &Verdict, arm: &str) -> Vec<Cell> {
    let some = |value: f64| Some(value).filter(|value| value.is_finite());
    let digits = |value: f64, digits: usize| {
        some(value)
            .map_or_else(Cell::missing, |value| Cell::number(value, number::significant(value, digits)))
    };
    let share = |value: f64| {
        some(value).map_or_else(Cell::missing, |value| Cell::number(value, format!("{:.3} %", value * 100.0)))
    };
    vec![
        Cell::words(words::verdict(one)),
        Cell::fixed(some(one.ratio), 5),
        Cell::fixed(some(one.low), 5),
        Cell::fixed(some(one.high), 5),
        share(one.confidence),
        Cell::fixed(some(one.huber_ratio), 5),
        Cell::number(one.blocks as f64, one.blocks.to_string()),
        Cell::number(one.blocks_measured as f64, one.blocks_measured.to_string()),
        share(one.block_sd),
        share(one.moderated_sd),
        Cell::fixed(some(one.df), 1),
        digits(one.p_seq, 2),
        digits(one.q_value, 2),
        share(one.mde80),
        share(one.mei),
        Cell::words(one.metric.key()),
        Cell::words(arm),
        Cell::words(&*one.test),
    ]
}
