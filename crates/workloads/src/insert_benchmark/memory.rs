//! Amounts of memory in plans: `"512MiB"`.

use super::limits as own;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    pub bytes: u64,
}

impl FromStr for Memory {
    type Err = String;

    /// Parses a whole number and `KiB`, `MiB`, `GiB` or `TiB`. The error is a message for users.
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("\"{text}\" is not an amount of memory");
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(unknown)?);
        let unit = unit.trim_start();
        let (_, size) = UNITS.iter().find(|(known, _)| *known == unit).ok_or_else(unknown)?;
        let bytes =
            number.parse::<u64>().ok().and_then(|number| number.checked_mul(*size)).ok_or_else(unknown)?;
        if own::SERVER_MEMORY.contains(&bytes) {
            return Ok(Memory { bytes });
        }
        let [low, high] = [own::SERVER_MEMORY.start(), own::SERVER_MEMORY.end()];
        Err(format!("\"{text}\" is out of range: {} to {}", Memory { bytes: *low }, Memory { bytes: *high }))
    }
}

/// In the largest unit that gives a whole number.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = UNITS.iter().rev().find(|(_, size)| self.bytes.is_multiple_of(*size));
        match fitting {
            Some((unit, size)) => write!(f, "{}{unit}", self.bytes / size),
            None => write!(f, "{} bytes", self.bytes),
        }
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_round_trip_and_invalid_ones_are_rejected() {
        for text in ["512MiB", "16GiB", "1TiB", "65537KiB"] {
            assert_eq!(text.parse::<Memory>().unwrap().to_string(), text);
        }
        assert_eq!("2048 MiB".parse::<Memory>().unwrap().to_string(), "2GiB");
        for wrong in ["512", "MiB", "1.5GiB", "512MB", "99999999999999999999GiB", "1MiB", "-1GiB", ""] {
            assert!(wrong.parse::<Memory>().is_err(), "{wrong}");
        }
        assert!("1MiB".parse::<Memory>().unwrap_err().contains("32MiB to 64TiB"));
    }
}
