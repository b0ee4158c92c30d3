//! What a MySQL or MariaDB server tells about itself, MySQL 5.6 to 9.7 and MariaDB 10.2 to 11.8.

pub(crate) mod roles;
