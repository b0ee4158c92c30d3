//! Database servers: configs, data directories, start and stop.
//!
//! Code for all DBMSs is here; each DBMS has a folder for its own.

mod applied;
mod config;
mod configs;
mod data_dir;
mod empty;
mod environment;
mod error;
mod freeze;
mod host;
mod init;
pub mod instrument;
mod launch;
mod leftover;
mod log;
mod memory;
mod mysql;
mod new_data_dir;
mod option;
mod outside;
mod postgres;
mod private;
mod process;
mod rocksdb;
mod server;
mod snapshot;
mod spec;
mod system;
mod systems;
#[cfg(feature = "testing")]
pub mod testing;
mod unknown;
mod wrong_lines;

pub use config::{Config, ShippedConfig, ValueBefore, cache_bytes, log_bytes, session_bytes};
pub use configs::{
    config_from_text, config_in_part, config_with, is_file, load_config, load_config_for, refused_lines,
    shipped_configs, text_with_files,
};
pub use error::{Error, Result, Why};
pub use host::HostLimits;
pub use init::data_key;
pub use instrument::{Instrument, ThreadCounter};
pub use leftover::remove_data_dir;
pub use mysql::is_of_a_plugin;
pub use process::exists as process_exists;
pub use server::{Server, ServerHandle};
pub use snapshot::{Copied, HowCopied, restore, snapshot};
pub use spec::{Applied, DATABASE, ServerEndpoint, ServerSpec, USER};
pub use systems::is_damage;
pub use unknown::{
    Misspelled, UnknownOption, adjusted_options, cannot_be_set, defaults_of, known_among, lacking,
    misspelled, refused_options, unknown_options,
};
