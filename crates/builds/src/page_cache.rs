//! Where in memory a build's programs lie.
//!
//! A program's code lies in the pages that its file was once read into, or was written to when it was installed, until
//! the file leaves the page cache: through all starts of its server. Which physical pages these are, and how many of
//! them are neighbours, decides how well caches and the TLB hold it.

use std::fs::{self, File};

use rustix::fs::{Advice, fadvise};

use crate::build::Build;

/// Drops the programs of a build from the page cache, so that the next start reads them into other memory. Those that a
/// process runs stay.
pub fn drop_from_page_cache(build: &Build) {
    let Ok(entries) = fs::read_dir(&build.bin_dir) else {
        return;
    };
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    for file in files.filter_map(|entry| File::open(entry.path()).ok()) {
        // What can't be dropped stays where it is, as if this were not called.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSliceMut;

    use rqps_model::{BuildSource, BuildSpec, Dbms};
    use rustix::io::{ReadWriteFlags, preadv2};

    /// Whether the first bytes of a file are in memory.
    fn is_cached(file: &File) -> bool {
        let mut byte = [0];
        preadv2(file, &mut [IoSliceMut::new(&mut byte)], 0, ReadWriteFlags::NOWAIT).is_ok()
    }

    #[test]
    fn programs_are_read_anew() {
        let bin = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        if crate::is_in_memory(bin.path()) {
            return;
        }
        let path = bin.path().join("postgres");
        fs::write(&path, "code").unwrap();
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        let source = BuildSource::Version("18".to_owned());
        let build = Build::unseen(&BuildSpec { dbms: Dbms::Postgres, source });
        assert!(is_cached(&file));
        drop_from_page_cache(&Build { bin_dir: bin.path().to_owned(), ..build });
        assert!(!is_cached(&file));
    }
}
