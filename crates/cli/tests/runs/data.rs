//! Access to the data of a run, during it or after it with `--keep-data`.

use std::path::{Path, PathBuf};

use rqps_builds::Dirs;
use rqps_model::{BuildSpec, Dbms};
use rqps_servers::{Server, ServerSpec, load_config};
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Host};

use crate::bench::{Bench, wait_for};

/// Columns of a table, for checksums.
pub const ALL_COLUMNS: &str = "id, k, c, pad";

/// A server on an arm's kept data, and its DBMS.
pub fn kept(bench: &Bench, arm: &str) -> (Server, Dbms) {
    let run = bench.run();
    let stored = run.arm(arm).unwrap();
    let build: BuildSpec = format!("{}-{}", stored.dbms, stored.build_version).parse().unwrap();
    let mut roots = std::fs::read_dir(bench.work()).unwrap().flatten().map(|entry| entry.path());
    let is_of_run =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&run.folder.name());
    let root = roots.find(is_of_run).expect("the run has data");
    let config = run.folder.path().join("configs").join(format!("{arm}.conf"));
    let spec = ServerSpec {
        config: load_config(build.dbms, "", config.to_str().unwrap()).unwrap(),
        build: rqps_builds::resolve(&Dirs::from_env(), &build).unwrap(),
        data_dir: root.join(arm).join("data"),
        log_dir: bench.path().join("kept-logs"),
        clients_max: 10,
        tcp: false,
        env: std::collections::BTreeMap::new(),
        cpus: None,
        instrument: None,
        memory_bytes_max: None,
    };
    (Server::start(&spec).unwrap(), build.dbms)
}

/// A Postgres server on an arm's kept data.
pub struct Kept {
    connection: Connection,
    // Dropped after the connection.
    _server: Server,
}

impl Kept {
    pub fn open(bench: &Bench, arm: &str) -> Self {
        let (server, _) = kept(bench, arm);
        let endpoint = rqps_executor::server::endpoint(&server);
        Self { connection: Connection::connect(&endpoint, "test").unwrap(), _server: server }
    }

    /// The single value of a query.
    #[track_caller]
    pub fn value(&mut self, sql: &str) -> String {
        let table = self.connection.query(sql).unwrap();
        table.value().unwrap_or("null").to_owned()
    }

    /// A checksum of these columns of all rows where `condition` holds, in the order of the columns.
    pub fn checksum(&mut self, columns: &str, condition: &str) -> String {
        self.value(&format!(
            "SELECT count(*) || ' rows, ' || md5(string_agg(concat_ws(':', {columns}), ',' ORDER BY {columns})) \
             FROM sbtest1 WHERE {condition}"
        ))
    }
}

/// The data directory of the run in progress; `None` until a server is running.
fn data_at_work(bench: &Bench) -> Option<PathBuf> {
    let runs = std::fs::read_dir(bench.work()).ok()?.flatten();
    let arms = runs.flat_map(|run| std::fs::read_dir(run.path()).into_iter().flatten().flatten());
    let data = arms.map(|arm| arm.path().join("data"));
    let mut data = data.filter(|data| data.join("postmaster.pid").exists());
    data.next()
}

/// The password of the server with this data directory.
pub fn password_on(data: &Path) -> Option<String> {
    std::fs::read_to_string(data.with_extension("password")).ok()
}

/// The password of the server of the run in progress.
#[track_caller]
pub fn password(bench: &Bench) -> String {
    wait_for("a server at work", || password_on(&data_at_work(bench)?))
}

/// A connection to the server of the run in progress.
#[track_caller]
pub fn connect(bench: &Bench) -> Connection {
    wait_for("a server that takes sessions", || {
        let data = data_at_work(bench)?;
        let endpoint = Endpoint {
            host: Host::Unix(data.with_extension("sock")),
            port: 5432,
            user: rqps_servers::USER.to_owned(),
            password: password_on(&data)?,
            database: rqps_servers::DATABASE.to_owned(),
        };
        Connection::connect(&endpoint, "test").ok()
    })
}
