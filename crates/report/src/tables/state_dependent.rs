//! The same arms by both protocols: changes that only the sequence shows.
//!
//! | column | means |
//! | --- | --- |
//! | `sequence` | the ratio to base when tests run on the state that earlier tests left |
//! | `isolated` | the ratio when every test starts from the same data; there the verdict is `same` |
//! | `of` | rate, cost or stalls |
//! | `dead rows` | rows that wait for vacuum before the test, mean over passes: of base, of the arm |
//! | `arm`, `test` | where |

use rqps_verdicts::state_dependent;

use crate::document::{Block, Cell, Column, Table, Tint};
use crate::error::Result;
use crate::verdict_lines::Judged;

/// The table, or the sentence that there is none.
pub(crate) fn block(isolated: &Judged<'_>, sequence: &Judged<'_>) -> Result<Block> {
    let found = state_dependent((isolated.run, &isolated.verdicts), (sequence.run, &sequence.verdicts))?;
    if found.is_empty() {
        return Ok(Block::Text(
            "No state-dependent change: every significant change of the sequence also appears when tests start from the same data."
                .to_owned(),
        ));
    }
    let columns = vec![
        Column::number("sequence", "in_sequence"),
        Column::number("isolated", "isolated"),
        Column::keyed_words("of", "detector"),
        Column::number("dead rows", "dead_rows_base"),
        Column::number("of arm", "dead_rows_arm"),
        Column::words("arm"),
        Column::words("test"),
    ];
    let mut table = Table::new("state_dependent", "State-dependent changes", columns, 2);
    for one in found {
        let tint = if one.is_regression { Tint::Red } else { Tint::Green };
        table.row(vec![
            Cell { tint, ..Cell::fixed(Some(one.in_sequence), 3) },
            Cell::fixed(Some(one.isolated.0), 3),
            Cell::words(one.detector.key()),
            Cell::fixed(one.dead_rows.0, 0),
            Cell::fixed(one.dead_rows.1, 0),
            Cell::words(&*sequence.run.arms[one.arm].name),
            Cell::words(one.test),
        ]);
    }
    table.footnotes.push(
        "state-dependent: the statement itself costs the same; the difference is in the state that earlier tests left, or in \
         how the server copes with it"
            .to_owned(),
    );
    Ok(Block::Table(table))
}
