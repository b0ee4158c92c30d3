//! The address of a running server: from the arguments, otherwise from the environment variables of its DBMS's
//! programs, otherwise from those that `rqps serve` sets for its command.

use crate::Usage;
use crate::args::DriveArgs;
use rqps_model::Dbms;
use rqps_wire::{Endpoint, Host};
use std::env::var;
use std::net::IpAddr;
use std::path::Path;

/// File name of the Unix socket of MySQL and MariaDB; their clients take the full path.
const MYSQL_SOCKET: &str = "mysqld.sock";

/// Environment variables with a server's address. Empty if the DBMS's programs have none.
struct Names {
    host: &'static str,
    port: &'static str,
    user: &'static str,
    password: &'static str,
    database: &'static str,
}

const POSTGRES: Names =
    Names { host: "PGHOST", port: "PGPORT", user: "PGUSER", password: "PGPASSWORD", database: "PGDATABASE" };
const MYSQL: Names =
    Names { host: "MYSQL_HOST", port: "MYSQL_TCP_PORT", user: "", password: "MYSQL_PWD", database: "" };
const SERVE: Names = Names {
    host: "RQPS_HOST",
    port: "RQPS_PORT",
    user: "RQPS_USER",
    password: "RQPS_PASSWORD",
    database: "RQPS_DATABASE",
};

/// Names the DBMS in the environment set by `rqps serve`.
const DBMS: &str = "RQPS_DBMS";

/// The environment of a command that uses a server: for programs of its DBMS and `rqps drive`, and the server's PID.
pub(crate) fn environment(dbms: Dbms, at: &Endpoint, pid: u32) -> Vec<(&'static str, String)> {
    let host = match &at.host {
        Host::Unix(dir) => dir.display().to_string(),
        Host::Tcp(ip) => ip.to_string(),
    };
    let mut all = vec![(DBMS, dbms.name().to_owned()), ("RQPS_SERVER_PID", pid.to_string())];
    for names in [names(dbms), &SERVE] {
        let values = [
            (names.host, &host),
            (names.port, &at.port.to_string()),
            (names.user, &at.user),
            (names.password, &at.password),
            (names.database, &at.database),
        ]
        .map(|(name, value)| (name, value.clone()));
        all.extend(values.into_iter().filter(|(name, _)| !name.is_empty()));
    }
    if let (Dbms::Mysql | Dbms::Mariadb, Host::Unix(dir)) = (dbms, &at.host) {
        all.retain(|(name, _)| *name != MYSQL.host);
        all.push(("MYSQL_UNIX_PORT", dir.join(MYSQL_SOCKET).display().to_string()));
    }
    all
}

fn names(dbms: Dbms) -> &'static Names {
    match dbms {
        Dbms::Postgres => &POSTGRES,
        Dbms::Mysql | Dbms::Mariadb => &MYSQL,
        Dbms::Rocksdb | Dbms::Directory => &SERVE,
    }
}

/// The DBMS of the server for `drive`.
pub(crate) fn dbms(args: &DriveArgs) -> Result<Dbms, Usage> {
    match args.dbms.clone().or_else(|| env_value(DBMS)) {
        Some(name) => {
            let dbms: Dbms = name.parse().map_err(|error| Usage(format!("--dbms: {error}")))?;
            require_sql(dbms).map(|()| dbms)
        }
        None => Ok(Dbms::Postgres),
    }
}

/// Refuses an engine without a server.
pub(crate) fn require_sql(dbms: Dbms) -> Result<(), Usage> {
    if dbms.speaks_sql() {
        return Ok(());
    }
    Err(Usage(format!("{dbms} has no server: only `rqps run` measures it")))
}

pub(crate) fn endpoint(args: &DriveArgs, dbms: Dbms) -> Result<Endpoint, Usage> {
    let names = names(dbms);
    let lookup = |argument: &Option<String>, name: &str, serve: &str| {
        argument.clone().or_else(|| env_value(name)).or_else(|| env_value(serve))
    };
    let host =
        args.host.clone().or_else(|| socket_dir(dbms)).or_else(|| lookup(&None, names.host, SERVE.host));
    let missing = |what: &str| {
        Usage(format!(
            "no server address: give --{what}, or run this under `rqps serve`, which sets it in the environment"
        ))
    };
    let host = host.ok_or_else(|| missing("host"))?;
    let port = match lookup(&args.port.map(|port| port.to_string()), names.port, SERVE.port) {
        Some(text) => text.parse().map_err(|_| Usage(format!("--port {text} is not a port")))?,
        None => match dbms {
            Dbms::Postgres => 5432,
            Dbms::Mysql | Dbms::Mariadb => 3306,
            Dbms::Rocksdb | Dbms::Directory => 0,
        },
    };
    Ok(Endpoint {
        host: address(&host).map_or_else(|| Host::Unix(host.into()), Host::Tcp),
        port,
        user: lookup(&args.user, names.user, SERVE.user).ok_or_else(|| missing("user"))?,
        password: lookup(&args.password, names.password, SERVE.password).unwrap_or_default(),
        database: lookup(&args.database, names.database, SERVE.database).unwrap_or_else(|| match dbms {
            Dbms::Postgres => "postgres".to_owned(),
            Dbms::Mysql | Dbms::Mariadb => "test".to_owned(),
            Dbms::Rocksdb | Dbms::Directory => String::new(),
        }),
    })
}

/// The socket's directory, from the environment variable of MySQL and MariaDB clients.
fn socket_dir(dbms: Dbms) -> Option<String> {
    let socket = env_value("MYSQL_UNIX_PORT").filter(|_| dbms != Dbms::Postgres)?;
    let path = Path::new(&socket).parent().filter(|_| Path::new(&socket).ends_with(MYSQL_SOCKET))?;
    Some(path.display().to_string())
}

fn env_value(name: &str) -> Option<String> {
    if name.is_empty() { None } else { var(name).ok() }
}

/// The IP address, if it is one.
fn address(host: &str) -> Option<IpAddr> {
    match host {
        "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
        host => host.parse().ok(),
    }
}
