//! How sysbench connects to a server: options and environment of its drivers.

use rqps_wire::{Endpoint, Host};

/// How sysbench reaches a server.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name of sysbench's driver: `pgsql` or `mysql`.
    pub driver_name: &'static str,
    /// Connection options.
    pub options: Vec<String>,
    /// Not among the options, which everybody sees in the list of processes.
    pub password: String,
    pub environment: Vec<(&'static str, String)>,
    /// Run first in each session; returns no rows.
    pub connect_sql: Option<&'static str>,
    /// Returns the session's id on the server: one row, one value.
    pub session_sql: &'static str,
}

impl Target {
    /// A Postgres server. `name` is the sessions' application name.
    pub fn postgres(endpoint: &Endpoint, name: &str) -> Self {
        let host = match &endpoint.host {
            Host::Unix(directory) => directory.display().to_string(),
            Host::Tcp(address) => address.to_string(),
        };
        Self {
            driver_name: "pgsql",
            options: vec![
                format!("--pgsql-host={host}"),
                format!("--pgsql-port={}", endpoint.port),
                format!("--pgsql-user={}", endpoint.user),
                format!("--pgsql-db={}", endpoint.database),
            ],
            password: endpoint.password.clone(),
            // Otherwise libpq would encrypt TCP if the server offers it.
            environment: vec![("PGSSLMODE", "disable".to_owned()), ("PGAPPNAME", name.to_owned())],
            connect_sql: None,
            session_sql: "SELECT pg_backend_pid()",
        }
    }

    /// A MySQL or MariaDB server.
    pub fn mysql(endpoint: &Endpoint) -> Self {
        let mut options = match &endpoint.host {
            Host::Unix(directory) => vec![format!("--mysql-socket={}/mysqld.sock", directory.display())],
            Host::Tcp(address) => {
                vec![format!("--mysql-host={address}"), format!("--mysql-port={}", endpoint.port)]
            }
        };
        options.extend([
            format!("--mysql-user={}", endpoint.user),
            format!("--mysql-db={}", endpoint.database),
            "--mysql-ssl=off".to_owned(),
            // sysbench's three defaults, and duplicate keys: two clients may delete and insert the same row.
            "--mysql-ignore-errors=1213,1020,1205,1062".to_owned(),
        ]);
        Self {
            driver_name: "mysql",
            options,
            password: endpoint.password.clone(),
            environment: Vec::new(),
            // As our own clients do. With the library's default, utf8mb4, the server would convert every
            // text.
            connect_sql: Some("SET NAMES latin1"),
            session_sql: "SELECT CONNECTION_ID()",
        }
    }
}
