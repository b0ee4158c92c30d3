//! Builds of databases: obtained, checked, unpacked, cached, compiled, identified; and what everything stands on that
//! runs their programs: the user, directories, children that end with rqps.
//!
//! DBMS-neutral files lie here, what differs between DBMSs in a folder for each.

mod build;
mod cache;
mod client;
mod cpus;
mod digest;
pub mod dirs;
mod error;
mod family;
pub mod guard;
pub mod held_dir;
mod identity;
mod libraries;
pub mod log_tail;
pub mod mysql;
mod obtain;
pub mod plain_file;
mod postgres;
mod product;
mod products;
mod source;
mod unpack;
mod user;

pub use build::{Address, Build, Published};
pub use cpus::{CpuSet, Pinned, pin_this_thread};
pub use digest::sha256_hex;
pub use dirs::Dirs;
pub use error::{Error, Result};
pub use guard::run_shim_if_asked;
pub use obtain::{
    check_known, compile, install, install_from, list_builds, published, resolve, resolve_watched,
};
pub use plain_file::read_text;
pub use source::log_of;
pub use source::watch::{BuildProgress, FETCHING, Watch};
pub use user::{ServerUser, server_user};
