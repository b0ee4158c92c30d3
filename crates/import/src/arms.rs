//! What an arm is: its name, and DBMS, version and config as far as names or files tell.

use std::collections::BTreeMap;
use std::path::Path;

use rqps_model::{Dbms, nearest};

use crate::error::{Error, Result};
use crate::names::ArmName;
use crate::words::words;

/// `PATTERN=dbms:version[:config]`: says what arms are whose names don't tell, or tell wrongly.
#[derive(Debug, Clone)]
pub struct ArmRule {
    pattern: glob::Pattern,
    identity: Identity,
}

impl std::str::FromStr for ArmRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::BadArm(text.to_owned());
        let (pattern, identity) = text.rsplit_once('=').ok_or_else(bad)?;
        let mut parts = identity.splitn(3, ':');
        let (dbms, version) = (parts.next().unwrap_or_default(), parts.next().ok_or_else(bad)?);
        let known = Dbms::ALL.map(Dbms::name);
        if let (false, Some(nearest)) = (known.contains(&dbms), nearest(dbms, known)) {
            return Err(Error::UnknownDbms { rule: text.to_owned(), dbms: dbms.to_owned(), nearest });
        }
        let invalid = |error: glob::PatternError| Error::Pattern {
            pattern: pattern.to_owned(),
            why: error.msg.to_owned(),
        };
        let identity = Identity {
            dbms: dbms.to_owned(),
            version: version.to_owned(),
            config: parts.next().unwrap_or_default().to_owned(),
        };
        Ok(Self { pattern: glob::Pattern::new(pattern).map_err(invalid)?, identity })
    }
}

/// Empty where nobody says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub dbms: String,
    pub version: String,
    pub config: String,
}

/// An arm of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedArm {
    /// As in the run.
    pub name: String,
    /// As given, in a table, or the directory's.
    pub raw: String,
    /// The directory, or empty.
    pub origin: String,
    pub identity: Identity,
    /// Whether the user named it.
    pub is_given: bool,
    /// Whether the files name it, or a directory whose name tells DBMS and version.
    pub is_told: bool,
    /// Whether it is a directory beside one that is called as base is: `v1` beside `master` is no repeat.
    pub is_beside_base: bool,
    pub measured_at_ms: Option<i64>,
}

impl ImportedArm {
    /// Takes what rules and its raw name say of it, if they do.
    pub fn identify(&mut self, rules: &[ArmRule]) {
        let rule = rules.iter().find(|rule| rule.pattern.matches(&self.raw));
        let of_name = || Some(version_of_release(&self.raw)).filter(|told| !told.version.is_empty());
        if let Some(identity) = rule.map(|rule| rule.identity.clone()).or_else(of_name) {
            self.identity = identity;
        }
    }
}

/// Arms by their raw names, in order of appearance.
#[derive(Debug, Default)]
pub struct Arms {
    pub all: Vec<ImportedArm>,
    by_raw: BTreeMap<String, usize>,
}

impl Arms {
    /// The arm of that raw name, which is added if it is new.
    pub fn at(&mut self, raw: &str, origin: &Path, rules: &[ArmRule]) -> usize {
        if let Some(index) = self.by_raw.get(raw) {
            return *index;
        }
        let rule = rules.iter().find(|rule| rule.pattern.matches(raw));
        let identity = match (rule, ArmName::parse(raw)) {
            (Some(rule), _) => rule.identity.clone(),
            (None, Some(ArmName { dbms, version, config })) => {
                Identity { dbms: dbms.name().to_owned(), version, config }
            }
            (None, None) => version_of_release(raw),
        };
        let origin = origin.to_string_lossy().into_owned();
        self.by_raw.insert(raw.to_owned(), self.all.len());
        self.all.push(ImportedArm {
            name: raw.to_owned(),
            raw: raw.to_owned(),
            origin,
            identity,
            is_given: false,
            is_told: ArmName::parse(raw).is_some(),
            is_beside_base: false,
            measured_at_ms: None,
        });
        self.all.len() - 1
    }

    /// # Errors
    /// If a rule is about no arm: it is misspelt, and what it says would be missing.
    pub fn expect_use_of(&self, rules: &[ArmRule]) -> Result<()> {
        let is_unused = |rule: &&ArmRule| !self.all.iter().any(|arm| rule.pattern.matches(&arm.raw));
        let Some(unused) = rules.iter().find(is_unused) else { return Ok(()) };
        let known: Vec<&str> = self.all.iter().map(|arm| arm.raw.as_str()).collect();
        Err(Error::UnusedRule { pattern: unused.pattern.to_string(), known: known.join(", ") })
    }

    /// Sorts versions of one DBMS, the oldest first. Returns the new place of each arm.
    pub fn sort_by_version(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        let versions: Option<Vec<Vec<i64>>> =
            self.all.iter().map(|arm| version_numbers(&arm.identity.version)).collect();
        let is_one = |arm: &ImportedArm| {
            !arm.identity.dbms.is_empty() && arm.identity.dbms == self.all[0].identity.dbms
        };
        if let Some(versions) = versions.filter(|_| self.all.iter().all(is_one)) {
            order.sort_by_key(|arm| &versions[*arm]);
        }
        self.all = order.iter().map(|arm| self.all[*arm].clone()).collect();
        let mut places = vec![0; order.len()];
        for (place, arm) in order.into_iter().enumerate() {
            places[arm] = place;
        }
        places
    }

    /// Gives arms whose names tell DBMS, version and config the names of variants, unless two would have the same.
    pub fn name(&mut self) {
        let variants: Vec<Option<String>> = self.all.iter().map(variant).collect();
        for (index, arm) in self.all.iter_mut().enumerate() {
            if let Some(variant) = &variants[index]
                && variants.iter().filter(|other| *other == &variants[index]).count() == 1
            {
                arm.name = variant.clone();
            }
        }
    }
}

/// What comes before a release, in its order.
const BEFORE: [&str; 4] = ["devel", "alpha", "beta", "rc"];

/// `18.1` is 18, 1; `18beta1` comes before all of 18.
pub fn version_numbers(text: &str) -> Option<Vec<i64>> {
    let mut numbers = Vec::new();
    for part in text.split(['.', '-', ' ']) {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let Ok(number) = number.parse() else { break };
        numbers.push(number);
        if let Some(stage) = BEFORE.iter().position(|stage| rest.starts_with(stage)) {
            numbers.push(stage as i64 - BEFORE.len() as i64);
            numbers.extend(rest[BEFORE[stage].len()..].parse::<i64>().ok());
        }
        if !rest.is_empty() {
            break;
        }
    }
    (!numbers.is_empty()).then_some(numbers)
}

/// A text that begins with a version, as that and the config after it: `18beta1` and `huge pages` of
/// `18beta1 (huge pages)`.
fn version_and_config(text: &str) -> (String, String) {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let number = text[..text.find(|c| !is_number(c)).unwrap_or(text.len())].trim_end_matches('.');
    let after = &text[number.len()..];
    let stage = BEFORE.iter().find_map(|stage| {
        let digits = after.strip_prefix(stage)?.trim_start_matches(|c: char| c.is_ascii_digit());
        Some(after.len() - digits.len())
    });
    let (version, config) = text.split_at(number.len() + stage.unwrap_or(0));
    let is_around = |c: char| " .-_(),".contains(c);
    (version.to_owned(), config.trim_matches(is_around).to_owned())
}

/// The variant of an arm whose directory tells it.
fn variant(arm: &ImportedArm) -> Option<String> {
    let ArmName { dbms, version, config } = ArmName::parse(&arm.raw)?;
    let config = if config.is_empty() { String::new() } else { format!(".{config}") };
    Some(format!("{}-{version}{config}", dbms.name()))
}

/// Words that name what others are compared with, the plainest first.
const OF_BASE: [&str; 18] = [
    "base",
    "old",
    "before",
    "baseline",
    "unpatched",
    "vanilla",
    "stock",
    "original",
    "orig",
    "reference",
    "ref",
    "control",
    "master",
    "main",
    "trunk",
    "without",
    "off",
    "pre",
];
/// Of these, words that settings have, too.
const OF_SETTINGS: [&str; 3] = ["without", "off", "pre"];
/// Names base beside iterations of a patch, but beside such words what is compared with them.
const HEAD: &str = "head";
/// Words that name what is compared with them.
const WORDS: [&str; 5] = [HEAD, "new", "after", "patch", "patched"];
/// Of these, words for what is compared with HEAD.
const PATCHED: [&str; 2] = ["patch", "patched"];

/// How plainly a word tells that a name is base's, the plainest first.
pub fn rank_of_word(word: &str) -> Option<usize> {
    place_in_words(word).or_else(|| is_head(word).then_some(OF_BASE.len()))
}

fn place_in_words(text: &str) -> Option<usize> {
    OF_BASE.iter().position(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a rank is that of a word which settings have, too: `off`.
pub fn is_of_setting(rank: usize) -> bool {
    OF_BASE.get(rank % OF_BASE.len()).is_some_and(|word| OF_SETTINGS.contains(word))
}

pub fn is_head(name: &str) -> bool {
    name.eq_ignore_ascii_case(HEAD)
}

/// Whether a name is that of a patch, or of what was built with it: `patched`, `0001-avoid-lock`.
pub fn names_patched(name: &str) -> bool {
    let is_file =
        name.len() > 5 && name.as_bytes()[4] == b'-' && name.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    let is_word = |word: &str| PATCHED.iter().any(|own| word.eq_ignore_ascii_case(own));
    is_file || is_iteration(name) || words(name).into_iter().any(is_word)
}

/// How plainly a name tells that it is base's, the plainest first: by its whole, or by a word in it.
pub fn rank_of_base(name: &str) -> Option<usize> {
    let within = || words(name).into_iter().filter_map(place_in_words).min().map(|rank| rank + OF_BASE.len());
    let head = || is_head(name).then_some(2 * OF_BASE.len());
    place_in_words(name).or_else(within).or_else(head)
}

/// Whether a name is one of a patch's iterations, or of a part of it: `v2`, `v2-0001`.
fn is_iteration(name: &str) -> bool {
    let numbers = name.strip_prefix(['v', 'V']).map(|rest| rest.split(['-', '_', '.']));
    numbers.is_some_and(|mut all| {
        all.next().is_some_and(|first| !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The arm that tells that it is base, by its whole name or a word in it, and whether no other arm tells the same.
pub fn named_base(arms: &[ImportedArm]) -> Option<(usize, bool)> {
    let is = |name: &str, word: &str| name.eq_ignore_ascii_case(word);
    let whole = |word: &str| arms.iter().position(|arm| is(&arm.name, word) || is(&arm.raw, word));
    let has = |arm: &ImportedArm, word: &str| words(&arm.raw).into_iter().any(|own| is(own, word));
    let within = |word: &str| {
        let mut fitting = (0..arms.len()).filter(|arm| has(&arms[*arm], word));
        let (first, others) = (fitting.next()?, fitting.count());
        (others + 1 < arms.len()).then_some((first, others == 0))
    };
    // `HEAD~1` of `HEAD`
    let is_parent = |arm: &ImportedArm| {
        let commit = arm.raw.split_once(['~', '^']).map(|(commit, _)| commit);
        commit.is_some_and(|commit| arms.iter().any(|arm| arm.raw == commit))
    };
    let is_head_of_patches = |arm: &ImportedArm| {
        let mut others = arms.iter().filter(|other| other.raw != arm.raw);
        is_head(&arm.raw) && others.all(|other| names_patched(&other.raw))
    };
    let parent = || arms.iter().position(|arm| is_parent(arm) || is_head_of_patches(arm));
    let whole = OF_BASE.iter().find_map(|word| whole(word));
    let sure = |arm| (arm, true);
    whole.or_else(parent).map(sure).or_else(|| OF_BASE.iter().find_map(|word| within(word)))
}

/// Whether arms are of several versions of one DBMS.
pub fn are_versions(arms: &[ImportedArm]) -> bool {
    let is_one = |arm: &ImportedArm| {
        let identity = &arm.identity;
        !identity.dbms.is_empty() && identity.dbms == arms[0].identity.dbms && !identity.version.is_empty()
    };
    arms.iter().all(is_one) && arms.iter().any(|arm| arm.identity.version != arms[0].identity.version)
}

/// Whether a directory's name is one of an arm, whatever is in it.
pub fn names_arm(name: &str) -> bool {
    let is_version = || version_of_release(name) != Identity::default();
    let is_number = || name.contains('.') && name.split('.').all(|part| part.parse::<u32>().is_ok());
    let is_word = || WORDS.contains(&name) || OF_BASE.contains(&name);
    ArmName::parse(name).is_some() || is_word() || is_version() || is_number()
}

/// `postgres-18.1` and `mysql 8.4` tell DBMS and version, too; what follows is the config.
fn version_of_release(raw: &str) -> Identity {
    let told = Dbms::ALL.into_iter().find_map(|dbms| {
        let version = raw.strip_prefix(dbms.name())?.strip_prefix(['-', ' '])?;
        version.starts_with(|c: char| c.is_ascii_digit()).then_some((dbms, version))
    });
    let Some((dbms, text)) = told else { return Identity::default() };
    let (version, config) = version_and_config(text);
    Identity { dbms: dbms.name().to_owned(), version, config }
}

/// Releases of Postgres that have one number, as far as a bare number may mean one.
const POSTGRES: std::ops::RangeInclusive<u32> = 10..=30;

/// First numbers of releases.
fn majors(dbms: Dbms) -> std::ops::RangeInclusive<u32> {
    match dbms {
        Dbms::Postgres => 9..=*POSTGRES.end(),
        _ => 5..=13,
    }
}

/// The version at the beginning of a name that tells no DBMS, or in a form that `ArmName` leaves out: 16.4 of `16.4`,
/// `pg16.4` and `REL_16_4`, 16 of `v16`, `PG16` and `REL_16_STABLE`. Who knows that files are of `dbms` can tell
/// versions from other numbers.
pub fn version_in_name(raw: &str, dbms: Dbms) -> Option<String> {
    let name = raw.to_lowercase();
    // `pg164`, of files that are no directory of an arm
    if let Some(known) = ArmName::parse(&name).filter(|known| known.dbms == dbms) {
        return Some(known.version);
    }
    let digits_at = name.find(|c: char| c.is_ascii_digit())?;
    let (prefix, rest) = name.split_at(digits_at);
    // `010-patched` was the tenth.
    if rest.starts_with('0') {
        return None;
    }
    let prefix = prefix.trim_end_matches(|c: char| " -_.".contains(c));
    let own: &[&str] = match dbms {
        Dbms::Postgres => &["pg", "postgres", "postgresql"],
        Dbms::Mysql => &["my", "mysql"],
        Dbms::Mariadb => &["ma", "maria", "mariadb"],
        _ => return None,
    };
    let is_release = prefix == "rel";
    let is_named = own.contains(&prefix) || is_release && dbms == Dbms::Postgres;
    if !is_named && !["", "v"].contains(&prefix) {
        return None;
    }
    // `rel_16_4`
    let rest = if is_release { rest.replace('_', ".") } else { rest.to_owned() };
    let (version, after) = version_and_config(&rest);
    // `16k`, `4-1.txt`'s words
    let ends = after.is_empty() || !rest[version.len()..].starts_with(char::is_alphanumeric);
    let parts: Vec<&str> = version.split('.').collect();
    // `v1.0001` is of a patch
    let is_release = |all: &[&str]| {
        all[0].parse().is_ok_and(|major| majors(dbms).contains(&major))
            && all[1..].iter().all(|minor| minor.len() < 2 || !minor.starts_with('0'))
    };
    let [major] = parts[..] else {
        return (ends && (is_named || prefix.is_empty() || is_release(&parts))).then_some(version);
    };
    // `18beta1`
    let stage = major.find(|c: char| !c.is_ascii_digit()).unwrap_or(major.len());
    let number: u32 = major[..stage].parse().ok().filter(|_| ends)?;
    let split = |at: usize| Some(format!("{}.{}", major.get(..at)?, major.get(at..)?));
    match (dbms, stage) {
        (Dbms::Postgres, _) if POSTGRES.contains(&number) => Some(version),
        (Dbms::Postgres, 2) if is_named && major.starts_with('9') => split(1),
        (Dbms::Mysql, 2) if is_named => split(1),
        (Dbms::Mariadb, 3 | 4) if is_named => split(2),
        (Dbms::Mysql | Dbms::Mariadb, _) if is_named && (5..=13).contains(&number) => Some(version),
        _ => None,
    }
}

/// Whether a name is a bare number, such as `16` or `v16`, which may be that of a patch or of clients.
pub fn is_bare_number(raw: &str) -> bool {
    let number = raw.trim_start_matches(['v', 'V']);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_they_were_released() {
        let released =
            ["9.6.24", "11.10", "12.4", "18devel", "18beta1", "18beta2", "18rc1", "18.0", "18.1", "18.10"];
        let numbers = released.map(|version| version_numbers(version).unwrap());
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!(version_numbers("10.11.6-MariaDB"), Some(vec![10, 11, 6]));
        assert_eq!(version_numbers("head"), None);
    }

    #[test]
    fn names_tell_versions_without_a_dbms() {
        for (raw, dbms, version) in [
            ("16.4", Dbms::Postgres, Some("16.4")),
            ("pg16.4", Dbms::Postgres, Some("16.4")),
            ("pg16", Dbms::Postgres, Some("16")),
            ("PG16", Dbms::Postgres, Some("16")),
            ("v16", Dbms::Postgres, Some("16")),
            ("16", Dbms::Postgres, Some("16")),
            ("REL_16_STABLE", Dbms::Postgres, Some("16")),
            ("REL_16_4", Dbms::Postgres, Some("16.4")),
            ("pg16-hugepages", Dbms::Postgres, Some("16")),
            ("pg18beta1", Dbms::Postgres, Some("18beta1")),
            ("pg96", Dbms::Postgres, Some("9.6")),
            ("pg164", Dbms::Postgres, Some("16.4")),
            ("mysql84", Dbms::Mysql, Some("8.4")),
            ("mysql8", Dbms::Mysql, Some("8")),
            ("mariadb1011", Dbms::Mariadb, Some("10.11")),
            ("mysql84", Dbms::Postgres, None),
            ("v2", Dbms::Postgres, None),
            ("v1.0001", Dbms::Postgres, None),
            ("v16.0001", Dbms::Postgres, None),
            ("v16.4", Dbms::Postgres, Some("16.4")),
            ("v1-0001", Dbms::Mysql, None),
            ("64", Dbms::Postgres, None),
            ("16k", Dbms::Postgres, None),
            ("8", Dbms::Mysql, None),
            ("c16", Dbms::Postgres, None),
            ("host16", Dbms::Postgres, None),
        ] {
            assert_eq!(version_in_name(raw, dbms).as_deref(), version, "{raw}");
        }
    }

    #[test]
    fn what_follows_a_version_is_the_config() {
        for (raw, version, config) in [
            ("postgres-17.2", "17.2", ""),
            ("postgres-17.2-hugepages", "17.2", "hugepages"),
            ("postgres-17.2.nohp", "17.2", "nohp"),
            ("postgres-17.2 (huge pages)", "17.2", "huge pages"),
            ("mysql 8.4 no huge pages", "8.4", "no huge pages"),
            ("postgres-18beta1-hp", "18beta1", "hp"),
            ("postgres-19devel", "19devel", ""),
        ] {
            let found = version_of_release(raw);
            assert_eq!((&*found.version, &*found.config), (version, config), "{raw}");
        }
    }
}
