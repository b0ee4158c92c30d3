//! The user that servers run as. Database servers refuse to run as root, and a compromised one should own
//! nothing else.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::error::{Error, Result};

/// The user that root creates for its servers.
const SERVER_USER: &str = "rqps";

/// Remedy for a build that the servers' user cannot reach.
pub(crate) const MOVE_BUILD: &str =
    "move the build to a directory that everybody can enter (set RQPS_CACHE for the cache)";

/// Remedy for a cache that the servers' user cannot reach.
pub(crate) const MOVE_CACHE: &str = "set RQPS_CACHE to a directory that everybody can enter";

/// The user that servers run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUser {
    /// The name, or the uid if it has none.
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    /// Whether it differs from the user that rqps runs as.
    pub switches: bool,
}

/// The user for servers. An ordinary user runs them as itself. Root runs them as `rqps`, a system user
/// without home or login that is created on first use; if that fails, as `nobody`.
pub fn server_user() -> Result<ServerUser> {
    static CHOSEN: Mutex<Option<ServerUser>> = Mutex::new(None);
    let mut chosen = CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(user) = chosen.as_ref() {
        return Ok(user.clone());
    }
    let user = choose()?;
    *chosen = Some(user.clone());
    Ok(user)
}

fn choose() -> Result<ServerUser> {
    let uid = rustix::process::geteuid();
    if !uid.is_root() {
        let uid = uid.as_raw();
        return Ok(ServerUser {
            name: passwd_entry(|_, entry_uid| entry_uid == uid)
                .map_or_else(|| uid.to_string(), |entry| entry.name),
            uid,
            gid: rustix::process::getegid().as_raw(),
            switches: false,
        });
    }
    find_by_name(SERVER_USER)
        .or_else(|| {
            create_user();
            find_by_name(SERVER_USER)
        })
        .or_else(|| find_by_name("nobody"))
        .ok_or(Error::NoServerUser)
}

/// Ignores failure: the user is looked up afterwards, and another rqps may be creating it at the same moment.
fn create_user() {
    let _status = Command::new("useradd")
        .args(["--system", "--no-create-home", "--home-dir", "/nonexistent"])
        .args(["--shell", "/usr/sbin/nologin", SERVER_USER])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

fn find_by_name(name: &str) -> Option<ServerUser> {
    passwd_entry(|entry_name, uid| entry_name == name && uid != 0)
}

fn passwd_entry(wanted: impl Fn(&str, u32) -> bool) -> Option<ServerUser> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid: u32 = fields.nth(1)?.parse().ok()?;
        let gid: u32 = fields.next()?.parse().ok()?;
        wanted(name, uid).then(|| ServerUser { name: name.to_owned(), uid, gid, switches: true })
    })
}

impl ServerUser {
    /// Makes a command run as this user, without root's supplementary groups.
    pub fn apply(&self, command: &mut Command) {
        if self.switches {
            command.uid(self.uid).gid(self.gid);
        }
    }

    /// Makes this user the owner of an open file or directory. `path` is for errors.
    pub fn chown_open(&self, open: impl AsFd, path: &Path) -> Result<()> {
        if self.switches {
            fchown(open, Some(self.uid), Some(self.gid)).map_err(Error::file("change the owner of", path))?;
        }
        Ok(())
    }

    /// Checks that this user can enter `path` and every directory above it. `other_remedy` is a clause with
    /// an alternative to opening the directory.
    pub fn check_reachable(&self, path: &Path, other_remedy: &'static str) -> Result<()> {
        if !self.switches {
            return Ok(());
        }
        let ancestors: Vec<&Path> = path.ancestors().collect();
        for directory in ancestors.into_iter().rev() {
            if !self.may_enter_by_mode(directory) && !self.may('x', directory) {
                return Err(Error::NotReachable {
                    user: self.name.clone(),
                    blocked: PathBuf::from(directory),
                    path: path.to_path_buf(),
                    other_remedy,
                });
            }
        }
        Ok(())
    }

    fn may_enter_by_mode(&self, directory: &Path) -> bool {
        let Ok(meta) = fs::metadata(directory) else {
            return false;
        };
        let bit = if meta.uid() == self.uid {
            0o100
        } else if meta.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        meta.mode() & bit != 0
    }

    /// Runs `test` as that user to see whether it may `r`ead, `w`rite or enter (`x`): access control lists
    /// may allow what the mode bits do not.
    pub fn may(&self, what: char, path: &Path) -> bool {
        let mut test = Command::new("/usr/bin/test");
        test.arg(format!("-{what}")).arg(path).current_dir("/");
        test.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.apply(&mut test);
        test.status().is_ok_and(|status| status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_unreachable_directory_is_named() {
        let user = server_user().unwrap();
        let scratch =
            tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        let open = scratch.path().join("closed/open");
        fs::create_dir_all(&open).unwrap();
        user.check_reachable(&open, "RQPS_WORK").unwrap();
        fs::set_permissions(scratch.path().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
        let outcome = user.check_reachable(&open, "RQPS_WORK");
        if user.switches {
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("closed on the way to"), "{message}");
        } else {
            outcome.unwrap();
        }
    }
}
