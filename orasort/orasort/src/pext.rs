//! Taking the bits of a mask out of a number: one instruction where the processor has it and is quick at it.

/// The bits of `from` that `mask` has, moved together at the bottom. `FAST` uses the processor's instruction.
///
/// # Safety
/// `FAST` only if [`is_fast`] says so.
#[inline(always)]
pub(crate) unsafe fn extract<const FAST: bool>(from: u64, mask: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if FAST {
        // SAFETY: the caller promised that the processor has it.
        return unsafe { core::arch::x86_64::_pext_u64(from, mask) };
    }
    extract_runs(from, mask)
}

/// As `extract`, one run of bits after the other.
fn extract_runs(from: u64, mask: u64) -> u64 {
    let (mut taken, mut left) = (0, mask);
    while left != 0 {
        let top = left.leading_zeros();
        let run = (left << top).leading_ones();
        taken = taken << (run - 1) << 1 | (from << top) >> (64 - run);
        left = left << top << (run - 1) << 1 >> (run - 1) >> 1 >> top;
    }
    taken
}

/// Whether the instruction is there and quick. AMD's before family 19h (Zen 3) have it and take as long as a miss of
/// the cache.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) fn is_fast() -> bool {
    use core::sync::atomic::{AtomicU8, Ordering};
    const UNKNOWN: u8 = 2;
    // Under a hypervisor the question takes longer than a small sort.
    static FAST: AtomicU8 = AtomicU8::new(UNKNOWN);
    match FAST.load(Ordering::Relaxed) {
        UNKNOWN => {
            let fast = ask();
            FAST.store(u8::from(fast), Ordering::Relaxed);
            fast
        }
        known => known == 1,
    }
}

/// Nowhere else is it used.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn is_fast() -> bool {
    false
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn ask() -> bool {
    // Before Rust 1.94 the question counted as unsafe.
    #[allow(unused_unsafe)]
    let cpuid = |leaf: u32| {
        // SAFETY: every processor of this architecture answers it.
        unsafe { core::arch::x86_64::__cpuid_count(leaf, 0) }
    };
    let vendor = cpuid(0);
    if vendor.eax < 7 || cpuid(7).ebx >> 8 & 1 == 0 {
        return false;
    }
    let is_amd = vendor.ebx == u32::from_le_bytes(*b"Auth");
    let version = cpuid(1).eax;
    let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    !is_amd || family >= 0x19
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways take the same bits.
    #[test]
    fn both_ways_agree() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        let masks = [0, !0, 1, 1 << 63, 0x0f0f_0f0f_0f0f_0f0f, !0 << 9];
        for case in 0..200 {
            let from = next();
            let mask = masks.get(case).copied().unwrap_or_else(|| next() & next());
            let bits = (0..64).rev().filter(|bit| mask >> bit & 1 == 1);
            let expected = bits.fold(0, |taken: u64, bit| taken << 1 | from >> bit & 1);
            assert_eq!(extract_runs(from, mask), expected, "{from:x} {mask:x}");
            if is_fast() {
                // SAFETY: it is.
                assert_eq!(unsafe { extract::<true>(from, mask) }, expected, "{from:x} {mask:x}");
            }
        }
    }
}
