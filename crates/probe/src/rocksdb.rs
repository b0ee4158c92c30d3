//! The threads of RocksDB.

/// Beginnings of the names that RocksDB gives its threads, each followed by a number.
const NAMES: [(&str, &str); 4] = [
    ("rocksdb:low", "compaction"),
    ("rocksdb:high", "flush"),
    ("rocksdb:bottom", "compaction of the last level"),
    ("rocksdb:", "RocksDB, other"),
];

/// The role of a thread by its name in the kernel; `None` if it is not one of RocksDB's.
pub(crate) fn role_of_name(name: &str) -> Option<String> {
    let (_, role) = NAMES.iter().find(|(start, _)| name.starts_with(start))?;
    Some((*role).to_owned())
}

#[cfg(test)]
mod tests {
    use super::role_of_name;

    #[test]
    fn background_threads_have_roles() {
        assert_eq!(role_of_name("rocksdb:low1").as_deref(), Some("compaction"));
        assert_eq!(role_of_name("rocksdb:high0").as_deref(), Some("flush"));
        assert_eq!(role_of_name("rocksdb:dump_st").as_deref(), Some("RocksDB, other"));
        assert_eq!(role_of_name("client"), None);
    }
}
