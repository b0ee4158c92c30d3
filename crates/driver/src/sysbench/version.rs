//! Which sysbench is installed.

use super::error::Error;
use std::process::Command;

/// The oldest that our scripts were tried with.
const OLDEST: [u32; 3] = [1, 0, 20];

/// The version of the installed sysbench, as it says it: `1.0.20`, `1.1.0-9072687`.
///
/// # Errors
/// Where there is none, or an older one than 1.0.20.
pub fn version() -> Result<String, Error> {
    let output = Command::new("sysbench").arg("--version").output().map_err(Error::Start)?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    recent_enough(&said).ok_or(Error::Version(said))
}

fn recent_enough(said: &str) -> Option<String> {
    let version = said.strip_prefix("sysbench ")?.split_whitespace().next()?;
    let release = version.split('-').next()?;
    let numbers: Vec<u32> = release.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    (numbers.as_slice() >= OLDEST.as_slice()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ones_are_taken_earlier_ones_are_not() {
        let system = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)";
        assert_eq!(recent_enough(system).as_deref(), Some("1.0.20"));
        assert_eq!(recent_enough("sysbench 1.1.0-9072687").as_deref(), Some("1.1.0-9072687"));
        assert_eq!(recent_enough("sysbench 1.0.9"), None);
        assert_eq!(recent_enough("sysbench 0.5"), None);
        assert_eq!(recent_enough("no such thing"), None);
    }
}
