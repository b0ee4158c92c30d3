//! Slows down a server by a known dose: a library for `LD_PRELOAD` that does extra work for each message
//! received.
//!
//! It replaces `recv`, through which every release of Postgres reads from clients; a client that sends its
//! statement in one piece sends one message. Each call that received bytes from a stream socket counts as a
//! message and is followed by the dose:
//!
//! | variable | the dose per message |
//! | --- | --- |
//! | `RQPS_DOSE_SPIN` | this many multiplications, each waiting for the one before: instructions and CPU |
//! | `RQPS_DOSE_SLEEP_US` | a sleep of at least this many microseconds: waiting without CPU |
//! | `RQPS_DOSE_WAL_BYTES` | a record of this many bytes, and its header, in the server's write-ahead log |
//! | `RQPS_DOSE_FSYNC_EVERY` | every Nth message flushes the server's write-ahead log |
//! | `RQPS_DOSE_STALL_US` | the length of a stall, at least this many microseconds |
//! | `RQPS_DOSE_STALL_EVERY` | every Nth message of a session stalls: time that the mean hides |
//! | `RQPS_DOSE_FILE` | a file with the same in lines of `NAME=number`, read instead of the variables |
//!
//! Missing values are 0. A server with all doses 0 takes the same path through this library without extra
//! work: compare a dosed server with that. A dose that cannot be read ends the process at its start, since a
//! server that silently lacks its dose would be worse than none.
//!
//! The log is written by the server itself (`LogLogicalMessage`, not transactional, and `XLogFlush`, which
//! Postgres exports for extensions), so that it is counted like any other log; recovery ignores such records.
//! `recv` may be called by signal handlers and threads: it takes no lock, allocates nothing and preserves
//! `errno`.

mod ffi;
mod settings;
mod wal;

use core::ffi::{c_int, c_void};
use core::hint::black_box;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

/// Multiplications per message.
static SPIN: AtomicU64 = AtomicU64::new(0);
/// Microseconds of sleep per message.
static SLEEP_US: AtomicU64 = AtomicU64::new(0);
/// Bytes of WAL per message.
static WAL_BYTES: AtomicU64 = AtomicU64::new(0);
/// Messages per flush of the WAL.
static FSYNC_EVERY: AtomicU64 = AtomicU64::new(0);
/// Microseconds of a stall.
static STALL_US: AtomicU64 = AtomicU64::new(0);
/// Messages per stall.
static STALL_EVERY: AtomicU64 = AtomicU64::new(0);
/// Messages so far, for doses of every Nth message.
static MESSAGES: AtomicU64 = AtomicU64::new(0);
/// The descriptor that was last found to be a stream socket, to query the kernel once per session instead of
/// per message.
static STREAM: AtomicI32 = AtomicI32::new(-1);

/// The dynamic linker calls the functions in this section before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;

extern "C" fn init() {
    settings::read();
    wal::find();
}

/// Replaces the C library's function: receives, then applies the dose.
///
/// # Safety
/// As for `recv(2)`: `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(socket: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: the caller guarantees `buffer`; POSIX defines `recv` as this call without an address.
    let received =
        unsafe { ffi::recvfrom(socket, buffer, length, flags, core::ptr::null_mut(), core::ptr::null_mut()) };
    if received > 0 {
        let errno = ffi::errno();
        if is_stream(socket) {
            apply_dose();
        }
        ffi::set_errno(errno);
    }
    received
}

/// Older servers receive their own statistics over a datagram socket, which are not clients' messages.
fn is_stream(socket: c_int) -> bool {
    if STREAM.load(Relaxed) == socket {
        return true;
    }
    let is_stream = ffi::socket_type(socket) == Some(ffi::SOCK_STREAM);
    if is_stream {
        STREAM.store(socket, Relaxed);
    }
    is_stream
}

fn apply_dose() {
    let mut x = 1_u64;
    for _ in 0..SPIN.load(Relaxed) {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005));
    }
    let sleep_us = SLEEP_US.load(Relaxed);
    if sleep_us > 0 {
        ffi::sleep_us(sleep_us);
    }
    let wal_bytes = WAL_BYTES.load(Relaxed);
    if wal_bytes > 0 {
        wal::write(wal_bytes as usize);
    }
    let (fsync_every, stall_every) = (FSYNC_EVERY.load(Relaxed), STALL_EVERY.load(Relaxed));
    if fsync_every == 0 && stall_every == 0 {
        return;
    }
    let messages = MESSAGES.fetch_add(1, Relaxed) + 1;
    if fsync_every > 0 && messages.is_multiple_of(fsync_every) {
        wal::flush();
    }
    if stall_every > 0 && messages.is_multiple_of(stall_every) {
        ffi::sleep_us(STALL_US.load(Relaxed));
    }
}
