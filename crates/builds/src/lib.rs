//! Database builds: finds, verifies, unpacks, caches, compiles and identifies them. Also what running their
//! programs needs: the user, the directories, and child processes that exit with rqps.
//!
//! Each DBMS has its own folder.

mod build;
mod cache;
mod client;
mod cpus;
mod digest;
mod directory;
pub mod dirs;
mod error;
mod family;
mod file_system;
pub mod guard;
pub mod held_dir;
mod identity;
mod libraries;
pub mod log_tail;
mod maven;
pub mod mysql;
mod obtain;
mod page_cache;
pub mod plain_file;
mod postgres;
mod product;
mod products;
pub mod rocksdb;
mod source;
mod unpack;
mod user;

pub use build::{Address, Build, Published, Release};
pub use cache::kept_beside;
pub use cpus::{CpuSet, Pinned, pin_this_thread};
pub use digest::sha256_hex;
pub use dirs::Dirs;
pub use error::{Error, Result};
pub use file_system::is_in_memory;
pub use guard::run_shim_if_asked;
pub use obtain::{
    check_known, check_published, check_sources, compile, copies, foresee, install, install_from,
    list_builds, published, releases, resolve, resolve_watched,
};
pub use page_cache::drop_from_page_cache;
pub use plain_file::{file_meant, open_file, read_text, with_file_meant};
pub use source::flavour::shipped_flavours;
pub use source::git::{Commit, commits};
pub use source::log_of;
pub use source::watch::{BuildProgress, FETCHING, Watch};
pub use user::{ServerUser, server_user};
