//! The only place in this crate that maps a DBMS to its implementation.

use rqps_model::Dbms;

use crate::file_system::FileSystem;
use crate::mysql::Mysql;
use crate::postgres::Postgres;
use crate::product::Product;
use crate::rocksdb::Rocksdb;

pub(crate) fn get(dbms: Dbms) -> &'static dyn Product {
    match dbms {
        Dbms::Postgres => &Postgres,
        Dbms::Mysql => &Mysql { dbms: Dbms::Mysql },
        Dbms::Mariadb => &Mysql { dbms: Dbms::Mariadb },
        Dbms::Rocksdb => &Rocksdb,
        Dbms::Directory => &FileSystem,
    }
}
