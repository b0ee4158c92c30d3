//! CPU time of the server for each connection, which every step opens anew: which one is busy, and whose work became
//! more expensive.
//!
//! | column | means |
//! | --- | --- |
//! | `wall s` | length of the step |
//! | `insert s`, `delete s`, `query s` | CPU seconds of the server's process or thread behind that connection, over all clients |
//! | `lookup s` | of the connection that looks for the smallest key from time to time |
//! | `busy %` | share of the step that the busiest connection was on a CPU: near 100 it can do no more |
//! | `del/ins` | CPU seconds of deletes over those of inserts, which handle as many rows |
//! | `ins us`, `del us` | microseconds of CPU of that connection for each row inserted (where indexes are built: indexed), or deleted |
//! | `query us` | microseconds of CPU of the query connections for each query |
//! | `…/b` | the same over base's |
//! | `client` | the client, where there are a few; `all` is their sum |
//! | `dbms`, `step` | the system and the step |

use rqps_store::{Recorded, Window};

use super::by_step;
use crate::document::{Block, Cell, Column, Table};
use crate::number;
use crate::sides::{Side, Sides, StepKind, TestStep};

/// The roles of connections, as the store calls them, in the order of the columns.
const ROLES: [(&str, &str); 4] =
    [("insert", "insert"), ("delete", "delete"), ("maker", "lookup"), ("query", "query")];
/// So many clients have a row each.
const CLIENTS_MAX: u32 = 4;

/// Both tables; nothing where no connection was told apart.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Vec<Block> {
    let (seconds, each) = (seconds(sides, which), per_operation(sides, which));
    [seconds, each].into_iter().filter(|table| !table.rows.is_empty()).map(Block::Table).collect()
}

fn seconds(sides: &Sides<'_>, which: StepKind) -> Table {
    let roles = ROLES.iter().map(|(role, name)| Column::number(format!("{name} s"), format!("{role}_cpu_s")));
    let columns = std::iter::once(Column::number("wall s", "wall_s"))
        .chain(roles)
        .chain([Column::number("busy %", "busy_percent"), Column::number("del/ins", "delete_over_insert")])
        .chain(["client", "dbms", "step"].map(Column::words))
        .collect();
    let mut table = Table::new("session_cpu", "CPU seconds per connection", columns, 3);
    let steps = sides.steps(which);
    for step in &steps {
        for side in sides.base_first() {
            let Ok(window) = side.window(&step.name) else { continue };
            let clients = window.connections.iter().map(|one| one.client + 1).max().unwrap_or(0);
            let each = (0..clients).filter(|_| (2..=CLIENTS_MAX).contains(&clients));
            for client in std::iter::once(None).chain(each.map(Some)) {
                let cells = of_client(&side, step, window, client);
                table.row(cells);
            }
        }
    }
    table.preamble = super::names(sides);
    table.footnotes.extend(super::notes(sides, &steps));
    table
}

/// One row: all clients together, or one of them.
fn of_client(side: &Side<'_>, step: &TestStep, window: &Recorded<Window>, client: Option<u32>) -> Vec<Cell> {
    let cpu_s = |role: &str| cpu_us(window, role, client).map(|us| us / 1e6);
    let mut cells = vec![Cell::fixed(Some(window.result.elapsed_s()), 1)];
    cells.extend(ROLES.iter().map(|(role, _)| Cell::fixed(cpu_s(role), 2)));
    let busiest = window.connections.iter().filter(|one| client.is_none_or(|client| one.client == client));
    let busiest =
        busiest.map(|one| 100.0 * one.cpu_us / window.result.elapsed_us.max(1) as f64).max_by(f64::total_cmp);
    cells.push(Cell::fixed(busiest, 0));
    cells.push(Cell::fixed(number::ratio(cpu_s("delete"), cpu_s("insert")), 2));
    cells.push(Cell::words(client.map_or_else(|| "all".to_owned(), |client| client.to_string())));
    cells.extend([Cell::words(side.reference()), Cell::words(&*step.name)]);
    super::marked_row(side, step, cells)
}

/// CPU time of the connections of a role, of one client or of all; none where there is none of them.
fn cpu_us(window: &Recorded<Window>, role: &str, client: Option<u32>) -> Option<f64> {
    let is_its = |one: &&rqps_model::ConnectionCpu| {
        one.role == role && client.is_none_or(|client| one.client == client)
    };
    let all: Vec<f64> = window.connections.iter().filter(is_its).map(|one| one.cpu_us).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// CPU of one row or query, by role: what it is called, the role, what its time is divided by.
const EACH: [(&str, &str, &str, Divisor); 3] = [
    ("ins us", "insert", "insert_cpu_us_per_row", inserted),
    ("del us", "delete", "delete_cpu_us_per_row", |window| window.metric("deleted_rows")),
    ("query us", "query", "query_cpu_us_per_query", |window| Some(window.result.queries as f64)),
];

/// How many operations of a role a window has.
type Divisor = fn(&Recorded<Window>) -> Option<f64>;

/// Rows that the connection which inserts has worked on: where indexes are built those that it indexed.
fn inserted(window: &Recorded<Window>) -> Option<f64> {
    let result = &window.result;
    if result.unit.is_queries() { window.metric("inserted_rows") } else { Some(result.operations) }
}

fn per_operation(sides: &Sides<'_>, which: StepKind) -> Table {
    let own = EACH.iter().map(|(name, _, key, _)| Column::number(*name, *key));
    let over = EACH.iter().map(|(name, _, key, _)| {
        let short = name.trim_end_matches(" us");
        Column::number(format!("{short}/b"), format!("{key}_ratio"))
    });
    let columns = own.chain(over).chain(["dbms", "step"].map(Column::words)).collect();
    let title = "Server CPU per row inserted, per row deleted, per query";
    let mut table = Table::new("session_cpu_per_op", title, columns, 2);
    table.preamble.push(format!("Relative to: {}", sides.base.reference()));
    by_step(sides, which, &mut table, |side, step, window| {
        let base = sides.base.window(&step.name).ok().filter(|_| !std::ptr::eq(side.arm, sides.base.arm));
        let values = EACH.map(|(_, role, _, divisor)| us_each(window, role, divisor));
        let ratios = EACH.iter().zip(values).map(|((_, role, _, divisor), value)| {
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
