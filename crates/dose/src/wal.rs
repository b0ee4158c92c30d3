//! Records in the server's own write-ahead log, written by the server's own functions.

use crate::ffi;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Longest record, so that its content can be a constant.
pub const BYTES_MAX: u64 = 65_536;
/// Content of every record.
static CONTENT: [u8; BYTES_MAX as usize] = [b'r'; BYTES_MAX as usize];

/// `LogLogicalMessage(prefix, message, size, transactional, flush)`; before Postgres 17 without the last, which a
/// function that does not expect it does not see. Returns the position after the record.
type LogMessage = extern "C" fn(*const c_char, *const c_char, usize, bool, bool) -> u64;
/// `XLogFlush(position)`.
type Flush = extern "C" fn(u64);
/// `RecoveryInProgress()`.
type InRecovery = extern "C" fn() -> bool;

static LOG_MESSAGE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static FLUSH: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static IN_RECOVERY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static DATABASE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

const WANTED: [(&CStr, &AtomicPtr<c_void>); 4] = [
    (c"LogLogicalMessage", &LOG_MESSAGE),
    (c"XLogFlush", &FLUSH),
    (c"RecoveryInProgress", &IN_RECOVERY),
    (c"MyDatabaseId", &DATABASE),
];

/// Finds the server's functions. Programs that start the server, a shell or an instrumenting one, have none of them
/// and receive no message.
pub fn find() {
    for (name, place) in WANTED {
        place.store(ffi::symbol(name), Relaxed);
    }
}

/// Ends a process that should write log and cannot.
fn insist() {
    for (name, place) in WANTED {
        if place.load(Relaxed).is_null() {
            let name = name.to_bytes();
            ffi::refuse(&[b"dose: the program does not export ", name, b", so its WAL cannot be written\n"]);
        }
    }
}

/// Writes a short record and flushes the log up to it.
pub fn flush() {
    let Some(end) = write(8) else {
        return;
    };
    // SAFETY: `find` took the address from the server's symbol of this name, whose signature is that of `Flush` in
    // every release from 9.6 to 18.
    let flush = unsafe { core::mem::transmute::<*mut c_void, Flush>(FLUSH.load(Relaxed)) };
    flush(end);
}

/// Writes a record of this many bytes and returns the position after it; none before the session is in its database.
///
/// Where a session waits for its client it holds no lock of the server and is in no critical section, so that it may
/// write log there. Before it has a database it may have no place among the server's processes yet, and the server's
/// locks need one.
pub fn write(bytes: usize) -> Option<u64> {
    insist();
    // SAFETY: `find` took the address from the server's variable of this name, an unsigned 32-bit number that the
    // session's one thread writes to.
    let database = unsafe { *DATABASE.load(Relaxed).cast::<u32>() };
    // SAFETY: `find` took the addresses from the server's symbols of these names; for the signatures see the types.
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
