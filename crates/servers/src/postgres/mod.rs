//! PostgreSQL, 9.6 to 18.

pub(crate) mod conf;
pub(crate) mod directory;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod programs;
pub(crate) mod registry;
pub(crate) mod settings;
pub(crate) mod shipped;
pub(crate) mod start;
pub(crate) mod version;
