//! What a host can do, as measured around a run.

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

    /// How far the slices lie apart, relative to the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.value.max(f64::MIN_POSITIVE)
    }
}
