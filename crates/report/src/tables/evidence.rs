//! Every figure behind the verdicts: one line for each test, arm and metric, the control's with them.
//!
//! | column | means |
//! | --- | --- |
//! | `verdict` | what the metric says alone, at its share of the error |
//! | `ratio`, `from`, `to`, `confidence` | arm over base, its interval, and how sure that is |
//! | `held in` | the ratio with far blocks held in (Huber) |
//! | `blocks` | restarts used; `of`: restarts in which both were measured |
//! | `block sd` | standard deviation of one block's ratio, percent; `moderated`: with what other tests vary |
//! | `df` | degrees of freedom of the moderated one |
//! | `p` | over all looks; `q`: of the whole verdict, adjusted for the number of verdicts |
//! | `could show` | smallest change for the worse that would have been shown with 80 % probability |
//! | `matters` | smallest change that matters |
//! | `metric`, `arm`, `test` | of what |

use rqps_stats::{MetricVerdict, Verdict};

use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::sides::Sides;
use crate::verdict_lines::Judged;
use crate::words;

/// One table for each run that has blocks.
pub(crate) fn blocks(sides: &Sides<'_>) -> Result<Vec<Block>> {
    let judged = Judged::of_all(sides)?;
    Ok(judged.iter().map(|judged| Block::Table(table(sides, judged))).collect())
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
        for one in &verdict.metrics {
            let arm = &judged.run.arms[verdict.arm].name;
            table.row(row(verdict, one, arm));
        }
    }
    table
}

fn row(verdict: &Verdict, one: &MetricVerdict, arm: &str) -> Vec<Cell> {
    let some = |value: f64| Some(value).filter(|value| value.is_finite());
    let digits = |value: f64, digits: usize| {
        some(value)
            .map_or_else(Cell::missing, |value| Cell::number(value, number::significant(value, digits)))
    };
    let share = |value: f64| {
        some(value).map_or_else(Cell::missing, |value| Cell::number(value, format!("{:.3} %", value * 100.0)))
    };
    vec![
        Cell::words(words::class(one.class)),
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
        digits(verdict.q_value, 2),
        share(one.mde80),
        share(one.mei),
        Cell::words(one.metric.key()),
        Cell::words(arm),
        Cell::words(&*verdict.test),
    ]
}
