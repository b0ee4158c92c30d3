//! Values of a config that this machine or a build lacks, and that the servers which the config is for may have:
//! locales, time zones, huge pages, io_uring, libraries. They are left out, so that the rest can be measured.

use std::path::Path;

use rqps_model::{LeftOut, if_meant, nearest};

/// Options whose values the operating system provides.
pub(crate) const OF_MACHINE: [&str; 6] =
    ["lc_messages", "lc_monetary", "lc_numeric", "lc_time", "log_timezone", "timezone"];

/// Values that need something of the kernel, which only a start shows; some builds lack `io_uring`.
const OF_KERNEL: [(&str, &[&str]); 2] =
    [("huge_pages", &["on", "true", "yes", "1"]), (IO_METHOD, &["io_uring"])];
const IO_METHOD: &str = "io_method";

/// Options that are lists of libraries.
const LIBRARIES: [&str; 3] = ["local_preload_libraries", SESSION, SHARED];
const SESSION: &str = "session_preload_libraries";
pub(crate) const SHARED: &str = "shared_preload_libraries";

/// Where a build has its libraries, relative to its programs, and one that every build has.
const PLACES: [&str; 4] = ["../lib/postgresql", "../lib", "../lib64/postgresql", "../lib64"];
const IN_EVERY_BUILD: &str = "plpgsql.so";

/// Stands for the directory of libraries.
const LIBDIR: &str = "$libdir/";

const NOT_IN_BUILD: &str = "not available in this build";

/// Of an option in [`OF_MACHINE`].
pub(crate) fn not_on_this_machine() -> LeftOut {
    LeftOut { reason: "not available on this machine".to_owned(), ..LeftOut::default() }
}

/// Whether a value needs something that the kernel of this machine may refuse.
pub(crate) fn needs_kernel(option: &str, value: &str) -> bool {
    let mut needs = OF_KERNEL.iter().filter(|(name, _)| *name == option).flat_map(|(_, values)| *values);
    needs.any(|one| one.eq_ignore_ascii_case(value))
}

/// Whether a build may not know a value that others of its version know.
pub(crate) fn depends_on_build(option: &str, value: &str) -> bool {
    option == IO_METHOD && needs_kernel(option, value)
}

/// Of a value for which [`depends_on_build`] holds.
pub(crate) fn not_in_this_build(value: &str) -> LeftOut {
    LeftOut { reason: format!("{NOT_IN_BUILD}: {value}"), ..LeftOut::default() }
}

/// The libraries of a list that a build with its programs in `bin_dir` lacks, and the list without them. `None` if it
/// has all, or has its libraries at an unknown place.
pub(crate) fn missing(bin_dir: &Path, (option, value): (&str, &str)) -> Option<(LeftOut, String)> {
    let Listed { here, missing, known } = listed(bin_dir, (option, value))?;
    if missing.is_empty() {
        return None;
    }
    let question = if_meant(missing.iter().find_map(|name| meant(name, &known)));
    let (missing, here) = (missing.join(", "), here.join(", "));
    let kept = if here.is_empty() { String::new() } else { format!("; kept: {here}") };
    let reason = format!("{NOT_IN_BUILD}: {missing}{kept}{question}");
    let left = LeftOut { option: option.to_owned(), value: missing, reason, ..LeftOut::default() };
    Some((left, here))
}

/// The libraries of a list that a build lacks and that resemble one that it has, with that one.
pub(crate) fn misspelled(bin_dir: &Path, option: (&str, &str)) -> Vec<(String, String)> {
    let Some(Listed { missing, known, .. }) = listed(bin_dir, option) else { return Vec::new() };
    let with_meant = |name: &&str| Some(((*name).to_owned(), meant(name, &known)?.to_owned()));
    missing.iter().filter_map(with_meant).collect()
}

/// The libraries of a list by whether a build has them, and all that it has.
struct Listed<'o> {
    here: Vec<&'o str>,
    missing: Vec<&'o str>,
    known: Vec<String>,
}

/// `None` if the option is no list of libraries, or the build has its libraries at an unknown place.
fn listed<'o>(bin_dir: &Path, (option, value): (&str, &'o str)) -> Option<Listed<'o>> {
    if !LIBRARIES.contains(&option) {
        return None;
    }
    let mut dirs = PLACES.iter().map(|place| bin_dir.join(place));
    let dir = dirs.find(|dir| dir.join(IN_EVERY_BUILD).is_file())?;
    let is_here = |name: &&str| {
        let path = dir.join(name.trim_start_matches(LIBDIR));
        path.is_file() || path.with_added_extension("so").is_file()
    };
    let names = value.split(',').map(|name| name.trim().trim_matches('"')).filter(|name| !name.is_empty());
    let (here, missing) = names.partition(is_here);
    Some(Listed { here, missing, known: libraries(&dir) })
}

fn meant<'k>(name: &str, known: &'k [String]) -> Option<&'k str> {
    nearest(name.trim_start_matches(LIBDIR), known.iter().map(String::as_str))
}

/// The libraries of a list that a server can load at its start, without those that the build is known to lack; `None`
/// if there are none, or it is no such list.
pub(crate) fn loaded(bin_dir: &Path, (option, value): (&str, &str)) -> Option<String> {
    [SESSION, SHARED].contains(&option).then_some(())?;
    let here = missing(bin_dir, (option, value)).map_or_else(|| value.to_owned(), |(_, here)| here);
    (!here.trim().is_empty()).then_some(here)
}

/// The names of the libraries of a directory.
fn libraries(dir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".so")?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_a_build_lacks_are_left_out_of_the_list() {
        let root = tempfile::tempdir().unwrap();
        let [bin, lib] = ["bin", "lib/postgresql"].map(|dir| root.path().join(dir));
        [&bin, &lib].into_iter().for_each(|dir| std::fs::create_dir_all(dir).unwrap());
        let list = "pg_stat_statements, \"$libdir/auto_explain\",pg_cron";
        assert_eq!(missing(&bin, ("shared_preload_libraries", list)), None, "nobody knows");
        for file in [IN_EVERY_BUILD, "auto_explain.so", "pg_stat_statements.so"] {
            std::fs::write(lib.join(file), "").unwrap();
        }
        let (left, here) = missing(&bin, ("shared_preload_libraries", list)).unwrap();
        assert_eq!((&*left.value, &*here), ("pg_cron", "pg_stat_statements, $libdir/auto_explain"));
        assert!(left.reason.ends_with("pg_cron; kept: pg_stat_statements, $libdir/auto_explain"));
        let (left, _) = missing(&bin, ("shared_preload_libraries", "pg_stat_statement")).unwrap();
        assert!(left.reason.ends_with("; did you mean pg_stat_statements?"), "{}", left.reason);
        let misspelled = misspelled(&bin, ("shared_preload_libraries", "pg_cron, auto_explan, auto_explain"));
        assert_eq!(misspelled, [("auto_explan".to_owned(), "auto_explain".to_owned())]);
        assert_eq!(missing(&bin, ("shared_preload_libraries", "auto_explain")), None);
        assert_eq!(missing(&bin, ("search_path", "pg_cron")), None);
    }
}
