//! Configs shipped with rqps, from `/configs/mysql` and `/configs/mariadb`.

use crate::host::HostLimits;
use crate::system::embed_configs;

/// Names and texts for MySQL.
pub(crate) const MYSQL: [(&str, &str); 16] = embed_configs!["mysql", "cnf":
    "sized",
    "sized_async",
    "flush_o_direct",
    "flush_o_direct_no_fsync",
    "flush_fsync",
    "flush_no_doublewrite",
    "z12a_c8r32",
    "z12a_c32r128",
    "z12b_c8r32",
    "z12b_c32r128",
    "z13a_c8r32",
    "z13a_c32r128",
    "z13a_hg_c8r32",
    "z13a_hg_c32r128",
    "z13b_c8r32",
    "z13b_c32r128",
];

/// Names and texts for MariaDB.
pub(crate) const MARIADB: [(&str, &str); 6] = embed_configs!["mariadb", "cnf":
    "sized",
    "sized_async",
    "z12a_c8r32",
    "z12a_c32r128",
    "z12b_c8r32",
    "z12b_c32r128",
];

const MIB: u64 = 1 << 20;

/// From the least that suits InnoDB to what configs for the largest hosts use.
const REDO_MIB_MIN: u64 = 256;
const REDO_MIB_MAX: u64 = 32 * 1024;

/// The text of a shipped config with placeholders filled in; None if there is no such config.
pub(crate) fn text(files: &[(&str, &'static str)], name: &str, limits: &HostLimits) -> Option<String> {
    let text = files.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)?;
    Some(if name == "sized_async" { fill_in_sizes(text, limits) } else { text.to_owned() })
}

/// See `sized_async.cnf` for the rule.
fn fill_in_sizes(template: &str, limits: &HostLimits) -> String {
    let pool_mib = (limits.memory_bytes / 4 / (128 * MIB)).max(1) * 128;
    let redo_mib =
        (pool_mib / 4 * 5).min(limits.disk_free_bytes / 20 / MIB).clamp(REDO_MIB_MIN, REDO_MIB_MAX);
    let redo_mib = 1_u64 << redo_mib.ilog2();
    template
        .replace("{pool}", &pool_mib.to_string())
        .replace("{redo}", &redo_mib.to_string())
        .replace("{file}", &(redo_mib / 4).to_string())
}
