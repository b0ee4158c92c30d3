//! The adapter of each DBMS.

use crate::sql::adapter::Adapter;
use crate::sql::mysql::Mysql;
use crate::sql::postgres::Postgres;
use rqps_model::Dbms;

pub(crate) fn adapter(dbms: Dbms) -> &'static dyn Adapter {
    match dbms {
        Dbms::Postgres => &Postgres,
        Dbms::Mysql | Dbms::Mariadb => &Mysql,
        Dbms::Rocksdb => unreachable!("SQL for an engine that has none: check `Dbms::speaks_sql` first"),
        Dbms::Directory => unreachable!("SQL for a directory: check `Dbms::speaks_sql` first"),
    }
}
