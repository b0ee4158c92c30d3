//! Steps whose clients have several connections each: which of these make up an operation's time.

use rqps_store::{Recorded, Window};

/// Prefix of metrics with the CPU time of all connections of a role; the role follows.
pub(crate) const SESSIONS: &str = "sessions_cpu_us.";
/// Metric: number of windows.
pub(crate) const WINDOWS: &str = "queue_windows";
/// Role of connections that run queries.
const QUERY: &str = "query";

/// What a window of such a step adds to an arm's totals: CPU time by role, and that of its foreground
/// connections, which make up an operation's time. Those are the querying ones or, if there are none, the
/// inserting and deleting ones.
pub(crate) struct Foreground {
    /// Number of foreground connections.
    pub connections: u32,
    /// CPU time of the server for them, microseconds.
    pub server_us: f64,
    /// CPU time of the client's threads that use them, microseconds; `None` if unknown.
    pub client_us: Option<f64>,
    /// Time that their sessions were ready to run and had no CPU, microseconds; `None` if unknown.
    pub queued_us: Option<f64>,
    pub totals: Vec<(String, f64)>,
}

impl Foreground {
    pub fn from_window(window: &Recorded<Window>) -> Option<Self> {
        if window.connections.iter().all(|one| one.role.is_empty()) {
            return None;
        }
        let queries = window.connections.iter().any(|one| one.role == QUERY);
        let roles: &[&str] = if queries { &[QUERY] } else { &["insert", "delete"] };
        let foreground = || window.connections.iter().filter(|one| roles.contains(&one.role.as_str()));
        let of_roles = |name: &dyn Fn(&str) -> String| -> Option<f64> {
            let known: Vec<f64> = roles.iter().filter_map(|role| window.metric(&name(role))).collect();
            (!known.is_empty()).then(|| known.iter().sum())
        };
        let by_role = window.connections.iter().map(|one| (format!("{SESSIONS}{}", one.role), one.cpu_us));
        Some(Self {
            connections: foreground().count() as u32,
            server_us: foreground().map(|one| one.cpu_us).sum(),
            client_us: of_roles(&|role| format!("client_{role}_cpu_us")),
            queued_us: of_roles(&|role| format!("server_queued.{role}_us")),
            totals: by_role.chain([(WINDOWS.to_owned(), 1.0)]).collect(),
        })
    }
}
