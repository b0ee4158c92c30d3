//! Changes that only the sequence shows, for arms that were measured with both protocols.
//!
//! | column | means |
//! | --- | --- |
//! | `sequence` | the ratio to base if tests run on the state that earlier tests left |
//! | `isolated` | the ratio if every test starts from the same data, with verdict `same` |
//! | `of` | rate, cost or stalls |
//! | `dead rows` | rows waiting for vacuum before the test, mean over passes: of base, of the arm |
//! | `arm`, `test` | the arm and the test |

use rqps_verdicts::{StateDependent, state_dependent};

use crate::document::{Block, Cell, Column, Figure, Table, Tint};
use crate::error::Result;
use crate::verdict_lines::Judged;

/// The table, or a sentence if there are no such changes.
pub(crate) fn block(isolated: &Judged<'_>, sequence: &Judged<'_>) -> Result<Block> {
    let found = state_dependent((isolated.run, &isolated.verdicts), (sequence.run, &sequence.verdicts))?;
    if found.is_empty() {
        return Ok(Block::Text(
            "No state-dependent change is shown: of the tests that both runs have, none changed in the sequence and is the same \
             when tests start from the same data."
                .to_owned(),
        ));
    }
    let tint = |one: &StateDependent| if one.is_regression { Tint::Red } else { Tint::Green };
    let figures: [Figure<'_, StateDependent>; 7] = [
        (Column::number("sequence", "in_sequence"), &|one| Cell {
            tint: tint(one),
            ..Cell::fixed(Some(one.in_sequence), 3)
        }),
        (Column::number("isolated", "isolated"), &|one| Cell::fixed(Some(one.isolated.0), 3)),
        (Column::keyed_words("of", "detector"), &|one| Cell::words(one.detector.key())),
        (Column::number("dead rows", "dead_rows_base"), &|one| Cell::fixed(one.dead_rows.0, 0)),
        (Column::number("of arm", "dead_rows_arm"), &|one| Cell::fixed(one.dead_rows.1, 0)),
        (Column::words("arm"), &|one| Cell::words(&*sequence.run.arms[one.arm].name)),
        (Column::words("test"), &|one| Cell::words(&*one.test)),
    ];
    let mut table = Table::of_figures("state_dependent", "State-dependent changes", &figures, 2, found);
    table.footnotes.push(
        "state-dependent: the statement itself costs the same; the difference is in the state that earlier tests left, or in \
         how the server copes with it"
            .to_owned(),
    );
    Ok(Block::Table(table))
}
