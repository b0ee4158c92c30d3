//! Flavours: how source code is compiled, as data. Shipped ones are in `/flavours`; `o2nofp.toml` describes
//! the format.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_model::{Dbms, did_you_mean};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::plain_file::read_text;

/// Name and text of each shipped flavour.
const SHIPPED: [(&str, &str); 4] = [
    ("o2nofp", include_str!("../../../../flavours/o2nofp.toml")),
    ("o2lto", include_str!("../../../../flavours/o2lto.toml")),
    ("o3native", include_str!("../../../../flavours/o3native.toml")),
    ("clang", include_str!("../../../../flavours/clang.toml")),
];

/// Names of the shipped flavours.
pub fn shipped_flavours() -> impl Iterator<Item = &'static str> {
    SHIPPED.into_iter().map(|(name, _)| name)
}

const EXTENDS_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum System {
    Configure,
    Meson,
    Cmake,
}

impl System {
    pub fn name(self) -> &'static str {
        match self {
            System::Configure => "configure",
            System::Meson => "meson",
            System::Cmake => "cmake",
        }
    }
}

/// A flavour's file. Every table except `env` is named after a DBMS.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    /// Resolved before; declared so that a file may contain it.
    #[serde(rename = "extends")]
    _extends: Option<String>,
    cc: Option<String>,
    cxx: Option<String>,
    cflags: Option<String>,
    cxxflags: Option<String>,
    ldflags: Option<String>,
    env: BTreeMap<String, String>,
    #[serde(flatten)]
    dbms: BTreeMap<Dbms, DbmsPart>,
}

/// The part of a flavour for one DBMS.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DbmsPart {
    system: Option<System>,
    configure: Vec<Options>,
    meson: Vec<Options>,
    cmake: Vec<Options>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    since: Option<String>,
    before: Option<String>,
    options: Vec<String>,
    headers: BTreeMap<String, String>,
}

/// A flavour for one DBMS, at any version.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Flavour {
    pub name: String,
    pub cc: String,
    pub cxx: String,
    pub cflags: String,
    pub cxxflags: String,
    pub ldflags: String,
    pub env: BTreeMap<String, String>,
    pub system: System,
    options: Vec<Options>,
}

/// What a flavour requires for one version of the source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirements {
    pub options: Vec<String>,
    pub headers: Vec<(String, String)>,
}

impl Flavour {
    /// Loads a shipped flavour by name, or a file by path. `systems` can build the DBMS; the first is the
    /// default.
    pub fn load(name: &str, dbms: Dbms, systems: &[System]) -> Result<Flavour> {
        let mut file = read_with_bases(name)?;
        let bad = |reason: &str| Error::BadFlavour { flavour: name.to_owned(), reason: reason.to_owned() };
        let part = file.dbms.remove(&dbms).unwrap_or_default();
        let system =
            part.system.or_else(|| systems.first().copied()).filter(|system| systems.contains(system));
        let Some(system) = system else {
            let known: Vec<String> = systems.iter().map(|system| format!("\"{}\"", system.name())).collect();
            let reason =
                format!("{dbms} has another build system: write [{dbms}] system = {}", known.join(" or "));
            return Err(bad(&reason));
        };
        let options = match system {
            System::Configure => part.configure,
            System::Meson => part.meson,
            System::Cmake => part.cmake,
        };
        let cflags =
            file.cflags.ok_or_else(|| bad("`cflags` is missing: write for example cflags = \"-O2\""))?;
        let stem = Path::new(name)
            .file_stem()
            .map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
        Ok(Flavour {
            name: stem,
            cc: file.cc.unwrap_or_else(|| "gcc".to_owned()),
            cxx: file.cxx.unwrap_or_else(|| "g++".to_owned()),
            cxxflags: file.cxxflags.unwrap_or_else(|| cflags.clone()),
            cflags,
            ldflags: file.ldflags.unwrap_or_default(),
            env: file.env,
            system,
            options,
        })
    }

    /// The same code at other addresses: copy `number` (from 1, which is the build as it is) has 16 bytes more than the
    /// one before it in front of each function. They are never executed, and functions stay aligned to 16 bytes.
    #[must_use]
    pub fn for_copy(mut self, number: u32) -> Flavour {
        let bytes = 16 * number.saturating_sub(1);
        if bytes > 0 {
            let option = format!(" -fpatchable-function-entry={bytes},{bytes}");
            self.cflags.push_str(&option);
            self.cxxflags.push_str(&option);
        }
        self
    }

    /// What it requires for a version of the source.
    pub fn for_version(&self, version: &str) -> Requirements {
        let version = numbers(version);
        let applies = |options: &&Options| {
            options.since.as_deref().is_none_or(|since| version >= numbers(since))
                && options.before.as_deref().is_none_or(|before| version < numbers(before))
        };
        let (mut options, mut headers) = (Vec::new(), BTreeSet::new());
        for group in self.options.iter().filter(applies) {
            options.extend(group.options.iter().map(|option| self.fill_in(option)));
            headers.extend(group.headers.iter().map(|(header, package)| (header.clone(), package.clone())));
        }
        Requirements { options, headers: headers.into_iter().collect() }
    }

    fn fill_in(&self, option: &str) -> String {
        option
            .replace("{cflags}", &self.cflags)
            .replace("{cxxflags}", &self.cxxflags)
            .replace("{ldflags}", &self.ldflags)
            .replace("{cc}", &self.cc)
            .replace("{cxx}", &self.cxx)
    }
}

/// Parses `18.6` into numbers for comparison, ignoring suffixes (`19devel`).
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    let number = |part: &str| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().unwrap_or(0)
    };
    version.split('.').map(number).collect()
}

/// Reads a flavour and everything it extends.
fn read_with_bases(name: &str) -> Result<File> {
    let bad = |reason: String| Error::BadFlavour { flavour: name.to_owned(), reason };
    let mut merged = read(name)?;
    let mut directory = Path::new(name).parent().map(Path::to_path_buf).unwrap_or_default();
    for _ in 0..EXTENDS_MAX {
        let Some(toml::Value::String(base_name)) = merged.remove("extends") else {
            return merged.try_into().map_err(|error| bad(error.to_string()));
        };
        let is_file = base_name.contains('/') || base_name.ends_with(".toml");
        let base_name =
            if is_file { directory.join(&base_name).to_string_lossy().into_owned() } else { base_name };
        directory = Path::new(&base_name).parent().map(Path::to_path_buf).unwrap_or_default();
        let mut base = read(&base_name)?;
        // The base's C++ flags would contradict new C flags.
        if merged.contains_key("cflags") {
            base.remove("cxxflags");
        }
        extend(&mut base, merged);
        merged = base;
    }
    Err(bad(format!("it extends more than {EXTENDS_MAX} others, or itself: shorten the chain of `extends`")))
}

/// The table of one file, checked to be a valid flavour except for what it inherits.
fn read(name: &str) -> Result<toml::Table> {
    let is_file = name.contains('/') || name.ends_with(".toml");
    let text = if is_file {
        read_text(Path::new(name)).map_err(Error::file("read flavour", name))?
    } else {
        let known = SHIPPED.iter().find(|(known, _)| *known == name);
        let shipped = || shipped_flavours().collect::<Vec<_>>().join(", ");
        let unknown = || {
            let meant = did_you_mean(name, shipped_flavours());
            Error::UnknownFlavour { name: name.to_owned(), meant, shipped: shipped() }
        };
        known.map(|(_, text)| (*text).to_owned()).ok_or_else(unknown)?
    };
    let valid = toml::from_str::<File>(&text).and_then(|_valid| toml::from_str(&text));
    valid.map_err(|error| {
        let reason = error.to_string().trim_end().to_owned();
        Error::BadFlavour { flavour: name.to_owned(), reason }
    })
}

/// Merges a table into its base: tables are merged, arrays appended, other values replaced.
fn extend(base: &mut toml::Table, own: toml::Table) {
    use toml::Value;
    for (key, value) in own {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(own)) => extend(base, own),
            (Some(Value::Array(base)), Value::Array(own)) => base.extend(own),
            (_, value) => drop(base.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const POSTGRES: [System; 2] = [System::Configure, System::Meson];

    #[test]
    fn every_shipped_flavour_works_for_every_dbms() {
        for (name, _) in SHIPPED {
            let systems: [(Dbms, &[System]); 4] = [
                (Dbms::Postgres, &POSTGRES),
                (Dbms::Mysql, &[System::Cmake]),
                (Dbms::Mariadb, &[System::Cmake]),
                (Dbms::Rocksdb, &[System::Cmake]),
            ];
            for (dbms, systems) in systems {
                let flavour = Flavour::load(name, dbms, systems).unwrap();
                assert!(!flavour.for_version("10.6").options.is_empty(), "{name} {dbms}");
            }
        }
    }

    #[test]
    fn options_depend_on_the_version() {
        let flavour = Flavour::load("o2nofp", Dbms::Postgres, &POSTGRES).unwrap();
        let has = |version: &str, option: &str| {
            flavour.for_version(version).options.iter().any(|known| known == option)
        };
        assert!(has("18.6", "--with-liburing") && has("19devel", "--with-liburing"));
        assert!(!has("17.11", "--with-liburing") && has("17.11", "--with-lz4"));
        assert!(!has("13.23", "--with-lz4") && !has("9.6.24", "--without-icu"));
        assert_eq!(flavour.for_version("17.11").headers, [("lz4.h".to_owned(), "liblz4-dev".to_owned())]);
    }

    #[test]
    fn a_file_extends_a_shipped_flavour() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        let text = "extends = \"o2lto\"\ncflags = \"-O1\"\n[[postgres.configure]]\noptions = [\"--enable-cassert\"]\n";
        fs::write(&path, text).unwrap();
        let load = || Flavour::load(&path.to_string_lossy(), Dbms::Postgres, &POSTGRES);
        let flavour = load().unwrap();
        assert_eq!(
            (flavour.name.as_str(), flavour.cflags.as_str(), flavour.cxxflags.as_str()),
            ("mine", "-O1", "-O1")
        );
        assert_eq!(flavour.env["AR"], "gcc-ar");
        let options = flavour.for_version("17.1").options;
        assert!(
            options.contains(&"--enable-debug".to_owned())
                && options.contains(&"--enable-cassert".to_owned())
        );
        fs::write(&path, "extends = \"o2nofp\"\n[postgres]\nsystem = \"meson\"\n").unwrap();
        let flavour = load().unwrap();
        assert!(flavour.for_version("18").options.contains(&"-Dliburing=enabled".to_owned()));
        fs::write(&path, "extends = \"./mine.toml\"\n").unwrap();
        let message = load().unwrap_err().to_string();
        assert!(message.contains("or itself"), "{message}");
        fs::write(&path, "cfalgs = \"-O2\"\n").unwrap();
        let message = load().unwrap_err().to_string();
        assert!(message.contains("mine.toml") && message.contains("cfalgs"), "{message}");
    }
}
