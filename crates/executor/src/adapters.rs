//! Which adapter a DBMS has.

use crate::adapter::Adapter;
use crate::mysql::Mysql;
use crate::postgres::Postgres;
use rqps_model::Dbms;

pub(crate) fn adapter(dbms: Dbms) -> &'static dyn Adapter {
    match dbms {
        Dbms::Postgres => &Postgres,
        Dbms::Mysql | Dbms::Mariadb => &Mysql,
    }
}
