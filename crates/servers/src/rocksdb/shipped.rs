//! Configs shipped with rqps, from `/configs/rocksdb`.

use crate::host::HostLimits;
use crate::system::embed_configs;

/// Names and texts.
pub(crate) const FILES: [(&str, &str); 19] = embed_configs!["rocksdb", "ini":
    "common",
    "sized",
    "sized_iobuf",
    "sized_iodir",
    "mini",
    "mini_iobuf",
    "mini_iodir",
    "c4r16",
    "c8r16",
    "c8r32",
    "c8r32_bc1g",
    "c8r32_iobuf",
    "c8r32_iodir",
    "c16r64",
    "c24r64",
    "c32r128",
    "c40r256",
    "c48r128",
    "io",
];

const MIB: u64 = 1 << 20;

/// The text of a shipped config with placeholders filled in; None if there is no such config.
pub(crate) fn text(name: &str, limits: &HostLimits) -> Option<String> {
    let text = FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)?;
    Some(if name == "sized" { fill_in_sizes(text, limits) } else { text.to_owned() })
}

/// See `sized.ini` for the rule.
fn fill_in_sizes(template: &str, limits: &HostLimits) -> String {
    let cache_mib = (limits.memory_bytes / 2 / (128 * MIB)).max(1) * 128;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    template
        .replace("{cache}", &(cache_mib * MIB).to_string())
        .replace("{jobs}", &(cpus / 2).clamp(2, 12).to_string())
}
