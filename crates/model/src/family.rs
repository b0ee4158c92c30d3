//! Build families: compiler, flags and C library, which change a program's cost independently of its version.

use serde::{Deserialize, Serialize};

use crate::server::Setting;

/// How a build was compiled. Fields are [`Family::UNKNOWN`] if not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// Name and version: `gcc 12.2.0`, `clang 14.0.6`.
    pub compiler: String,
    /// The flags that affect the speed of code, in a fixed order: `-O2 -fno-omit-frame-pointer`, `-O2
    /// --enable-cassert`.
    pub flags: String,
    /// The C library at run time: `system glibc 2.36`, `its own glibc 2.31`, `musl`.
    pub libc: String,
}

impl Default for Family {
    fn default() -> Family {
        Family::of_facts(&[])
    }
}

impl Family {
    pub const UNKNOWN: &str = "unknown";

    /// The flag of a server whose assertions are checked, however its build system calls it.
    pub const ASSERTIONS: &str = "--enable-cassert";
    /// The same of a library, which does not tell its flags.
    pub const CHECKED: &str = "assertions";

    /// The family as facts of an arm: name and value.
    pub fn facts(&self) -> [(&'static str, &str); 3] {
        [("family.compiler", &self.compiler), ("family.flags", &self.flags), ("family.libc", &self.libc)]
    }

    /// Reads the family from an arm's facts.
    pub fn of_facts(facts: &[Setting]) -> Family {
        let fact = |name: &str| {
            let fact = facts.iter().find(|fact| fact.name == name);
            fact.map_or(Family::UNKNOWN, |fact| &fact.value).to_owned()
        };
        Family { compiler: fact("family.compiler"), flags: fact("family.flags"), libc: fact("family.libc") }
    }

    pub fn has_assertions(&self) -> bool {
        self.flags.split(' ').any(|flag| [Self::ASSERTIONS, Self::CHECKED].contains(&flag))
    }

    /// Whether compiler and flags match. Releases of one major version of a compiler generate nearly the same code.
    pub fn is_compiled_like(&self, other: &Family) -> bool {
        major(&self.compiler) == major(&other.compiler) && self.flags == other.flags
    }

    /// The differences between two families, as a phrase; `None` if they match. Compilers match if name and major
    /// version do. A fact known of only one of the two is a difference; a fact known of neither is not.
    pub fn differs(&self, other: &Family) -> Option<String> {
        let mut parts = Vec::new();
        if major(&self.compiler) != major(&other.compiler) {
            parts.push(format!("compiler {} and {}", self.compiler, other.compiler));
        }
        if self.flags != other.flags {
            parts.push(format!("flags {} and {}", self.flags, other.flags));
        }
        if self.libc != other.libc {
            parts.push(format!("C library {} and {}", self.libc, other.libc));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}, {}", self.compiler, self.flags, self.libc)
    }
}

/// `gcc 12` of `gcc 12.2.0`.
fn major(compiler: &str) -> &str {
    compiler.split_once('.').map_or(compiler, |(major, _)| major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_differ_by_major_version_flags_and_library() {
        let family = |compiler: &str, flags: &str, libc: &str| Family {
            compiler: compiler.to_owned(),
            flags: flags.to_owned(),
            libc: libc.to_owned(),
        };
        let ours = family("gcc 12.2.0", "-O2", "system glibc 2.36");
        assert_eq!(ours.differs(&family("gcc 12.4.0", "-O2", "system glibc 2.36")), None);
        let other = ours.differs(&family("gcc 7.5.0", "-Os", "system glibc 2.36")).unwrap();
        assert_eq!(other, "compiler gcc 12.2.0 and gcc 7.5.0; flags -O2 and -Os");
        assert!(ours.differs(&Family::default()).unwrap().contains("compiler gcc 12.2.0 and unknown"));
        assert_eq!(Family::default().differs(&Family::default()), None);
    }
}
