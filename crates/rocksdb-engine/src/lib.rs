//! The engine process of RocksDB: loads one library, opens one database, and runs client threads in it.
//!
//! An embedded engine has no server. So rqps starts itself again with a hidden first argument, one process
//! for each library, and that process is measured like a server: it can be stopped, limited, profiled and killed, and
//! its work is charged to it. rqps speaks with it over a socket ([`protocol`]); operations never cross it.

mod api;
mod client;
mod counters;
mod database;
mod describe;
mod entries;
mod error;
mod gate;
mod latencies;
mod program;
pub mod protocol;
mod serve;
mod window;

use std::ffi::OsString;
use std::path::PathBuf;

pub use error::{Error, Result};

/// Call early in `main`. In the engine process, whose first argument is `own`, it does the process's work and returns
/// its exit code.
pub fn run_if_asked(own: &str) -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != own) {
        return None;
    }
    let outcome = run(&arguments.collect::<Vec<_>>());
    Some(match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    })
}

/// `serve LIBRARY DATA SOCKET OPTIONS`, `describe LIBRARY DIRECTORY` or `knows LIBRARY OPTION`. The working directory
/// becomes that of the data, by which the process is recognised.
fn run(arguments: &[OsString]) -> Result<()> {
    let path = |at: usize| PathBuf::from(&arguments[at]);
    match arguments.first().and_then(|verb| verb.to_str()).map(|verb| (verb, arguments.len())) {
        Some(("serve", 5)) => {
            let data = path(2);
            std::env::set_current_dir(&data).map_err(Error::io(format!("enter {}", data.display())))?;
            serve::Engine::run(&path(1), &data.join(DATABASE), &path(3), &arguments[4].to_string_lossy())
        }
        Some(("describe", 3)) => {
            print!("{}", describe::library(&path(1), &path(2))?);
            Ok(())
        }
        Some(("knows", 3)) => {
            println!("{}", describe::knows(&path(1), &arguments[2].to_string_lossy())?);
            Ok(())
        }
        _ => Err(Error::Misuse("for use by rqps itself only".to_owned())),
    }
}

/// Directory of the database in a data directory.
const DATABASE: &str = "db";
