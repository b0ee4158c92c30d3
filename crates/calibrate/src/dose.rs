//! The extra work of a server.

use serde::{Deserialize, Serialize};

/// Extra work per message that a server receives; `crates/dose` does it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dose {
    pub spin: u64,
    /// Microseconds of sleep.
    pub sleep_us: u64,
    /// Bytes of write-ahead log, without headers.
    pub wal_bytes: u64,
    /// Every Nth message flushes the log; 0: never.
    pub fsync_every: u64,
}

impl Dose {
    pub fn spin(spin: u64) -> Self {
        Self { spin, ..Self::default() }
    }

    /// Whether it does no work.
    pub fn is_null(self) -> bool {
        self == Self::default()
    }

    /// Whether it consists only of multiplications, whose true size is known.
    pub fn is_spin(self) -> bool {
        self == Self::spin(self.spin)
    }

    /// The file that the library reads: always all four values at fixed width, so that arms read equally long
    /// files.
    pub fn file_text(self) -> String {
        let Self { spin, sleep_us, wal_bytes, fsync_every } = self;
        format!(
            "RQPS_DOSE_SPIN={spin:010}\nRQPS_DOSE_SLEEP_US={sleep_us:07}\nRQPS_DOSE_WAL_BYTES={wal_bytes:05}\n\
             RQPS_DOSE_FSYNC_EVERY={fsync_every:05}\n"
        )
    }
}
