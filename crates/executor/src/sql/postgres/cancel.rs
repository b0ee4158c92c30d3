//! Asking a server to end what its sessions are doing.

use rqps_wire::Endpoint;
use rqps_wire::postgres::Connection;

/// Asks the server to end the statements that sessions of this application name have in flight. Returns at once: a
/// server that hangs must not hang the one who wants to be rid of it, so a thread of its own asks.
pub(super) fn end_statements(endpoint: &Endpoint, application_name: &str) {
    let endpoint = endpoint.clone();
    let sql = format!(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
         WHERE application_name = '{application_name}' AND pid <> pg_backend_pid()"
    );
    let ask = move || {
        // Where this fails the server is ending by itself, or its sessions are ended from outside later.
        let _asked =
            Connection::connect(&endpoint, "rqps cancel").and_then(|mut connection| connection.query(&sql));
    };
    // Without a thread nothing is asked, as if the server had not heard.
    let _detached = std::thread::Builder::new().name("cancel".to_owned()).spawn(ask);
}
