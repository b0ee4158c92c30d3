//! How a plan names source code to compile: its location, commit and flavour.
//!
//! The text form is `PLACE[@REF]` after DBMS and flavour: `postgres+o2nofp:/src/postgres@REL_18_STABLE`.

use std::path::Path;

use crate::text::{file_name_safe, short_hash};

/// The flavour if none is given.
pub const DEFAULT_FLAVOUR: &str = "o2nofp";

/// Source code and how to compile it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceSpec {
    /// A directory, a tarball, or a git repository by path or URL.
    pub place: String,
    /// The commit, tag or branch of a git repository. `None`: a directory is compiled as it is.
    pub reference: Option<String>,
    /// A shipped flavour's name, or the path of a flavour file.
    pub flavour: String,
}

impl SourceSpec {
    /// Parses `PLACE[@REF]`. The `@` after the user of a URL does not begin a reference.
    pub fn parse(text: &str, flavour: &str) -> SourceSpec {
        let (place, reference) = split_reference(text);
        let reference = reference.filter(|reference| !reference.is_empty());
        SourceSpec {
            place: place.to_owned(),
            reference: reference.map(str::to_owned),
            flavour: flavour.to_owned(),
        }
    }

    /// Whether the place is a URL, or `host:path` as git writes it.
    pub fn is_remote(&self) -> bool {
        if self.place.contains("://") {
            return true;
        }
        let host = self.place.split(':').next().unwrap_or_default();
        host.len() < self.place.len() && !host.contains('/')
    }

    /// Resolves relative paths against `directory`.
    #[must_use]
    pub fn at(mut self, directory: &Path) -> SourceSpec {
        let absolute = |path: &str| {
            let joined = directory.join(path);
            std::path::absolute(&joined).unwrap_or(joined).to_string_lossy().into_owned()
        };
        if !self.is_remote() {
            self.place = absolute(&self.place);
        }
        if self.flavour_is_file() {
            self.flavour = absolute(&self.flavour);
        }
        self
    }

    /// Whether the flavour is a file instead of a shipped flavour.
    pub fn flavour_is_file(&self) -> bool {
        self.flavour.contains('/') || self.flavour.ends_with(".toml")
    }

    /// Place, reference and flavour, made safe for a file name: `postgres-REL_18_6-o2nofp`.
    pub(crate) fn label(&self) -> String {
        let last = |path: &str| {
            let trimmed = path.trim_end_matches('/');
            trimmed.rsplit(['/', ':']).next().unwrap_or(trimmed).to_owned()
        };
        let place = last(&self.place);
        let place = place.split_once(".tar.").map_or(place.trim_end_matches(".git"), |(name, _)| name);
        let flavour = last(&self.flavour);
        // A full commit id would make table columns too wide.
        let is_commit = |text: &str| text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let reference =
            self.reference.as_deref().map(|text| if is_commit(text) { short_hash(text) } else { text });
        let parts = [Some(place), reference, Some(flavour.trim_end_matches(".toml"))];
        file_name_safe(&parts.into_iter().flatten().collect::<Vec<_>>().join("-"))
    }
}

impl std::fmt::Display for SourceSpec {
    /// The part after the DBMS: `+FLAVOUR:PLACE@REF`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "+{}:{}", self.flavour, self.place)?;
        match &self.reference {
            Some(reference) => write!(f, "@{reference}"),
            // Without it, the text after an `@` in the place would parse as a reference.
            None if split_reference(&self.place).1.is_some() => f.write_str("@"),
            None => Ok(()),
        }
    }
}

/// The place, and the text after the last `@` if that can be a reference: it has no colon, and the text before it is
/// more than the user of a URL.
fn split_reference(text: &str) -> (&str, Option<&str>) {
    let Some((place, reference)) = text.rsplit_once('@') else {
        return (text, None);
    };
    let is_user = place.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    if is_user || reference.contains(':') || place.is_empty() {
        (text, None)
    } else {
        (place, Some(reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_at_sign_begins_a_reference_only_after_a_place() {
        let split = |text: &str| {
            let spec = SourceSpec::parse(text, DEFAULT_FLAVOUR);
            (spec.place.clone(), spec.reference.clone(), spec.is_remote())
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(split("/src/pg@REL_18_6"), ("/src/pg".to_owned(), some("REL_18_6"), false));
        assert_eq!(split("./pg@feature/x"), ("./pg".to_owned(), some("feature/x"), false));
        assert_eq!(split("ssh://git@host/pg"), ("ssh://git@host/pg".to_owned(), None, true));
        assert_eq!(split("ssh://git@host/pg@v1"), ("ssh://git@host/pg".to_owned(), some("v1"), true));
        assert_eq!(split("git@host:pg.git"), ("git@host:pg.git".to_owned(), None, true));
        assert_eq!(split("/src/a:b"), ("/src/a:b".to_owned(), None, false));
        assert_eq!(split("/src/odd@name@"), ("/src/odd@name".to_owned(), None, false));
    }

    #[test]
    fn labels_distinguish_builds_of_one_repository() {
        let label = |text: &str, flavour: &str| SourceSpec::parse(text, flavour).label();
        assert_eq!(label("/src/postgres@REL_18_6", "o2nofp"), "postgres-REL_18_6-o2nofp");
        assert_eq!(label("git@host:team/pg.git@feature/x", "/my/fast.toml"), "pg-feature-x-fast");
        assert_eq!(label("/x/postgresql-18.6.tar.bz2", "o2nofp"), "postgresql-18.6-o2nofp");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(label(&format!("/src/pg/@{commit}"), "o2lto"), "pg-0123456789ab-o2lto");
    }
}
