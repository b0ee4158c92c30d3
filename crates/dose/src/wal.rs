//! Writes records to the server's own write-ahead log with the server's own functions.

use crate::ffi;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Maximum length of a record, so that its content can be a constant.
pub const BYTES_MAX: u64 = 65_536;
/// Content of every record.
static CONTENT: [u8; BYTES_MAX as usize] = [b'r'; BYTES_MAX as usize];

/// `LogLogicalMessage(prefix, message, size, transactional, flush)`. Before Postgres 17 it lacks the last
/// parameter and ignores that argument. Returns the position after the record.
type LogMessage = extern "C" fn(*const c_char, *const c_char, usize, bool, bool) -> u64;
/// `XLogFlush(position)`.
type Flush = extern "C" fn(u64);
/// `RecoveryInProgress()`.
type InRecovery = extern "C" fn() -> bool;

static LOG_MESSAGE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static FLUSH: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static IN_RECOVERY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static DATABASE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

const SYMBOLS: [(&CStr, &AtomicPtr<c_void>); 4] = [
    (c"LogLogicalMessage", &LOG_MESSAGE),
    (c"XLogFlush", &FLUSH),
    (c"RecoveryInProgress", &IN_RECOVERY),
    (c"MyDatabaseId", &DATABASE),
];

/// Looks up the server's functions. Programs that start the server, such as a shell or a profiler, lack them
/// but receive no messages.
pub fn find() {
    for (name, place) in SYMBOLS {
        place.store(ffi::symbol(name), Relaxed);
    }
}

/// Ends a process that has to write log but cannot.
fn require_symbols() {
    for (name, place) in SYMBOLS {
        if place.load(Relaxed).is_null() {
            let name = name.to_bytes();
            ffi::exit_with(&[
                b"dose: the program does not export ",
                name,
                b", so its WAL cannot be written\n",
            ]);
        }
    }
}

/// Writes a short record and flushes the log up to it.
pub fn flush() {
    let Some(end) = write(8) else {
        return;
    };
    // SAFETY: `find` took the address from the server's symbol of this name, whose signature is `Flush` in
    // every release from 9.6 to 18.
    let flush = unsafe { core::mem::transmute::<*mut c_void, Flush>(FLUSH.load(Relaxed)) };
    flush(end);
}

/// Writes a record of this many bytes and returns the position after it; `None` before the session has a
/// database.
///
/// A session that waits for its client holds no lock of the server and is in no critical section, so it may
/// write log. Before it has a database it may lack an entry among the server's processes, which the server's
/// locks need.
pub fn write(bytes: usize) -> Option<u64> {
    require_symbols();
    // SAFETY: `find` took the address from the server's variable of this name, an unsigned 32-bit integer
    // that only the session's single thread writes.
    let database = unsafe { *DATABASE.load(Relaxed).cast::<u32>() };
    // SAFETY: `find` took the addresses from the server's symbols of these names; the types document the
    // signatures.
    let (in_recovery, log_message) = unsafe {
        (
            core::mem::transmute::<*mut c_void, InRecovery>(IN_RECOVERY.load(Relaxed)),
            core::mem::transmute::<*mut c_void, LogMessage>(LOG_MESSAGE.load(Relaxed)),
        )
    };
    if database == 0 || in_recovery() {
        return None;
    }
    let content = &CONTENT[..bytes.min(CONTENT.len())];
    Some(log_message(c"dose".as_ptr(), content.as_ptr().cast(), content.len(), false, false))
}
