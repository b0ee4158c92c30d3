//! What the processor is asked for, and taking the bits of a mask out of a number: one instruction where it has it and
//! is quick at it.

/// Levels of what a processor has: nothing that is asked for, `pext` that is quick, and loads with a mask too.
pub(crate) const PLAIN: u8 = 0;
pub(crate) const PEXT: u8 = 1;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) const MASKED: u8 = 2;

/// The bits of `from` that `mask` has, moved together at the bottom. From `PEXT` on by the processor's instruction.
///
/// # Safety
/// `LEVEL` is at most what [`level`] says.
#[inline(always)]
pub(crate) unsafe fn extract<const LEVEL: u8>(from: u64, mask: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if LEVEL >= PEXT {
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

/// The highest level that the processor has.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) fn level() -> u8 {
    use core::sync::atomic::{AtomicU8, Ordering};
    const UNKNOWN: u8 = u8::MAX;
    // Under a hypervisor the question takes longer than a small sort.
    static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);
    match LEVEL.load(Ordering::Relaxed) {
        UNKNOWN => {
            let level = ask();
            LEVEL.store(level, Ordering::Relaxed);
            level
        }
        known => known,
    }
}

/// Nowhere else are there others.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn level() -> u8 {
    PLAIN
}

/// AMD's processors before family 19h (Zen 3) have `pext` and take as long as a miss of the cache.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn ask() -> u8 {
    // Before Rust 1.94 the question counted as unsafe.
    #[allow(unused_unsafe)]
    let cpuid = |leaf: u32| {
        // SAFETY: every processor of this architecture answers it.
        unsafe { core::arch::x86_64::__cpuid_count(leaf, 0) }
    };
    const BMI2: u32 = 1 << 8;
    // AVX-512 F, BW and VL.
    const MASKS: u32 = 1 << 16 | 1 << 30 | 1 << 31;
    const OSXSAVE: u32 = 1 << 27;
    // The system keeps the registers of SSE, AVX and AVX-512.
    const KEPT: u64 = 0xe6;
    let vendor = cpuid(0);
    let features = if vendor.eax < 7 { 0 } else { cpuid(7).ebx };
    let is_amd = vendor.ebx == u32::from_le_bytes(*b"Auth");
    let version = cpuid(1);
    let family = (version.eax >> 8 & 0xf) + (version.eax >> 20 & 0xff);
    if features & BMI2 == 0 || is_amd && family < 0x19 {
        return PLAIN;
    }
    // SAFETY: the instruction is there where the system saves registers by its kind.
    let kept = || unsafe { kept_registers() };
    if features & MASKS == MASKS && version.ecx & OSXSAVE != 0 && kept() & KEPT == KEPT {
        MASKED
    } else {
        PEXT
    }
}

/// The kinds of registers that the system keeps.
///
/// # Safety
/// The processor says that the system has the instruction.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "xsave")]
unsafe fn kept_registers() -> u64 {
    // SAFETY: the caller promised it.
    unsafe { core::arch::x86_64::_xgetbv(0) }
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
            if level() >= PEXT {
                // SAFETY: it is.
                assert_eq!(unsafe { extract::<PEXT>(from, mask) }, expected, "{from:x} {mask:x}");
            }
        }
    }
}
