//! Makes a server slower by a known dose: a library for `LD_PRELOAD` that does extra work for each message received.
//!
//! It stands in for `recv`, through which every release of Postgres reads what a client sends; a client that sends
//! its statement in one piece makes one message of it. Each call that brought bytes in from a stream socket counts
//! as a message and is followed by the dose:
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
//! What is not given is 0. A server with all doses 0 takes the same path through this library and does nothing there:
//! compare a dosed server with that. A dose that cannot be read ends the program at its start, since a server that
//! silently lacks its dose would be worse than none.
//!
//! The log is written by the server itself (`LogLogicalMessage`, not transactional, and `XLogFlush`, which programs
//! of Postgres export for their extensions), so that it counts it like any other; recovery passes such records by.
//! Signal handlers and threads may call it: it takes no lock, allocates nothing and leaves `errno` as `recv` set
//! it.

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
/// Bytes of log per message.
static WAL_BYTES: AtomicU64 = AtomicU64::new(0);
/// Messages per forced write of the log.
static FSYNC_EVERY: AtomicU64 = AtomicU64::new(0);
/// Microseconds of a stall.
static STALL_US: AtomicU64 = AtomicU64::new(0);
/// Messages per stall.
static STALL_EVERY: AtomicU64 = AtomicU64::new(0);
/// Messages so far, for what comes with some of them.
static MESSAGES: AtomicU64 = AtomicU64::new(0);
/// The descriptor last seen to be a stream socket, so that the kernel is asked once per session and not per message.
static STREAM: AtomicI32 = AtomicI32::new(-1);

/// The dynamic linker calls what stands in this section before the program's `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    settings::read();
    wal::find();
}

/// In place of the C library's: receives, then takes the dose.
///
/// # Safety
/// As `recv(2)`: `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(socket: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: the caller's promise about `buffer` is passed on; POSIX defines `recv` as this call without an address.
    let received =
        unsafe { ffi::recvfrom(socket, buffer, length, flags, core::ptr::null_mut(), core::ptr::null_mut()) };
    if received > 0 {
        let errno = ffi::errno();
        if is_stream(socket) {
            take_dose();
        }
        ffi::set_errno(errno);
    }
    received
}

/// Older servers receive their own statistics over a datagram socket: those are nobody's messages.
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

fn take_dose() {
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
