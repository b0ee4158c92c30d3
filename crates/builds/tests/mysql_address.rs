//! Tarballs from a user's address: our own server acts as the file server and gives the answers that real
//! ones give when something is wrong.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use liblzma::write::XzEncoder;
use rqps_builds::{Address, Build, Dirs, Result, install, install_from, list_builds, sha256_hex};
use rqps_model::Dbms;

/// By path: status, announced content length, content.
type Files = BTreeMap<String, (u16, usize, Vec<u8>)>;

/// Serves files on a free port until the test ends, and returns the address.
fn serve(files: Files) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client may disconnect.
            let _gone = answer(stream, &files);
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream, files: &Files) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or(Ok(String::new()))?;
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let absent = (404, 9, b"not found".to_vec());
    let (status, length, content) = files.get(path).unwrap_or(&absent);
    write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(content)
}

/// A tarball like a vendor's, with a program that prints its version.
fn tarball(version: &str, messages: &str) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(XzEncoder::new(Vec::new(), 0));
    let program =
        format!("#!/bin/sh\necho \"$0  Ver {version} for Linux on x86_64 (MySQL Community Server - GPL)\"\n");
    for (path, content) in
        [("bin/mysqld", &*program), ("share/english/errmsg.sys", messages), ("man/page", "x")]
    {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o700);
        header.set_cksum();
        tar.append_data(&mut header, format!("mysql-{version}/{path}"), content.as_bytes())?;
    }
    tar.into_inner()?.finish()
}

struct Place {
    dir: tempfile::TempDir,
    url: String,
}

impl Place {
    fn new(files: Files) -> io::Result<Place> {
        let everybody = Permissions::from_mode(0o755);
        let dir = tempfile::Builder::new().permissions(everybody).tempdir()?;
        Ok(Place { dir, url: serve(files)? })
    }

    fn dirs(&self) -> Dirs {
        Dirs { cache: self.dir.path().join("cache"), work: self.dir.path().join("work") }
    }

    fn install(&self, version: &str, path: &str, sha256: Option<String>) -> Result<Build> {
        let from = Address { url: format!("{}{path}", self.url), sha256 };
        install_from(&self.dirs(), Dbms::Mysql, version, &from)
    }

    fn is_empty(&self) -> bool {
        let left = fs::read_dir(self.dirs().cache.join("mysql")).into_iter().flatten().flatten();
        let no_build = list_builds(&self.dirs()).is_ok_and(|builds| builds.is_empty());
        no_build && left.map(|entry| entry.file_name()).all(|name| name == ".lock")
    }
}

#[test]
fn a_tarball_is_found_by_its_vendor_s_name_and_verified() {
    let content = tarball("8.4.3", "x").unwrap();
    let sum = sha256_hex(&content);
    let name = "mysql-8.4.3-linux-glibc2.28-x86_64.tar.xz";
    let other = tarball("8.4.3", "messages of another build").unwrap();
    let other_sum = sha256_hex(&other);
    let place = Place::new(Files::from([
        (format!("/{name}"), (200, content.len(), content)),
        ("/other.tar.xz".to_owned(), (200, other.len(), other)),
    ]))
    .unwrap();
    let build = place.install("8.4.3", "/", Some(sum.to_uppercase())).unwrap();
    assert_eq!((build.origin, build.notes), (format!("tarball {name}"), vec![]));
    assert!(build.version_text.starts_with("Ver 8.4.3 for Linux") && !build.root.join("man").exists());
    // The version is known now, like others.
    assert_eq!(install(&place.dirs(), Dbms::Mysql, "8.4.3").unwrap().hash, build.hash);
    assert_eq!(install(&place.dirs(), Dbms::Mysql, "8.4").unwrap().hash, build.hash);
    let other_version = place.install("8.4.4", "/", Some(sum.clone())).unwrap_err().to_string();
    assert!(other_version.contains("none of"), "{other_version}");
    let same_files = place.install("8.4.3", &format!("/{name}"), None).unwrap();
    assert!(same_files.notes.is_empty(), "{same_files:?}");
    let unverified = place.install("8.4.3", "/other.tar.xz", None).unwrap();
    assert!(unverified.notes[0].contains("was not verified") && unverified.notes[0].contains(&other_sum));
    let notes = install(&place.dirs(), Dbms::Mysql, "8.4.3").unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("2 builds of mysql 8.4.3 are cached")), "{notes:?}");
}

#[test]
fn a_damaged_tarball_leaves_nothing_behind() {
    let content = tarball("8.0.36", "x").unwrap();
    let page = b"<html>a page that says in words that there is no such file</html>".to_vec();
    let place = Place::new(Files::from([
        ("/whole.tar.xz".to_owned(), (200, content.len(), content.clone())),
        ("/cut.tar.xz".to_owned(), (200, content.len(), content[..content.len() / 2].to_vec())),
        ("/page.tar.xz".to_owned(), (200, page.len(), page)),
        ("/broken.tar.xz".to_owned(), (200, 40, content[..40].to_vec())),
    ]))
    .unwrap();
    let message = |version: &str, path: &str, sum: Option<&str>| {
        place.install(version, path, sum.map(str::to_owned)).unwrap_err().to_string()
    };
    let wrong = "0".repeat(64);
    for (path, sum, expected) in [
        ("/whole.tar.xz", Some(&*wrong), "expected 0000"),
        ("/cut.tar.xz", None, "cut.tar.xz: `curl` exited with 18"),
        ("/page.tar.xz", None, "neither a .tar, a .tar.gz nor a .tar.xz"),
        ("/broken.tar.xz", None, "cannot unpack broken.tar.xz"),
        ("/none.tar.xz", None, "none of none.tar.xz is at that address"),
        ("/folder", None, "none of mysql-8.0.36-linux-glibc2.12-x86_64.tar.xz, mysql-8.0.36-"),
    ] {
        let message = message("8.0.36", path, sum);
        assert!(message.contains(expected), "{path}: {message}");
        assert!(place.is_empty(), "{path}");
    }
    let other = message("8.0.37", "/whole.tar.xz", None);
    assert!(other.contains("the download contains mysql 8.0.36") && place.is_empty(), "{other}");
    assert!(message("8.0", "/whole.tar.xz", None).contains("all three numbers"));
    let unknown = install(&place.dirs(), Dbms::Mysql, "8.0.36").unwrap_err().to_string();
    assert!(unknown.contains("nearest: 8.0.31") && unknown.contains("--from URL"), "{unknown}");
}
