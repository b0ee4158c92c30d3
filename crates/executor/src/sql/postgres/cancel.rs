//! Cancels the running statements of sessions.

use rqps_wire::Endpoint;
use rqps_wire::postgres::Connection;

/// Cancels the running statements of sessions with this application name, from a thread of its own: a hanging
/// server must not block the caller.
pub(super) fn end_statements(endpoint: &Endpoint, application_name: &str) {
    let endpoint = endpoint.clone();
    let sql = format!(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
         WHERE application_name = '{application_name}' AND pid <> pg_backend_pid()"
    );
    let cancel = move || {
        // If this fails, the server is shutting down, or it is killed later.
        let _cancelled =
            Connection::connect(&endpoint, "rqps cancel").and_then(|mut connection| connection.query(&sql));
    };
    // A thread that cannot start has the same effect as a request that fails.
    let _detached = std::thread::Builder::new().name("cancel".to_owned()).spawn(cancel);
}
