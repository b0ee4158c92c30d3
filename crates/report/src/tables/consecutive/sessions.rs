//! The server's CPU time by connection: shows which one is busy, and whose work became more expensive. Every
//! step opens new connections.
//!
//! | column | means |
//! | --- | --- |
//! | `wall s` | length of the step |
//! | `insert s`, `delete s`, `query s` | CPU seconds of the server process or thread behind that connection, over all clients |
//! | `lookup s` | the same for the connection that occasionally looks up the smallest key |
//! | `busy %` | percent of the step that the busiest connection was on a CPU; near 100 it is saturated |
//! | `del/ins` | CPU seconds of deletes over those of inserts, which handle the same number of rows |
//! | `ins us`, `del us` | CPU microseconds of that connection per row inserted (indexed, if the step builds indexes) or deleted |
//! | `query us` | CPU microseconds of the query connections per query |
//! | `…/b` | these over base's |
//! | `client` | the client, if there are few; `all` is their sum |
//! | `dbms`, `step` | the system and the step |

use rqps_store::{Recorded, Window};

use super::by_step;
use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Table};
use crate::number;

/// Roles of connections in the order of columns: the store's name, the column.
const ROLES: [(&str, &str); 4] =
    [("insert", "insert"), ("delete", "delete"), ("maker", "lookup"), ("query", "query")];
/// Up to this many clients have a row each.
const CLIENTS_MAX: u32 = 4;

/// Both tables, if they have rows.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Vec<Block> {
    [seconds(comparison, which), per_operation(comparison, which)]
        .into_iter()
        .filter_map(Table::block)
        .collect()
}

fn seconds(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let roles = ROLES.iter().map(|(role, name)| Column::number(format!("{name} s"), format!("{role}_cpu_s")));
    let columns = std::iter::once(Column::number("wall s", "wall_s"))
        .chain(roles)
        .chain([Column::number("busy %", "busy_percent"), Column::number("del/ins", "delete_over_insert")])
        .chain(["client", "dbms", "step"].map(Column::words))
        .collect();
    let mut table = Table::new("session_cpu", "CPU seconds per connection", columns, 3);
    let steps = comparison.steps(which);
    for step in &steps {
        for arm in comparison.base_first() {
            let Ok(window) = arm.window(&step.name) else { continue };
            let clients = window.connections.iter().map(|one| one.client + 1).max().unwrap_or(0);
            let each = (0..clients).filter(|_| (2..=CLIENTS_MAX).contains(&clients));
            for client in std::iter::once(None).chain(each.map(Some)) {
                table.row(client_row(&arm, step, window, client));
            }
        }
    }
    table.preamble = super::names(comparison);
    table.footnotes.extend(super::notes(comparison, &steps));
    table
}

/// The row of one client, or of all together.
fn client_row(
    arm: &ComparedArm<'_>,
    step: &TestStep,
    window: &Recorded<Window>,
    client: Option<u32>,
) -> Vec<Cell> {
    let cpu_s = |role: &str| cpu_us(window, role, client).map(|us| us / 1e6);
    let mut cells = vec![Cell::fixed(window.result.known_s(), 1)];
    cells.extend(ROLES.iter().map(|(role, _)| Cell::fixed(cpu_s(role), 2)));
    let own = window.connections.iter().filter(|one| client.is_none_or(|client| one.client == client));
    let busy = own.map(|one| 100.0 * one.cpu_us / window.result.elapsed_us.max(1) as f64);
    let busiest = busy.max_by(f64::total_cmp);
    cells.push(Cell::fixed(busiest, 0));
    cells.push(Cell::fixed(number::ratio(cpu_s("delete"), cpu_s("insert")), 2));
    cells.push(Cell::words(client.map_or_else(|| "all".to_owned(), |client| client.to_string())));
    cells.extend([Cell::words(arm.reference()), Cell::words(&*step.name)]);
    super::marked_row(arm, step, cells)
}

/// CPU time of the connections with a role, of one client or of all; None if there are none.
fn cpu_us(window: &Recorded<Window>, role: &str, client: Option<u32>) -> Option<f64> {
    let is_selected = |one: &&rqps_model::ConnectionCpu| {
        one.role == role && client.is_none_or(|client| one.client == client)
    };
    let all: Vec<f64> = window.connections.iter().filter(is_selected).map(|one| one.cpu_us).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// CPU time per row or query: column, role, key, divisor.
const PER_OPERATION: [(&str, &str, &str, Divisor); 3] = [
    ("ins us", "insert", "insert_cpu_us_per_row", inserted),
    ("del us", "delete", "delete_cpu_us_per_row", |window| window.metric("deleted_rows")),
    ("query us", "query", "query_cpu_us_per_query", |window| window.result.queries.map(|n| n as f64)),
];

/// The number of a window's rows or queries.
type Divisor = fn(&Recorded<Window>) -> Option<f64>;

/// Rows inserted, or indexed if the step builds indexes.
fn inserted(window: &Recorded<Window>) -> Option<f64> {
    let result = &window.result;
    if result.unit.is_queries() { window.metric("inserted_rows") } else { Some(result.operations) }
}

fn per_operation(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let absolute = PER_OPERATION.iter().map(|(name, _, key, _)| Column::number(*name, *key));
    let relative = PER_OPERATION.iter().map(|(name, _, key, _)| {
        let short = name.trim_end_matches(" us");
        Column::number(format!("{short}/b"), format!("{key}_ratio"))
    });
    let columns = absolute.chain(relative).chain(["dbms", "step"].map(Column::words)).collect();
    let title = "Server CPU per row inserted, per row deleted, per query";
    let mut table = Table::new("session_cpu_per_op", title, columns, 2);
    table.preamble.push(format!("Relative to: {}", comparison.base.reference()));
    by_step(comparison, which, &mut table, |compared, step, window| {
        let base = comparison
            .base
            .window(&step.name)
            .ok()
            .filter(|_| !std::ptr::eq(compared.arm, comparison.base.arm));
        let values = PER_OPERATION.map(|(_, role, _, divisor)| us_each(window, role, divisor));
        let ratios = PER_OPERATION.iter().zip(values).map(|((_, role, _, divisor), value)| {
            let base = base.and_then(|base| us_each(base, role, *divisor));
            number::ratio(value, base)
        });
        let ratios: Vec<Cell> = ratios.map(|ratio| Cell::fixed(ratio, 2)).collect();
        values.into_iter().map(|value| Cell::fixed(value, 1)).chain(ratios).collect()
    });
    table
}

fn us_each(window: &Recorded<Window>, role: &str, divisor: Divisor) -> Option<f64> {
    let us = cpu_us(window, role, None)? / divisor(window)?;
    us.is_finite().then_some(us)
}
