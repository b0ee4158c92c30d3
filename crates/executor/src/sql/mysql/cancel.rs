//! Asking a server to end what its sessions are doing.

use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Error, Session};

/// What the list of sessions says of those that have a statement in flight.
const AT_WORK: [&str; 2] = ["Query", "Execute"];

/// Asks the server to end the statements of all other sessions of this user: where it is asked for, all of them are to
/// end, and not every version tells sessions' names apart. Returns at once: a server that hangs must not hang the one
/// who wants to be rid of it, so a thread of its own asks.
pub(super) fn end_statements(endpoint: &Endpoint) {
    let endpoint = endpoint.clone();
    let ask = move || {
        // Where this fails the server is ending by itself, or its sessions are ended from outside later.
        let _asked = kill_queries(&endpoint);
    };
    // Without a thread nothing is asked, as if the server had not heard.
    let _detached = std::thread::Builder::new().name("cancel".to_owned()).spawn(ask);
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
        let is = |at: usize, wanted: &str| row[at].as_deref() == Some(wanted);
        let at_work = AT_WORK.iter().any(|known| is(command, known));
        if let (Some(number), true) = (&row[id], at_work && is(user, &endpoint.user) && !is(id, &own)) {
            // The session may have ended meanwhile.
            let _killed = connection.query(&format!("KILL QUERY {number}"));
        }
    }
    Ok(())
}
