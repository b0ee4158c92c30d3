//! How releases of RocksDB write one value of an option.

/// The option whose value they name differently.
const FILTER: &str = "block_based_table_factory.filter_policy";

/// Whether two values of an option mean the same.
pub(super) fn is_one_value(name: &str, before: &str, after: &str) -> bool {
    let without_braces = |value: &str| value.replace(['{', '}'], "");
    // Some write the later elements of a list in braces, and some the parts of a value with their names.
    let has_parts = before.starts_with('{') != after.starts_with('{');
    without_braces(before) == without_braces(after)
        || name == FILTER && is_one_filter(before, after)
        || has_parts && object(before).zip(object(after)).is_none_or(|(before, after)| before == after)
}

/// The object that a value of RocksDB names, alone or as the `id` among its parts.
fn object(value: &str) -> Option<&str> {
    match value.strip_prefix('{') {
        Some(parts) => {
            parts.trim_end_matches('}').split(';').find_map(|part| part.trim().strip_prefix("id="))
        }
        None => (!value.contains(':')).then_some(value),
    }
}

/// Whether two names are of one filter: releases of RocksDB before 7 do not tell its bits per key, and call it
/// `rocksdb.BuiltinBloomFilter`, later ones `bloomfilter:10:false`.
fn is_one_filter(before: &str, after: &str) -> bool {
    let kind = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["bloom", "ribbon"].into_iter().find(|kind| name.contains(kind))
    };
    let bits = |name: &str| name.split(':').nth(1).and_then(|bits| bits.parse::<f64>().ok());
    let has_same_bits = bits(before).zip(bits(after)).is_none_or(|(before, after)| before == after);
    kind(before).is_some() && kind(before) == kind(after) && has_same_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_filter_has_several_names() {
        assert!(is_one_filter("rocksdb.BuiltinBloomFilter", "bloomfilter:10:false"));
        assert!(is_one_filter("{id=bloomfilter:10:false;}", "bloomfilter:10:true"));
        assert!(!is_one_filter("bloomfilter:5:false", "bloomfilter:10:false"));
        assert!(!is_one_filter("rocksdb.BuiltinBloomFilter", "ribbonfilter:10:0"));
        assert!(!is_one_filter("nullptr", "bloomfilter:10:false"));
    }

    #[test]
    fn lists_in_other_notations_are_compared_by_their_elements() {
        assert!(is_one_value("a", "1:{1}:{1}", "1:1:1"));
        assert!(!is_one_value("a", "1:{1}:{1}", "1:1:2"));
    }
}
