//! The few C library functions that are needed; avoids any dependency.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

pub const SOCK_STREAM: c_int = 1;
const SOL_SOCKET: c_int = 1;
const SO_TYPE: c_int = 3;
const O_RDONLY_CLOEXEC: c_int = 0o2_000_000;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" {
    pub fn recvfrom(
        socket: c_int,
        buffer: *mut c_void,
        length: usize,
        flags: c_int,
        address: *mut c_void,
        address_length: *mut u32,
    ) -> isize;
    fn getsockopt(socket: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut u32) -> c_int;
    fn __errno_location() -> *mut c_int;
    fn nanosleep(request: *const Timespec, remaining: *mut Timespec) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn read(file: c_int, buffer: *mut c_void, length: usize) -> isize;
    fn write(file: c_int, buffer: *const c_void, length: usize) -> isize;
    fn close(file: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The thread's `errno`.
pub fn errno() -> c_int {
    // SAFETY: the C library returns the address of this thread's own `errno`, valid as long as the thread.
    unsafe { *__errno_location() }
}

pub fn set_errno(errno: c_int) {
    // SAFETY: as in `errno`; the variable is thread-local, so nothing else writes to it concurrently.
    unsafe { *__errno_location() = errno }
}

/// The type of a socket; `None` if the descriptor is not a socket.
pub fn socket_type(socket: c_int) -> Option<c_int> {
    let mut kind: c_int = 0;
    let mut length = size_of::<c_int>() as u32;
    // SAFETY: `kind` has the given length, and both live until the call returns.
    let failed =
        unsafe { getsockopt(socket, SOL_SOCKET, SO_TYPE, (&raw mut kind).cast(), &raw mut length) } != 0;
    (!failed).then_some(kind)
}

/// Sleeps at least this long, even if interrupted by signals.
pub fn sleep_us(microseconds: u64) {
    let mut left = Timespec {
        seconds: (microseconds / 1_000_000) as i64,
        nanoseconds: (microseconds % 1_000_000 * 1000) as c_long,
    };
    let place = &raw mut left;
    // SAFETY: request and remaining may be the same variable, which lives until the loop ends. The call fails
    // if a signal arrives.
    while unsafe { nanosleep(place, place) } != 0 {}
}

/// The value of an environment variable.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: `name` ends in 0. This is called before `main`, when nothing changes the environment, and the
    // result is only used before then.
    let value = unsafe { getenv(name.as_ptr()) };
    // SAFETY: a non-null result is a string of the environment, which ends in 0.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Reads a file into `buffer` and returns what was read, at most its length; `None` if it cannot be read.
pub fn read_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: `path` ends in 0.
    let file = unsafe { open(path.as_ptr(), O_RDONLY_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: `buffer` has the given length, and the descriptor was opened above and is not used again.
    let length = unsafe {
        let length = read(file, buffer.as_mut_ptr().cast(), buffer.len());
        close(file);
        length
    };
    buffer.get(..usize::try_from(length).ok()?)
}

/// Writes a message to standard error, which is the server's log, and ends the process.
pub fn exit_with(texts: &[&[u8]]) -> ! {
    for text in texts {
        // SAFETY: `text` has the given length. If the write fails there is nowhere to report it.
        unsafe { write(2, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: it ends the process and has no preconditions.
    unsafe { _exit(127) }
}

/// The address of a function or variable exported by the program or one of its libraries; null if none
/// exports it.
pub fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a null handle searches in the default order; `name` ends in 0.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) }
}
