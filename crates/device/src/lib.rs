//! Directories as systems: their file system and device take the place of a server, and fio is the driver of the
//! benchmark `sync-latency`.
//!
//! A directory has no process. Its instance owns a file in it, which fio fills and writes to, and which is removed
//! when the instance ends, also if rqps is killed.

mod driver;
mod file;
mod fio;
mod output;
mod reservation;
mod system;

pub use driver::FIO;
pub use system::DIRECTORY;
