//! The only place in this crate that maps a DBMS to its implementation.

use rqps_model::Dbms;

use crate::mysql::Mysql;
use crate::postgres::Postgres;
use crate::rocksdb::Rocksdb;
use crate::system::System;

/// Whether a log or an error of a DBMS says that its data are damaged.
pub fn is_damage(dbms: Dbms, text: &str) -> bool {
    dbms != Dbms::Directory && get(dbms).damage().iter().any(|sign| text.contains(sign))
}

pub(crate) fn get(dbms: Dbms) -> &'static dyn System {
    match dbms {
        Dbms::Postgres => &Postgres,
        Dbms::Mysql => &Mysql { dbms: Dbms::Mysql },
        Dbms::Mariadb => &Mysql { dbms: Dbms::Mariadb },
        Dbms::Rocksdb => &Rocksdb,
        Dbms::Directory => unreachable!("a server on a directory: check `Dbms::speaks_sql` first"),
    }
}
