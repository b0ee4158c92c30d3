//! The server that sysbench is sent to, in the words of sysbench's own drivers.

use rqps_wire::{Endpoint, Host};

/// How sysbench reaches a server.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name of sysbench's driver: `pgsql` or `mysql`.
    pub driver_name: &'static str,
    /// Options that lead it to the server.
    pub options: Vec<String>,
    /// Not among the options: everybody sees them in the list of processes.
    pub password: String,
    pub environment: Vec<(&'static str, String)>,
    /// What a session runs before anything else; it returns no rows.
    pub connect_sql: Option<&'static str>,
    /// A query for the session's own number on the server: one row, one value.
    pub session_sql: &'static str,
}

impl Target {
    /// A Postgres server, whose sessions are called `name`.
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
            // Without this, libpq would encrypt TCP where the server offers it.
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
            // sysbench's own three, and the duplicate key that two clients meet who delete and insert the same row.
            "--mysql-ignore-errors=1213,1020,1205,1062".to_owned(),
        ]);
        Self {
            driver_name: "mysql",
            options,
            password: endpoint.password.clone(),
            environment: Vec::new(),
            // As our own clients: the library's own is utf8mb4, and the server would convert every text.
            connect_sql: Some("SET NAMES latin1"),
            session_sql: "SELECT CONNECTION_ID()",
        }
    }
}
