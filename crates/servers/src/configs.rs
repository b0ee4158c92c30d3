//! Loads configs: shipped ones by name, files by path, both with their includes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rqps_builds::plain_file::{TEXT_BYTES_MAX, read_text};
use rqps_builds::{Dirs, file_meant, sha256_hex, with_file_meant};
use rqps_model::{Dbms, LeftOut, did_you_mean, edit_distance};

use crate::config::{Config, ShippedConfig, ValueBefore};
use crate::error::{Error, Result};
use crate::host::HostLimits;
use crate::option::{ANNOTATION, Annotation, Line, Setting, WITH, quoted};
use crate::system::System;
use crate::systems;
use crate::wrong_lines::WrongLines;

/// MySQL's option that may be repeated to add to a list.
const ADDITIVE: &str = "plugin_load_add";

/// Includes nested deeper than in any sensible config: a file that includes itself is detected here.
const INCLUDE_DEPTH_MAX: usize = 8;

/// All shipped configs of a DBMS, by name.
pub fn shipped_configs(dbms: Dbms) -> Vec<ShippedConfig> {
    systems::get(dbms)
        .shipped()
        .iter()
        .map(|(name, text)| ShippedConfig { name: (*name).to_owned(), summary: summary(text) })
        .collect()
}

/// The first sentence of a file's opening comment, without the leading name.
fn summary(text: &str) -> String {
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let comment = comment.join(" ");
    let sentence = comment.split_once(". ").map_or(comment.as_str(), |(first, _)| first);
    let sentence = sentence.split_once(": ").map_or(sentence, |(_, rest)| rest);
    sentence.trim_end_matches('.').to_owned()
}

/// Loads a shipped config by name, or a file by path (with a `/`, or ending in `.conf`, `.cnf` or `.ini`). The file
/// has the DBMS's own syntax and may include others: `include 'x10a_c8r32'` as in `postgresql.conf`,
/// `!include z12a_c8r32` as in `my.cnf`, `other.conf` for a file in the same directory.
///
/// `version` is that of the server that is to read it: `my.cnf` may have sections of one series. If it is empty,
/// these are skipped.
///
/// The shipped config `sized` is computed for this host, see [`load_config_for`].
pub fn load_config(dbms: Dbms, version: &str, name_or_path: &str) -> Result<Config> {
    load_config_for(dbms, version, name_or_path, &HostLimits::of(&Dirs::from_env().work))
}

/// Whether this is the path of a file, not the name of a shipped config.
pub fn is_file(name_or_path: &str) -> bool {
    let extensions = [".conf", ".cnf", ".ini"];
    name_or_path.contains('/') || extensions.iter().any(|extension| name_or_path.ends_with(extension))
}

/// Like [`load_config`], with the memory and disk space for `sized`. If several servers run at the same time,
/// pass each one's share.
pub fn load_config_for(dbms: Dbms, version: &str, name_or_path: &str, limits: &HostLimits) -> Result<Config> {
    let (config, wrong) = config_in_part(dbms, version, name_or_path, limits)?;
    wrong.map_or(Ok(config), Err)
}

/// The same of a config with wrong lines, without these; what is wrong with them beside it. The rest may have mistakes
/// that are to be told with theirs.
pub fn config_in_part(
    dbms: Dbms,
    version: &str,
    name_or_path: &str,
    limits: &HostLimits,
) -> Result<(Config, Option<Error>)> {
    let source = Source::named(name_or_path, None);
    let mut reader = Reader::new((dbms, version), limits);
    reader.read(&source, 0)?;
    let wrong = reader.wrong.take_error();
    Ok((reader.config(source.config_name()), wrong))
}

/// The text of a config file with the files that it includes, to be read at another place: shipped configs stay
/// includes, since they follow the host that reads them.
pub fn text_with_files(dbms: Dbms, version: &str, path: &Path) -> Result<String> {
    let limits = HostLimits { memory_bytes: 0, disk_free_bytes: 0 };
    let mut reader = Reader { keeps_shipped: true, ..Reader::new((dbms, version), &limits) };
    reader.read(&Source::File(path.to_owned()), 0)?;
    reader.wrong.take_error().map_or(Ok(reader.text), Err)
}

/// Parses a config's text; equal options have equal hashes. Sections of one series are skipped.
pub fn config_from_text(dbms: Dbms, name: &str, text: &str) -> Result<Config> {
    let limits = HostLimits::of(&Dirs::from_env().work);
    let mut reader = Reader::new((dbms, ""), &limits);
    reader.read_content(&Source::Shipped(name.to_owned()), text, 0);
    match reader.wrong.take_error() {
        Some(wrong) => Err(wrong),
        None => Ok(reader.config(name.to_owned())),
    }
}

/// A config with more options; one that it has already gets the new value.
pub fn config_with(config: &Config, options: &[(&str, &str)]) -> Config {
    let before = |name: &str| {
        let before = config.before.iter().find(|before| before.option == name)?;
        Some(Annotation::Before { version: before.version.clone(), value: before.value.clone() })
    };
    let kept = config.options.iter().map(|(name, value)| Setting {
        name: name.clone(),
        value: value.clone(),
        loose: config.loose.contains(name),
        annotation: before(name),
    });
    let refused = config.refused.iter().map(|refused| Setting {
        name: refused.option.clone(),
        value: refused.value.clone(),
        loose: false,
        annotation: Some(Annotation::Refused {
            reason: refused.reason.clone(),
            instead: refused.taken.clone(),
        }),
    });
    let more = options.iter().map(|(name, value)| Setting {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
        loose: false,
        annotation: None,
    });
    with_settings(config.clone(), kept.chain(refused).chain(more).collect())
}

/// Lines of a config that leave out options which a build refuses, or give them another value, and say why.
pub fn refused_lines(dbms: Dbms, refused: &[LeftOut]) -> Vec<String> {
    let line = |left: &LeftOut| {
        let option = systems::get(dbms).format_option(&left.option, &left.value);
        let with = left.taken.as_ref().map(|value| format!("{WITH}{value}: ")).unwrap_or_default();
        format!("{option} {ANNOTATION} {with}{}", left.reason)
    };
    refused.iter().map(line).collect()
}

/// The config with these settings, and none of its own.
fn with_settings(config: Config, settings: Vec<Setting>) -> Config {
    let (refused, mut settings): (Vec<Setting>, Vec<Setting>) = last_of_each(settings)
        .into_iter()
        .partition(|setting| matches!(setting.annotation, Some(Annotation::Refused { .. })));
    settings.extend(refused.iter().filter_map(|setting| match &setting.annotation {
        Some(Annotation::Refused { instead: Some(value), .. }) => {
            Some(Setting { value: value.clone(), annotation: None, ..setting.clone() })
        }
        _ => None,
    }));
    let options = settings.iter().map(|setting| (setting.name.clone(), setting.value.clone()));
    let loose = settings.iter().filter(|setting| setting.loose).map(|setting| setting.name.clone());
    Config {
        hash: hash(&settings),
        options: options.collect(),
        loose: loose.collect(),
        before: settings.into_iter().filter_map(value_before).collect(),
        refused: refused.into_iter().filter_map(left_out).collect(),
        ..config
    }
}

/// Keeps only the last occurrence of each option, and one that adds to a list with all its values.
fn last_of_each(settings: Vec<Setting>) -> Vec<Setting> {
    let mut kept: Vec<Setting> = Vec::with_capacity(settings.len());
    for mut setting in settings {
        if setting.name == ADDITIVE
            && let Some(earlier) = kept.iter().find(|earlier| earlier.name == ADDITIVE)
        {
            setting.value = format!("{};{}", earlier.value, setting.value);
        }
        kept.retain(|earlier| earlier.name != setting.name);
        kept.push(setting);
    }
    kept
}

fn value_before(setting: Setting) -> Option<ValueBefore> {
    match setting.annotation? {
        Annotation::Before { version, value } => Some(ValueBefore { option: setting.name, version, value }),
        Annotation::Refused { .. } => None,
    }
}

fn left_out(setting: Setting) -> Option<LeftOut> {
    match setting.annotation? {
        Annotation::Refused { reason, instead } => {
            let (option, value) = (setting.name, setting.value);
            Some(LeftOut { option, value, reason, refused: true, taken: instead, ..LeftOut::default() })
        }
        Annotation::Before { .. } => None,
    }
}

fn hash(settings: &[Setting]) -> String {
    let line = |setting: &Setting| {
        let before = match &setting.annotation {
            Some(Annotation::Before { version, value }) => format!(" before {version}: {}", quoted(value)),
            Some(Annotation::Refused { .. }) | None => String::new(),
        };
        format!("{} = {}{before}\n", setting.name, quoted(&setting.value))
    };
    let mut lines: Vec<String> = settings.iter().map(line).collect();
    lines.sort();
    sha256_hex(lines.concat().as_bytes())
}

/// The source of a config's text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Shipped(String),
    File(PathBuf),
}

impl Source {
    /// Relative paths start at `directory`, or else at the working directory.
    fn named(name_or_path: &str, directory: Option<&Path>) -> Source {
        if is_file(name_or_path) {
            Source::File(directory.unwrap_or(Path::new("")).join(name_or_path))
        } else {
            Source::Shipped(name_or_path.to_owned())
        }
    }

    fn config_name(&self) -> String {
        match self {
            Source::Shipped(name) => name.clone(),
            Source::File(path) => path
                .file_stem()
                .map_or_else(|| "config".to_owned(), |stem| stem.to_string_lossy().into_owned()),
        }
    }

    fn display_name(&self) -> String {
        match self {
            Source::Shipped(name) => format!("config {name}"),
            Source::File(path) => path.display().to_string(),
        }
    }
}

struct Reader<'a> {
    dbms: Dbms,
    version: &'a str,
    system: &'static dyn System,
    limits: &'a HostLimits,
    settings: Vec<Setting>,
    other_sections: Vec<String>,
    /// Options that a shipped config set last.
    shipped: BTreeSet<String>,
    /// Where files set options last.
    places: BTreeMap<String, String>,
    /// Whether includes of shipped configs stay as they are in the text, unread.
    keeps_shipped: bool,
    text: String,
    wrong: WrongLines,
}

impl<'a> Reader<'a> {
    fn new((dbms, version): (Dbms, &'a str), limits: &'a HostLimits) -> Reader<'a> {
        Reader {
            dbms,
            version,
            system: systems::get(dbms),
            limits,
            settings: Vec::new(),
            other_sections: Vec::new(),
            shipped: BTreeSet::new(),
            places: BTreeMap::new(),
            keeps_shipped: false,
            text: String::new(),
            wrong: WrongLines::default(),
        }
    }

    fn config(self, name: String) -> Config {
        let empty = Config {
            name,
            hash: String::new(),
            options: Vec::new(),
            before: Vec::new(),
            other_sections: self.other_sections,
            loose: Vec::new(),
            refused: Vec::new(),
            shipped: self.shipped,
            places: self.places,
            text: self.text,
        };
        with_settings(empty, self.settings)
    }

    fn read(&mut self, source: &Source, depth: usize) -> Result<()> {
        let content = match source {
            Source::Shipped(name) => {
                self.system.shipped_text(name, self.limits).ok_or_else(|| unknown_config(self.dbms, name))?
            }
            Source::File(path) => read_text(path)
                .map_err(|error| with_file_meant(error, path))
                .map_err(Error::file("read config", path))?,
        };
        self.read_content(source, &content, depth);
        Ok(())
    }

    fn read_content(&mut self, source: &Source, content: &str, depth: usize) {
        let mut section = String::new();
        for (line, text) in (1..).zip(content.lines()) {
            match self.system.line(&mut section, text, self.version) {
                Err(reason) => {
                    self.wrong.add(source.display_name(), line, reason);
                    continue;
                }
                Ok(Line::Empty) => {}
                Ok(include @ (Line::Include(_) | Line::IncludeIfExists(_) | Line::IncludeDir(..))) => {
                    // A few files that include each other many times could reach any length.
                    if self.text.len() as u64 > TEXT_BYTES_MAX {
                        let reason =
                            format!("with its includes the config has more than {TEXT_BYTES_MAX} bytes");
                        return self.wrong.add(source.display_name(), line, reason);
                    }
                    if let Err(reason) = self.include(include, source, (text, &section), depth) {
                        self.wrong.add(source.display_name(), line, reason);
                    }
                    continue;
                }
                Ok(Line::Option(setting)) => {
                    let name = setting.name.clone();
                    if let Source::File(path) = source {
                        self.shipped.remove(&name);
                        self.places.insert(name, format!("{}:{line}", path.display()));
                    } else {
                        self.places.remove(&name);
                        self.shipped.insert(name);
                    }
                    self.settings.push(setting);
                }
                Ok(Line::Other(section)) if self.other_sections.contains(&section) => {}
                Ok(Line::Other(section)) => self.other_sections.push(section),
            }
            self.text.push_str(text);
            self.text.push('\n');
        }
    }

    /// Reads what a line of `source` includes, which is in this section.
    fn include(
        &mut self,
        include: Line,
        source: &Source,
        (line, section): (&str, &str),
        depth: usize,
    ) -> std::result::Result<(), String> {
        if depth >= INCLUDE_DEPTH_MAX {
            return Err(format!(
                "more than {INCLUDE_DEPTH_MAX} levels of include: does a file include itself?"
            ));
        }
        let directory = match source {
            Source::File(path) => path.parent(),
            Source::Shipped(_) => None,
        };
        let sources = included(include, directory).map_err(|error| error.to_string())?;
        if self.keeps_shipped && matches!(sources.as_slice(), [Source::Shipped(_)]) {
            self.text.push_str(&format!("{line}\n"));
            return Ok(());
        }
        self.text.push_str(&format!("# {line}\n"));
        for included in sources {
            self.read(&included, depth + 1).map_err(|error| match error {
                Error::UnknownConfig { dbms, name, nearest, .. } => format!(
                    "no config of {dbms} is named `{name}`. {} A file has a path or an ending",
                    meant(dbms, &name, &nearest)
                ),
                other => other.to_string(),
            })?;
            self.text.push_str(&format!("# end of {}\n", included.display_name()));
            if !section.is_empty() {
                self.text.push_str(&format!("[{section}]\n"));
            }
        }
        Ok(())
    }
}

/// What an include stands for. Relative paths start at `directory`, or else at the working directory.
fn included(include: Line, directory: Option<&Path>) -> Result<Vec<Source>> {
    let at = |name: &str| directory.unwrap_or(Path::new("")).join(name);
    match include {
        Line::Include(name) => Ok(vec![Source::named(&name, directory)]),
        Line::IncludeIfExists(name) => {
            let path = at(&name);
            Ok(if path.exists() { vec![Source::File(path)] } else { Vec::new() })
        }
        Line::IncludeDir(name, extension) => {
            let path = at(&name);
            let entries = std::fs::read_dir(&path).map_err(Error::file("read config directory", &path))?;
            let is_config = |path: &PathBuf| {
                let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                path.extension().is_some_and(|found| found == extension) && !is_hidden
            };
            let mut files: Vec<PathBuf> =
                entries.flatten().map(|entry| entry.path()).filter(is_config).collect();
            files.sort();
            Ok(files.into_iter().map(Source::File).collect())
        }
        Line::Empty | Line::Option(_) | Line::Other(_) => Ok(Vec::new()),
    }
}

/// `Did you mean `sized`?`, or the nearest names.
fn meant(dbms: Dbms, name: &str, nearest: &str) -> String {
    let names = systems::get(dbms).shipped().iter().map(|(known, _)| *known);
    did_you_mean(name, names).unwrap_or_else(|| format!("Near: {nearest}."))
}

fn unknown_config(dbms: Dbms, name: &str) -> Error {
    let mut names: Vec<&str> = systems::get(dbms).shipped().iter().map(|(name, _)| *name).collect();
    let shipped = names.join(", ");
    let file = file_meant(Path::new(name), is_file);
    // The edit distance takes time proportional to both lengths, and no known name is longer.
    let prefix: String = name.chars().take(100).collect();
    names.sort_by_key(|known| edit_distance(known, &prefix));
    names.truncate(3);
    Error::UnknownConfig { dbms, name: name.to_owned(), nearest: names.join(", "), shipped, file }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const LIMITS: HostLimits = HostLimits { memory_bytes: 24 << 30, disk_free_bytes: 80 << 30 };

    fn value<'a>(config: &'a Config, option: &str) -> Option<&'a str> {
        let found = config.options.iter().find(|(name, _)| name == option);
        found.map(|(_, value)| value.as_str())
    }

    #[test]
    fn every_shipped_config_loads_and_has_a_summary() {
        for (dbms, option, base) in [
            (Dbms::Postgres, "jit", "off"),
            (Dbms::Mysql, "innodb_flush_log_at_trx_commit", "2"),
            (Dbms::Mariadb, "character_set_server", "latin1"),
        ] {
            for shipped in shipped_configs(dbms) {
                let config = load_config_for(dbms, "", &shipped.name.replace('N', "8"), &LIMITS).unwrap();
                let is_durable = shipped.name == "sized" && dbms == Dbms::Mysql;
                let expected = if is_durable { "1" } else { base };
                assert_eq!(value(&config, option), Some(expected), "{dbms} {}", shipped.name);
                assert!(shipped.summary.len() > 20, "{dbms} {}: {}", shipped.name, shipped.summary);
                let kept = config_from_text(dbms, &shipped.name, &config.text).unwrap();
                assert_eq!(kept.hash, config.hash, "{dbms} {}", shipped.name);
            }
        }
    }

    #[test]
    fn config_families_differ_as_documented() {
        let load = |name: &str| load_config_for(Dbms::Postgres, "", name, &LIMITS).unwrap();
        let base = load("x10a_c24r64");
        assert_eq!(value(&base, "shared_buffers"), Some("48GB"));
        let workers = load("x10cw16_c24r64");
        assert_eq!(value(&workers, "io_method"), Some("worker"));
        assert_eq!(value(&workers, "io_workers"), Some("16"));
        assert_eq!(workers.options.len(), base.options.len() + 2);
        assert_ne!(load("x10b_c24r64").hash, load("x10d_c24r64").hash);
        for unknown in ["x10cw3_c24r64", "x10cwN_c24r64", "x10e_c8r32"] {
            let message = load_config_for(Dbms::Postgres, "", unknown, &LIMITS).unwrap_err().to_string();
            assert!(message.contains("Did you mean `x10"), "{message}");
        }
    }

    #[test]
    fn sized_follows_the_host() {
        let sized = load_config_for(Dbms::Postgres, "", "sized", &LIMITS).unwrap();
        assert_eq!(value(&sized, "shared_buffers"), Some("6144MB"));
        assert_eq!(value(&sized, "max_wal_size"), Some("4GB"));
        assert_eq!(value(&sized, "min_wal_size"), Some("2GB"));
        let sized = load_config_for(Dbms::Mysql, "", "sized", &LIMITS).unwrap();
        assert_eq!(value(&sized, "innodb_buffer_pool_size"), Some("6144M"));
        assert_eq!(value(&sized, "innodb_redo_log_capacity"), Some("4096M"));
        assert_eq!(value(&sized, "innodb_log_file_size"), Some("1024M"));
        let sized = load_config_for(Dbms::Mariadb, "", "sized", &LIMITS).unwrap();
        assert_eq!(value(&sized, "innodb_log_file_size"), Some("4096M"));
        assert_eq!(sized.before[0].value, "1024M");
        let tiny = HostLimits { memory_bytes: 1 << 30, disk_free_bytes: 5 << 30 };
        let sized = load_config_for(Dbms::Postgres, "", "sized", &tiny).unwrap();
        assert_eq!(value(&sized, "shared_buffers"), Some("256MB"));
        assert_eq!(value(&sized, "min_wal_size"), Some("512MB"));
    }

    #[test]
    fn all_wrong_lines_are_told_at_once() {
        let text = "[DBOptions]\nmax_open_files\nbytes_per_sync=1\nwal_dir=/x\n";
        let told = config_from_text(Dbms::Rocksdb, "own", text).unwrap_err().to_string();
        assert!(told.starts_with("config own:2: expected `name=value`; line 4: rqps places"), "{told}");
        let many = config_from_text(Dbms::Rocksdb, "own", &"x\n".repeat(12)).unwrap_err().to_string();
        assert!(many.contains("; line 10: ") && many.ends_with("; and 2 lines more"), "{many}");
    }

    #[test]
    fn a_file_includes_and_overrides_and_errors_name_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.conf");
        let load = |text: &str| {
            fs::write(&path, text).unwrap();
            load_config_for(Dbms::Postgres, "", path.to_str().unwrap(), &LIMITS)
        };
        let config = load("include x10a_c8r32\nSHARED_BUFFERS '1GB' # less\n").unwrap();
        assert_eq!(config.name, "mine");
        assert_eq!(value(&config, "shared_buffers"), Some("1GB"));
        assert!(config.text.contains("jit = off"));
        let reordered = load("shared_buffers = 1GB\ninclude 'x10a_c8r32'\nshared_buffers=1GB").unwrap();
        assert_eq!(config.hash, reordered.hash);
        let kept = config_from_text(Dbms::Postgres, "mine", &config.text).unwrap();
        assert_eq!((kept.hash, kept.options), (config.hash, config.options));
        let message = load("jit = off\nwork_mem = 4MB extra").unwrap_err().to_string();
        assert!(message.contains("mine.conf:2: "), "{message}");
        let more = dir.path().join("conf.d");
        fs::create_dir(&more).unwrap();
        for (name, text) in
            [("20.conf", "jit = on"), ("10.conf", "jit = off\nwork_mem = 1MB"), ("30.bak", "jit")]
        {
            fs::write(more.join(name), text).unwrap();
        }
        let config = load("include_dir 'conf.d'\ninclude_if_exists = 'none.conf'\n").unwrap();
        assert_eq!((value(&config, "jit"), value(&config, "work_mem")), (Some("on"), Some("1MB")));
        let place = |option: &str| config.places[option].rsplit('/').next().unwrap().to_owned();
        assert_eq!((place("jit"), place("work_mem")), ("20.conf:1".to_owned(), "10.conf:2".to_owned()));
        // Read elsewhere, the text needs no other file, and what is shipped follows the host there.
        let config = load("include 'sized'\ninclude_dir 'conf.d'\n").unwrap();
        let text = text_with_files(Dbms::Postgres, "", &path).unwrap();
        assert!(text.contains("include 'sized'") && !text.contains("\nshared_buffers"), "{text}");
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("mine.conf");
        fs::write(&copy, text).unwrap();
        let copied = load_config_for(Dbms::Postgres, "", copy.to_str().unwrap(), &LIMITS).unwrap();
        assert_eq!((copied.hash, copied.shipped), (config.hash, config.shipped));
        let mysql = |path: &Path| load_config_for(Dbms::Mysql, "", path.to_str().unwrap(), &LIMITS).unwrap();
        fs::write(dir.path().join("more.cnf"), "[mysqld]\nsort_buffer_size = 2M\n").unwrap();
        let own = "[mysqld]\n!include sized\n!include more.cnf\nmax_connections = 7\n";
        let path = dir.path().join("my.cnf");
        fs::write(&path, own).unwrap();
        let copy = elsewhere.path().join("my.cnf");
        fs::write(&copy, text_with_files(Dbms::Mysql, "", &path).unwrap()).unwrap();
        assert_eq!(mysql(&copy).hash, mysql(&path).hash);
        let message = load("include_dir 'none.d'").unwrap_err().to_string();
        assert!(message.contains("none.d"), "{message}");
        fs::write(more.join("30.conf"), "jit = on\njit\n").unwrap();
        let message =
            load("jit\ninclude 'none.conf'\ninclude_dir 'conf.d'\nx = a b").unwrap_err().to_string();
        let of = |place: &str| message.matches(place).count();
        assert!(of("mine.conf:1: ") == 1 && of("; line 2: cannot read config") == 1, "{message}");
        assert!(of("/30.conf:2: ") == 1 && of("mine.conf:4: ") == 1, "{message}");
        let mine = dir.path().join("mine.conf");
        let (rest, wrong) = config_in_part(Dbms::Postgres, "", mine.to_str().unwrap(), &LIMITS).unwrap();
        assert_eq!((value(&rest, "jit"), value(&rest, "work_mem")), (Some("on"), Some("1MB")));
        assert_eq!(wrong.unwrap().to_string(), message);
        let message = load("include 'mine.conf'").unwrap_err().to_string();
        assert!(message.contains("include itself"), "{message}");
        let next = |level: usize| format!("include 'level{}.conf'\n", level + 1).repeat(100);
        for level in 1..=8 {
            let text = if level < 8 { next(level) } else { String::new() };
            fs::write(dir.path().join(format!("level{level}.conf")), text).unwrap();
        }
        let message = load(&next(0)).unwrap_err().to_string();
        assert!(message.contains("has more than 1048576 bytes"), "{message}");
    }

    #[test]
    fn a_refused_value_is_left_out_or_has_another_in_its_place() {
        let left = |option: &str, value: &str, taken: Option<&str>| LeftOut {
            option: option.to_owned(),
            value: value.to_owned(),
            reason: "refused: Unknown: 'utf8' # x".to_owned(),
            refused: true,
            taken: taken.map(str::to_owned),
            ..LeftOut::default()
        };
        let refused = [left("character_set_server", "utf8", Some("utf8mb3")), left("sync_frm", "1", None)];
        let text = refused_lines(Dbms::Mysql, &refused).join("\n");
        let config =
            config_from_text(Dbms::Mysql, "c", &format!("character_set_server = utf8\n{text}")).unwrap();
        assert_eq!(config.options, [("character_set_server".to_owned(), "utf8mb3".to_owned())]);
        assert_eq!(config.refused, refused);
        let more = config_with(&config, &[("port", "1")]);
        assert_eq!((more.options.len(), &more.refused), (2, &config.refused));
    }

    #[test]
    fn plugins_to_be_loaded_add_up() {
        let text = "plugin-load-add = a.so\nplugin_load_add = b.so\nport = 1\nport = 2\n";
        let config = config_from_text(Dbms::Mysql, "c", text).unwrap();
        let expected = [("plugin_load_add", "a.so;b.so"), ("port", "2")];
        assert_eq!(config.options, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
