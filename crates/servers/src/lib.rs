//! Database servers: obtaining builds, applying configs, init, start and stop.
//!
//! DBMS-neutral files lie here, what differs between DBMSs in a folder for each.

mod applied;
pub mod build;
mod cache;
mod client;
pub mod config;
pub mod cpus;
mod data_dir;
mod dbms;
pub mod dirs;
mod environment;
pub mod error;
pub mod family;
mod freeze;
pub mod guard;
mod held_dir;
pub mod host;
mod identity;
mod init;
pub mod instrument;
mod launch;
mod libraries;
mod log;
mod memory;
mod mysql;
mod option;
mod plain_file;
mod postgres;
mod process;
pub mod server;
pub mod snapshot;
pub mod source;
pub mod spec;
#[cfg(feature = "testing")]
pub mod testing;
mod unpack;
pub mod user;

pub use build::{
    Address, Build, Published, check_known, install, install_from, list_builds, published, resolve,
    resolve_watched,
};
pub use config::{
    Config, ShippedConfig, ValueBefore, config_from_text, load_config, load_config_for, shipped_configs,
};
pub use cpus::{CpuSet, Pinned, pin_this_thread};
pub use data_dir::{reap_leftover, remove_data_dir};
pub use dirs::Dirs;
pub use error::{Error, Result};
pub use family::Family;
pub use guard::run_shim_if_asked;
pub use host::HostLimits;
pub use instrument::{Instrument, ThreadCounter};
pub use plain_file::read_text;
pub use server::{DATABASE, Onlooker, Server, USER, data_key};
pub use snapshot::{Copied, HowCopied, restore, restore_unless, snapshot, snapshot_unless};
pub use spec::{Applied, ServerEndpoint, ServerSpec};
pub use user::{ServerUser, server_user};
