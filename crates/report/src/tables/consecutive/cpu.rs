//! CPU time of server and client by step: shows how much of the machine the client uses.
//!
//! | column | means |
//! | --- | --- |
//! | `server s`, `client s` | CPU seconds of the server's processes, and of rqps |
//! | `client %` | the client's share of their sum |
//! | `server us`, `client us` | microseconds per operation; the footnote defines it |
//! | `maker s`, `insert s`, `delete s`, `query s` | CPU seconds of the client's threads by role; the maker generates the statements of inserter and deleter |
//! | `dbms`, `step` | the system and the step |

use super::by_step;
use crate::comparison::{Comparison, StepKind};
use crate::document::{Cell, Column, Table};

/// Columns of the client's threads: name, metric.
const THREADS: [(&str, &str); 4] = [
    ("maker s", "client_maker_cpu_us"),
    ("insert s", "client_insert_cpu_us"),
    ("delete s", "client_delete_cpu_us"),
    ("query s", "client_query_cpu_us"),
];

/// One row per step and arm.
pub(crate) fn table(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let own = [
        ("server s", "server_cpu_s"),
        ("client s", "client_cpu_s"),
        ("client %", "client_percent"),
        ("server us", "server_cpu_us_per_op"),
        ("client us", "client_cpu_us_per_op"),
    ];
    let own = own.map(|(name, key)| Column::number(name, key)).into_iter();
    let threads = THREADS.iter().map(|(name, metric)| Column::number(*name, metric.replace("_us", "_s")));
    let columns = own.chain(threads).chain(["dbms", "step"].map(Column::words)).collect();
    let mut table = Table::new("cpu", "CPU of server and client", columns, 2);
    let steps = comparison.steps(which);
    by_step(comparison, which, &mut table, |_, _, window| {
        let (server, client) = (window.metric("server_cpu_us"), window.metric("client_cpu_us"));
        let share = server.zip(client).map(|(server, client)| 100.0 * client / (server + client));
        let operations = window.result.operations;
        let per_op = |us: Option<f64>| us.map(|us| us / operations);
        let seconds = |us: Option<f64>| Cell::fixed(us.map(|us| us / 1e6), 2);
        let mut cells = vec![
            seconds(server),
            seconds(client),
            Cell::fixed(share, 0),
            Cell::fixed(per_op(server), 1),
            Cell::fixed(per_op(client), 1),
        ];
        cells.extend(THREADS.iter().map(|(_, metric)| seconds(window.metric(metric))));
        cells
    });
    let units = comparison.units(&steps).into_iter();
    let units: Vec<String> =
        units.map(|(unit, steps)| format!("{} in {}", unit.one, steps.join(" "))).collect();
    table.footnotes.push(format!("us: of {}", units.join(", of ")));
    table
}
