//! Options that an engine took with another value than its config asks for: it replaces a number that it cannot use,
//! and takes no object instead of one whose name it does not know.

use rqps_model::LeftOut;

/// Without its filter, a read looks into the tables of all levels.
const FILTER: &str = "block_based_table_factory.filter_policy";

/// A number of 32 bits. Releases up to 5.18 write one of 64, with what lies behind it in memory.
const OF_32_BITS: &str = "read_amp_bytes_per_bit";

/// Keys are in its order.
const COMPARATOR: &str = "comparator";

const NO_OBJECT: &str = "nullptr";

/// Names and values in an options file, in its order; those of tables with their prefix.
pub(crate) fn listed(text: &str) -> Vec<(String, String)> {
    let mut prefix = None;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            prefix = match section.split([' ', ']']).next() {
                Some("DBOptions" | "CFOptions") => Some(""),
                Some("TableOptions/BlockBasedTable") => Some("block_based_table_factory."),
                _ => None,
            };
        } else if let (Some(prefix), Some((name, value))) = (prefix, line.split_once('=')) {
            let of_32_bits = || value.parse::<u64>().ok().filter(|_| name == OF_32_BITS);
            let value = of_32_bits().map_or_else(|| value.to_owned(), |long| (long as u32).to_string());
            found.push((format!("{prefix}{name}"), value));
        }
    }
    found
}

/// Those of the options asked for that were taken with another value. An option that is not listed has none.
pub(crate) fn changed<'a>(
    asked: impl Iterator<Item = &'a (String, String)>,
    taken: &[(String, String)],
) -> Vec<LeftOut> {
    let changed = |(option, value): &(String, String)| {
        let (_, taken) = taken.iter().find(|(name, _)| name == option)?;
        is_other(option, value, taken).then(|| LeftOut {
            option: option.clone(),
            value: value.clone(),
            reason: format!("the engine took {taken}"),
            taken: Some(taken.clone()),
            ..LeftOut::default()
        })
    };
    asked.filter_map(changed).collect()
}

/// The filter that was asked for and not taken.
pub(crate) fn lost_filter(changed: &[LeftOut]) -> Option<&LeftOut> {
    changed.iter().find(|one| one.option == FILTER)
}

/// Whether two values of an option differ, however they are written. Releases call a filter by different names.
fn is_other(option: &str, asked: &str, taken: &str) -> bool {
    let is_asked = !["", NO_OBJECT, "{}"].contains(&asked);
    if taken == NO_OBJECT || option == FILTER {
        return taken == NO_OBJECT && is_asked;
    }
    if option == COMPARATOR {
        // With or without the name of its library before it.
        return is_asked && !taken.ends_with(asked.rsplit('.').next().unwrap_or(asked));
    }
    let is_name = |value: &str| value.starts_with('k');
    match (number(asked), taken.parse::<f64>()) {
        // A negative number leaves the choice to the engine.
        (Some(asked), Ok(taken)) => asked >= 0.0 && (asked - taken).abs() > f64::EPSILON * taken.abs(),
        _ => match truth(asked).zip(truth(taken)) {
            Some((asked, taken)) => asked != taken,
            // Some releases write the later elements of a list in braces.
            None => is_name(asked) && is_name(taken) && asked != taken.replace(['{', '}'], ""),
        },
    }
}

/// The number at the start of a value with its unit, such as `64M`: RocksDB ignores what follows.
fn number(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '.')).unwrap_or(value.len());
    let (digits, rest) = value.split_at(end);
    let bits = match rest.chars().next().map(|unit| unit.to_ascii_lowercase()) {
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        _ => 0,
    };
    Some(digits.parse::<f64>().ok()? * (1_u64 << bits) as f64)
}

fn truth(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &str = "[DBOptions]\n  max_open_files=-1\n  max_background_jobs=2\n  use_direct_reads=true\n\
        [CFOptions \"default\"]\n  write_buffer_size=65536\n  max_write_buffer_number=2\n  \
        max_bytes_for_level_multiplier=8.000000\n  compression=kNoCompression\n  \
        compression_per_level=kNoCompression:{kLZ4Compression}\n  ttl=18446744073709551614\n  \
        merge_operator=nullptr\n  comparator=leveldb.BytewiseComparator\n\
        [TableOptions/BlockBasedTable \"default\"]\n  filter_policy=nullptr\n  block_size=8192\n";

    #[test]
    fn what_follows_a_number_in_memory_is_no_part_of_it() {
        let text = |value: u64| {
            format!(
                "[TableOptions/BlockBasedTable \"default\"]\n  read_amp_bytes_per_bit={value}\n  block_size={value}"
            )
        };
        let values = |value| listed(&text(value)).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(values(2 << 32), ["0", "8589934592"]);
        assert_eq!(values(32), ["32", "32"]);
    }

    fn reasons(asked: &[(&str, &str)], options: &str) -> Vec<String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let asked: Vec<(String, String)> = asked.iter().map(own).collect();
        let changed = changed(asked.iter(), &listed(options));
        changed.into_iter().map(|one| format!("{} {}, {}", one.option, one.value, one.reason)).collect()
    }

    #[test]
    fn what_the_engine_replaced_is_named() {
        let asked = [
            ("write_buffer_size", "1000"),
            ("max_write_buffer_number", "1"),
            ("compression", "kLZ4Compression"),
            ("use_direct_reads", "false"),
            (FILTER, "blom:abc"),
            ("merge_operator", "foo"),
            ("comparator", "Reverse"),
        ];
        let expected = [
            "write_buffer_size 1000, the engine took 65536",
            "max_write_buffer_number 1, the engine took 2",
            "compression kLZ4Compression, the engine took kNoCompression",
            "use_direct_reads false, the engine took true",
            "block_based_table_factory.filter_policy blom:abc, the engine took nullptr",
            "merge_operator foo, the engine took nullptr",
            "comparator Reverse, the engine took leveldb.BytewiseComparator",
        ];
        assert_eq!(reasons(&asked, OPTIONS), expected);
    }

    #[test]
    fn other_words_for_one_value_are_no_change() {
        let asked = [
            ("max_open_files", "-1"),
            ("max_background_jobs", "2x"),
            ("use_direct_reads", "1"),
            ("write_buffer_size", "64KB"),
            ("max_bytes_for_level_multiplier", "8"),
            ("ttl", "-1"),
            ("unlisted", "7"),
            (FILTER, "nullptr"),
            ("merge_operator", "nullptr"),
            ("comparator", "BytewiseComparator"),
            ("block_based_table_factory.block_size", "8K"),
            ("compression_per_level", "kNoCompression:kLZ4Compression"),
        ];
        assert_eq!(reasons(&asked, OPTIONS), [""; 0]);
        for name in ["rocksdb.BuiltinBloomFilter", "bloomfilter:10:false"] {
            let options = OPTIONS.replace("nullptr", name);
            assert_eq!(reasons(&[(FILTER, "bloomfilter:10:false")], &options), [""; 0]);
        }
    }
}
