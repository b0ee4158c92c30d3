//! Steps whose clients have several connections each: which of these an operation's time is made of.

use rqps_store::{Recorded, Window};

/// Key of the CPU time of all connections of a role, before the role.
pub(crate) const SESSIONS: &str = "sessions_cpu_us.";
/// Key of the number of windows.
pub(crate) const WINDOWS: &str = "queue_windows";
/// Role of connections that query.
const QUERY: &str = "query";

/// What a window of such a step adds to an arm's totals: CPU time by role, and what an operation's time is made of,
/// which is that of connections that query or, where none does, insert and delete.
pub(crate) struct Foreground {
    /// Connections whose time an operation takes.
    pub connections: u32,
    /// CPU time of the server for them, microseconds.
    pub server_us: f64,
    /// CPU time of the client's threads that use them, microseconds; none where it is not known.
    pub client_us: Option<f64>,
    pub totals: Vec<(String, f64)>,
}

impl Foreground {
    pub fn from_window(window: &Recorded<Window>) -> Option<Self> {
        if window.connections.iter().all(|one| one.role.is_empty()) {
            return None;
        }
        let queries = window.connections.iter().any(|one| one.role == QUERY);
        let roles: &[&str] = if queries { &[QUERY] } else { &["insert", "delete"] };
        let its = || window.connections.iter().filter(|one| roles.contains(&one.role.as_str()));
        let threads: Vec<f64> =
            roles.iter().filter_map(|role| window.metric(&format!("client_{role}_cpu_us"))).collect();
        let by_role = window.connections.iter().map(|one| (format!("{SESSIONS}{}", one.role), one.cpu_us));
        Some(Self {
            connections: its().count() as u32,
            server_us: its().map(|one| one.cpu_us).sum(),
            client_us: (!threads.is_empty()).then(|| threads.iter().sum()),
            totals: by_role.chain([(WINDOWS.to_owned(), 1.0)]).collect(),
        })
    }
}
