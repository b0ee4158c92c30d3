//! Cancels the running statements of sessions.

use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Error, Session};

/// `Command` in the process list of sessions with a running statement.
const RUNNING: [&str; 2] = ["Query", "Execute"];

/// Cancels the running statements of all other sessions of this user: callers want all of them to end, and
/// not every version reports session names. Works in a thread of its own: a hanging server must not block the
/// caller.
pub(super) fn end_statements(endpoint: &Endpoint) {
    let endpoint = endpoint.clone();
    let cancel = move || {
        // If this fails, the server is shutting down, or it is killed later.
        let _cancelled = kill_queries(&endpoint);
    };
    // A thread that cannot start has the same effect as a request that fails.
    let _detached = std::thread::Builder::new().name("cancel".to_owned()).spawn(cancel);
}

fn kill_queries(endpoint: &Endpoint) -> Result<(), Error> {
    let mut connection = Connection::connect(endpoint, "rqps cancel")?;
    let own = Session::backend_id(&connection).to_string();
    let sessions = connection.query("SHOW FULL PROCESSLIST")?;
    let column = |name| sessions.column(name);
    let (Some(id), Some(user), Some(command)) = (column("Id"), column("User"), column("Command")) else {
        return Ok(());
    };
    for row in &sessions.rows {
        let is = |column: usize, value: &str| row[column].as_deref() == Some(value);
        let is_running = RUNNING.iter().any(|running| is(command, running));
        if let (Some(number), true) = (&row[id], is_running && is(user, &endpoint.user) && !is(id, &own)) {
            // Fails if the session has ended meanwhile.
            let _killed = connection.query(&format!("KILL QUERY {number}"));
        }
    }
    Ok(())
}
