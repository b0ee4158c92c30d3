//! Building RocksDB from source by cmake: its library, and db_bench where gflags is installed.

use std::path::Path;

use super::Rocksdb;
use crate::source::code::{Site, SourceCode, Step, path_text, read_file};
use crate::source::flavour::System;

const VERSION_FILE: &str = "include/rocksdb/version.h";

impl SourceCode for Rocksdb {
    fn systems(&self) -> &'static [System] {
        &[System::Cmake]
    }

    fn version(&self, tree: &Path) -> Option<String> {
        let header = read_file(tree, VERSION_FILE)?;
        let part = |name: &str| {
            let line =
                header.lines().find_map(|line| line.strip_prefix(&format!("#define ROCKSDB_{name} ")))?;
            line.trim().parse::<u32>().ok()
        };
        Some(format!("{}.{}.{}", part("MAJOR")?, part("MINOR")?, part("PATCH")?))
    }

    fn identified_by(&self) -> &'static str {
        "`include/rocksdb/version.h`"
    }

    fn telling_files(&self) -> &'static [&'static str] {
        &[VERSION_FILE]
    }

    fn programs(&self, _site: &Site<'_>) -> Vec<&'static str> {
        vec!["cmake", "ninja"]
    }

    fn steps(&self, site: &Site<'_>) -> Vec<Step> {
        let flavour = site.flavour;
        let (build, prefix) = (path_text(&site.build), path_text(&site.prefix));
        let configure =
            Step::new("configuring", "cmake", &["-G", "Ninja", "-S", &path_text(&site.tree), "-B", &build])
                .args([
                    format!("-DCMAKE_C_COMPILER={}", flavour.cc),
                    format!("-DCMAKE_CXX_COMPILER={}", flavour.cxx),
                    format!("-DCMAKE_EXE_LINKER_FLAGS={}", flavour.ldflags),
                    format!("-DCMAKE_SHARED_LINKER_FLAGS={}", flavour.ldflags),
                ])
                .args(site.options.iter().cloned());
        let jobs = site.jobs.to_string();
        // Its own install step would compile every tool.
        let (lib, bin) = (format!("{prefix}/lib"), format!("{prefix}/bin"));
        vec![
            configure,
            Step::new(
                "compiling",
                "cmake",
                &["--build", &build, "-j", &jobs, "--target", "rocksdb-shared", "db_bench"],
            ),
            Step::new("installing", "mkdir", &[&lib, &bin]),
            Step::new("installing", "cp", &["-L", &format!("{build}/librocksdb.so"), &lib]),
            Step::new("installing", "cp", &[&format!("{build}/db_bench"), &bin]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_version_is_that_of_the_header() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Rocksdb.version(dir.path()), None);
        fs::create_dir_all(dir.path().join("include/rocksdb")).unwrap();
        let text = "#define ROCKSDB_MAJOR 10\n#define ROCKSDB_MINOR 4\n#define ROCKSDB_PATCH 2\n";
        fs::write(dir.path().join("include/rocksdb/version.h"), text).unwrap();
        assert_eq!(Rocksdb.version(dir.path()).as_deref(), Some("10.4.2"));
    }
}
