//! Sorts of strings in C++, called from Rust.

use std::ffi::c_int;

/// A sort of strings in C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Multikey quicksort with eight cached bytes.
    Cached = 0,
    /// tlx's `sort_strings`: radix sort, multikey quicksort below.
    TlxRadix = 1,
    /// tlx's sample sort (S5), multikey quicksort with caching below 65,536.
    TlxSample = 2,
    /// tlx's multikey quicksort with caching alone.
    TlxCached = 3,
}

unsafe extern "C" {
    fn orasort_bench_sort(algorithm: c_int, strings: *mut *const u8, n: usize) -> u64;
}

/// Sorts strings, given by where each begins in `bytes` and ended by a zero, and tells the CPU time in ns.
/// None if the sort was not compiled.
///
/// # Panics
/// When a string begins behind `bytes`, or those do not end with a zero.
pub fn sort(algorithm: Sort, bytes: &[u8], starts: &mut [usize]) -> Option<u64> {
    assert!(starts.is_empty() || bytes.last() == Some(&0), "the last string has no end");
    let mut strings: Vec<*const u8> = starts.iter().map(|start| bytes[*start..].as_ptr()).collect();
    // SAFETY: the function permutes `strings`, and reads each up to a zero, which there is: at the latest that at the
    // end of `bytes`.
    let cpu_ns = unsafe { orasort_bench_sort(algorithm as c_int, strings.as_mut_ptr(), strings.len()) };
    for (start, string) in starts.iter_mut().zip(strings) {
        *start = string.addr() - bytes.as_ptr().addr();
    }
    (cpu_ns > 0).then_some(cpu_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_in_order() {
        let bytes = b"pear\0apple\0fig\0apple pie\0";
        for algorithm in [Sort::Cached, Sort::TlxRadix, Sort::TlxSample, Sort::TlxCached] {
            let mut starts = [0, 5, 11, 15];
            if sort(algorithm, bytes, &mut starts).is_some() {
                assert_eq!(starts, [5, 15, 11, 0], "{algorithm:?}");
            } else {
                assert_ne!(algorithm, Sort::Cached);
            }
        }
    }
}
