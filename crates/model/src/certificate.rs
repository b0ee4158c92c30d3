//! What a host can do, as measured around a run.

use crate::Digits;

/// More digits of a figure are never known.
const FIGURE_DIGITS: f64 = 4.0;
const SHARE_DECIMALS: f64 = 1.0;

crate::words! {
    /// A figure of a host's certificate. The word ends with its unit.
    HostQuantity {
        /// Millions of dependent multiplications per second of one thread.
        OneCore = "one_core_m_per_s",
        /// The same per second of CPU time: frequency and neighbours on the core change it, waiting for a CPU does not.
        OneCoreCpu = "one_core_m_per_cpu_s",
        /// The same of a thread per CPU, together.
        AllCores = "all_cores_m_per_s",
        /// CPU time that the hypervisor gave to other guests, of all CPU time.
        Steal = "steal_percent",
        /// CPU time that other programs of this host took, of all CPU time.
        OtherPrograms = "other_programs_percent",
        /// A dependent load from memory.
        MemoryLatency = "memory_latency_ns",
        /// Memory copied per second by one thread.
        MemoryCopy = "memory_copy_mb_per_s",
        /// Reading the clock.
        ClockRead = "clock_read_ns",
        /// Changing to another thread on the same CPU.
        ContextSwitch = "context_switch_us",
        /// Waking a thread on another CPU.
        WakeUp = "wake_up_us",
        /// Writing 16 KiB over existing data, before it is synced.
        Write = "write_16k_us",
        /// fdatasync after each such write.
        Sync = "fdatasync_16k_us",
        /// Reading the file in order.
        SequentialRead = "sequential_read_mb_per_s",
        /// Reading 16 KiB at a random position.
        RandomRead = "random_read_16k_us",
    }
}

impl HostQuantity {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::OneCore => "integer speed, one core",
            Self::OneCoreCpu => "integer speed, one core, by CPU time",
            Self::AllCores => "integer speed, all cores",
            Self::Steal => "CPU time taken by other guests",
            Self::OtherPrograms => "CPU time taken by other programs",
            Self::MemoryLatency => "memory latency",
            Self::MemoryCopy => "memory copied by one thread",
            Self::ClockRead => "reading the clock",
            Self::ContextSwitch => "context switch",
            Self::WakeUp => "wake-up of another CPU",
            Self::Write => "writing 16 KiB",
            Self::Sync => "fdatasync after 16 KiB",
            Self::SequentialRead => "sequential read",
            Self::RandomRead => "random read of 16 KiB",
        }
    }

    /// The unit as printed.
    pub fn unit(self) -> &'static str {
        match self {
            Self::OneCore | Self::AllCores => "M/s",
            Self::OneCoreCpu => "M/CPU s",
            Self::Steal | Self::OtherPrograms => "%",
            Self::MemoryLatency | Self::ClockRead => "ns",
            Self::MemoryCopy | Self::SequentialRead => "MB/s",
            Self::ContextSwitch | Self::WakeUp | Self::Write | Self::Sync | Self::RandomRead => "us",
        }
    }

    /// Whether it is a share: compared by difference instead of ratio.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Steal | Self::OtherPrograms)
    }
}

/// A figure of a certificate, measured in several slices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostFigure {
    pub quantity: HostQuantity,
    /// The median of the slices.
    pub value: f64,
    /// The lowest slice.
    pub low: f64,
    /// The highest slice.
    pub high: f64,
}

impl HostFigure {
    /// The figure of these slices; `None` without slices.
    pub fn of_slices(quantity: HostQuantity, mut slices: Vec<f64>) -> Option<Self> {
        slices.sort_by(f64::total_cmp);
        let (low, high) = (*slices.first()?, *slices.last()?);
        let middle = slices.len() / 2;
        let value =
            if slices.len() % 2 == 1 { slices[middle] } else { (slices[middle - 1] + slices[middle]) / 2.0 };
        Some(Self { quantity, value, low, high })
    }

    /// How it and its slices are printed: no finer than the slices agree, with four digits at most.
    pub fn digits(&self) -> Digits {
        let decimals = match self.quantity.is_share() {
            true => SHARE_DECIMALS,
            false => FIGURE_DIGITS - 1.0 - self.value.abs().max(f64::MIN_POSITIVE).log10().floor(),
        };
        Digits::of_difference((self.low, self.high), decimals.clamp(0.0, FIGURE_DIGITS) as usize)
    }

    /// How far the slices lie apart, relative to the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.value.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_printed_no_finer_than_its_slices_agree() {
        let text =
            |quantity, value, low, high| HostFigure { quantity, value, low, high }.digits().text(value);
        assert_eq!(text(HostQuantity::OneCore, 264.5, 173.2, 372.8), "264", "of 173 to 373");
        assert_eq!(text(HostQuantity::Sync, 0.7842, 0.783, 0.785), "0.7842");
        assert_eq!(text(HostQuantity::Steal, 0.0, 0.0, 0.0), "0.0");
    }
}
