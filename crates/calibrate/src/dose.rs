//! The extra work that a dosed server does.

use serde::{Deserialize, Serialize};

/// Extra work per message that a server receives; see `crates/dose`, which does it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dose {
    pub spin: u64,
    /// Microseconds of sleep.
    pub sleep_us: u64,
    /// Bytes of write-ahead log, its header not counted.
    pub wal_bytes: u64,
    /// With every Nth message the log is forced to the disk; 0: never.
    pub fsync_every: u64,
}

impl Dose {
    pub fn spin(spin: u64) -> Self {
        Self { spin, ..Self::default() }
    }

    /// Whether it is no work at all.
    pub fn is_null(self) -> bool {
        self == Self::default()
    }

    /// Whether it consists of multiplications alone, so that its size is known.
    pub fn is_spin(self) -> bool {
        self == Self::spin(self.spin)
    }

    /// The file that the library reads: always of all four, so that no arm differs from another in how much it reads.
    pub fn file_text(self) -> String {
        let Self { spin, sleep_us, wal_bytes, fsync_every } = self;
        format!(
            "RQPS_DOSE_SPIN={spin:010}\nRQPS_DOSE_SLEEP_US={sleep_us:07}\nRQPS_DOSE_WAL_BYTES={wal_bytes:05}\n\
             RQPS_DOSE_FSYNC_EVERY={fsync_every:05}\n"
        )
    }
}
