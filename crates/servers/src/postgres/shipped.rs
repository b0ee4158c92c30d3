//! Configs shipped with rqps, from `/configs/postgres`.

use crate::host::HostLimits;
use crate::system::embed_configs;

/// Names and texts. `N` in a name stands for a number of I/O workers.
pub(crate) const FILES: [(&str, &str); 20] = embed_configs!["postgres", "conf":
    "memory256",
    "sized",
    "sized_async",
    "sized_autovacuum_off",
    "sized_naptime1",
    "x10a_c8r32",
    "x10a_c24r64",
    "x10a_c32r128",
    "x10b_c8r32",
    "x10b_c24r64",
    "x10b_c32r128",
    "x10c_c8r32",
    "x10c_c24r64",
    "x10c_c32r128",
    "x10cwN_c8r32",
    "x10cwN_c24r64",
    "x10cwN_c32r128",
    "x10d_c8r32",
    "x10d_c24r64",
    "x10d_c32r128",
];

const IO_WORKERS: [u32; 7] = [2, 4, 6, 8, 16, 32, 64];

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The text of a shipped config with placeholders filled in; None if there is no such config.
pub(crate) fn text(name: &str, limits: &HostLimits) -> Option<String> {
    if name == "sized_async" {
        return find(name).map(|text| fill_in_sizes(text, limits));
    }
    if name.contains('N') {
        return None;
    }
    if let Some(text) = find(name) {
        return Some(text.to_owned());
    }
    let (workers, host) = name.strip_prefix("x10cw")?.split_once('_')?;
    let workers = IO_WORKERS.iter().find(|known| known.to_string() == workers)?;
    let template = find(&format!("x10cwN_{host}"))?;
    Some(template.replace("io_workers = N", &format!("io_workers = {workers}")))
}

fn find(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// See `sized_async.conf` for the rule.
fn fill_in_sizes(template: &str, limits: &HostLimits) -> String {
    let shared_buffers = (limits.memory_bytes / 4 / (128 * MIB)).max(1) * 128;
    let max_wal = (limits.memory_bytes / 4 * 5).min(limits.disk_free_bytes / 20).max(GIB);
    let max_wal_gib = 1_u64 << (max_wal / GIB).ilog2();
    let min_wal = if max_wal_gib > 1 { format!("{}GB", max_wal_gib / 2) } else { "512MB".to_owned() };
    template
        .replace("{shared_buffers}", &format!("{shared_buffers}MB"))
        .replace("{max_wal_size}", &format!("{max_wal_gib}GB"))
        .replace("{min_wal_size}", &min_wal)
}
