//! The version of the installed sysbench.

use super::error::Error;
use std::process::Command;

/// The oldest version that our scripts were tested with.
const OLDEST: [u32; 3] = [1, 0, 20];

/// The version of the installed sysbench as it prints it: `1.0.20`, `1.1.0-9072687`.
///
/// # Errors
/// If there is none, or one older than 1.0.20.
pub fn version() -> Result<String, Error> {
    let output = Command::new("sysbench").arg("--version").output().map_err(Error::Start)?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    supported(&printed).ok_or(Error::Version(printed))
}

/// The version in `printed`, unless it is too old.
fn supported(printed: &str) -> Option<String> {
    let version = printed.strip_prefix("sysbench ")?.split_whitespace().next()?;
    let release = version.split('-').next()?;
    let numbers: Vec<u32> = release.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    (numbers.as_slice() >= OLDEST.as_slice()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_versions_are_accepted_and_earlier_ones_are_not() {
        let system = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)";
        assert_eq!(supported(system).as_deref(), Some("1.0.20"));
        assert_eq!(supported("sysbench 1.1.0-9072687").as_deref(), Some("1.1.0-9072687"));
        assert_eq!(supported("sysbench 1.0.9"), None);
        assert_eq!(supported("sysbench 0.5"), None);
        assert_eq!(supported("no such thing"), None);
    }
}
