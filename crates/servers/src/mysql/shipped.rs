//! The configs that come with rqps, from `/configs/mysql` and `/configs/mariadb`.

use crate::host::HostLimits;

/// Embeds files of a folder in `/configs` by name.
macro_rules! shipped {
    ($folder:literal: $($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../configs/", $folder, "/", $name, ".cnf")))),*]
    };
}

/// Name and text of each for MySQL.
pub(crate) const MYSQL: [(&str, &str); 11] = shipped!["mysql":
    "sized",
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

/// Name and text of each for MariaDB.
pub(crate) const MARIADB: [(&str, &str); 5] =
    shipped!["mariadb": "sized", "z12a_c8r32", "z12a_c32r128", "z12b_c8r32", "z12b_c32r128"];

const MIB: u64 = 1 << 20;

/// Between the least that InnoDB takes gladly and what the largest host of the field has on small ones.
const REDO_MIB_MIN: u64 = 256;
const REDO_MIB_MAX: u64 = 32 * 1024;

/// The text of a shipped config, placeholders filled in; none when there is no such config.
pub(crate) fn text(files: &[(&str, &'static str)], name: &str, limits: &HostLimits) -> Option<String> {
    let text = files.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)?;
    Some(if name == "sized" { fill_in_sizes(text, limits) } else { text.to_owned() })
}

/// The rule is stated in `sized.cnf`.
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
