//! The same arms by both protocols: changes that only the sequence shows.
//!
//! | column | means |
//! | --- | --- |
//! | `sequence` | the ratio to base where tests find what the tests before them left |
//! | `isolated` | the ratio where every test starts from the same data; there the two are the same |
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
            "No change is significant in the sequence that is not there from equal data: none is state-dependent."
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
        "state-dependent: the statement itself costs the same; what differs is the state that the tests before it left, \
         or how the server copes with it"
            .to_owned(),
    );
    Ok(Block::Table(table))
}
