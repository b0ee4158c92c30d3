//! What a build's plugins tell: options that it knows once one of them is loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rqps_builds::mysql::Layout;
use rqps_builds::{Build, ServerUser};
use rqps_model::{LeftOut, if_meant, later_words, nearest};

use super::conf::format_option;
use super::options;
use crate::applied::Options;
use crate::error::Result;

/// Beginnings of options that MySQL and MariaDB know once a plugin is loaded; published builds have few.
const OF_PLUGINS: [&str; 17] = [
    "audit_log",
    "authentication_",
    "clone_",
    "connection_control_",
    "daemon_memcached_",
    "group_replication_",
    "keyring_",
    "mroonga_",
    "query_response_time_",
    "rewriter_",
    "rpl_semi_sync_",
    "server_audit_",
    "simple_password_check_",
    "spider_",
    "thread_pool_",
    "validate_password",
    "version_tokens_",
];

/// Options whose values name plugins: `name=file;file`.
const LOADING: [&str; 3] = ["early_plugin_load", "plugin_load", "plugin_load_add"];

/// In names of options of MySQL's components, `validate_password.policy`.
const OF_COMPONENTS: char = '.';

/// Beginning of the names of MySQL's components, which options do not load.
const COMPONENT: &str = "component_";
const EXTENSION: &str = ".so";

/// Keyrings as plugins, which MySQL 8.4 removed, and the components that can have their keys.
const KEYRINGS: [(&str, &str); 2] = [
    ("keyring_encrypted_file", "component_keyring_encrypted_file"),
    ("keyring_file", "component_keyring_file"),
];

/// Whether an option, by its name, is one of a plugin that may be missing.
pub fn is_of_a_plugin(option: &str) -> bool {
    OF_PLUGINS.iter().any(|beginning| option.starts_with(beginning))
}

/// Why a build does not take an option of a plugin without it, and what to write instead.
pub(crate) fn without_plugin(
    (build, layout, user): (&Build, &Layout, &ServerUser),
    (option, value): (&str, &str),
) -> Result<LeftOut> {
    let left = |reason: String| LeftOut { reason, unknown: true, ..LeftOut::default() };
    if option.contains(OF_COMPONENTS) {
        let reason = "unknown without its component, which is not installed".to_owned();
        return Ok(LeftOut { unknown: false, ..left(reason) });
    }
    let plugins = of_build((build, layout, user))?;
    if let Some(file) = plugins.get(option) {
        let reason = format!("known only with its plugin {file}");
        return Ok(LeftOut { unknown: false, ..left(reason) });
    }
    if let Some((name, file)) = later_words(option).and_then(|name| plugins.get_key_value(&name)) {
        let reason = format!("unknown; its plugin {file} has {name}");
        return Ok(LeftOut { instead: Some(format_option(name, value)), ..left(reason) });
    }
    let files: BTreeSet<&String> = plugins.values().collect();
    Ok(match files.len() {
        0 => LeftOut { unknown: false, ..left("unknown; the build has no plugins".to_owned()) },
        count => left(format!("unknown, whichever of the {count} plugins is loaded")),
    })
}

/// The plugins that a value of an option names and that are not among a build's `files`, with what it has instead, and
/// the value without them. `None` if it has all.
pub(crate) fn missing(files: &BTreeSet<String>, (option, value): (&str, &str)) -> Option<(LeftOut, String)> {
    if !is_loading(option) {
        return None;
    }
    let is_here = |entry: &str| {
        let file = file_of(entry);
        files.contains(file) || files.contains(&format!("{file}{EXTENSION}"))
    };
    let entries = value.split(';').map(str::trim).filter(|entry| !entry.is_empty());
    let (here, missing): (Vec<&str>, Vec<&str>) = entries.partition(|entry| is_here(entry));
    if missing.is_empty() {
        return None;
    }
    let left = LeftOut { option: option.to_owned(), value: missing.join(";"), ..LeftOut::default() };
    if files.is_empty() {
        // The servers that the config is for may have them.
        return Some((LeftOut { reason: "this build has no plugins".to_owned(), ..left }, here.join(";")));
    }
    let later: Vec<String> =
        missing.iter().filter_map(|entry| later_words(entry).filter(|later| is_here(later))).collect();
    let meant = missing
        .iter()
        .filter(|_| later.is_empty())
        .find_map(|entry| nearest(file_of(entry), files.iter().map(String::as_str)));
    let question = if_meant(meant);
    let left = LeftOut {
        reason: format!("no such plugin, and the server starts without it{}{question}", migration(&missing)),
        without_effect: true,
        instead: (!later.is_empty()).then(|| format_option(option, &later.join(";"))),
        ..left
    };
    Some((left, here.join(";")))
}

/// The file of an entry, `file` or `name=file`.
fn file_of(entry: &str) -> &str {
    entry.rsplit('=').next().unwrap_or_default().trim()
}

/// What must precede the end of a keyring's plugin: without their keys, encrypted tables cannot be read.
fn migration(missing: &[&str]) -> String {
    let component = |entry: &&str| {
        let known = KEYRINGS.iter().find(|(plugin, _)| entry.contains(plugin));
        known
            .map(|(_, component)| format!("; encrypted tables need their keys migrated to {component} first"))
    };
    missing.iter().find_map(component).unwrap_or_default()
}

/// The plugins that a config loads and the build has, `name=file;file`.
pub(crate) fn loaded_by(options: &Options, layout: &Layout) -> Result<String> {
    let files = files(layout)?;
    let here = |(option, value): &(String, String)| match missing(&files, (option, value)) {
        Some((_, here)) => here,
        None => value.clone(),
    };
    let loading = options.iter().filter(|(option, _)| is_loading(option));
    Ok(loading.map(here).filter(|value| !value.is_empty()).collect::<Vec<_>>().join(";"))
}

pub(crate) fn is_loading(option: &str) -> bool {
    LOADING.contains(&option)
}

/// The libraries of a build that may be plugins.
pub(crate) fn files(layout: &Layout) -> Result<BTreeSet<String>> {
    let Some(dir) = &layout.plugin_dir else { return Ok(BTreeSet::new()) };
    let entries = fs::read_dir(dir).map_err(crate::error::Error::file("list", dir))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.ends_with(EXTENSION) && !name.starts_with(COMPONENT)).collect())
}

/// Options that the build has with one of its plugins only, and the plugin's file.
type OfPlugins = BTreeMap<String, String>;

/// Asks the build's program once for each plugin; of a list it loads none after one that is for clients. Cached.
fn of_build((build, layout, user): (&Build, &Layout, &ServerUser)) -> Result<Arc<OfPlugins>> {
    static CACHE: Mutex<BTreeMap<(PathBuf, String), Arc<OfPlugins>>> = Mutex::new(BTreeMap::new());
    let key = (build.root.clone(), build.hash.clone());
    let lock = || CACHE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(found) = lock().get(&key) {
        return Ok(Arc::clone(found));
    }
    let known = options::known((build, layout, user), "")?;
    let mut found = OfPlugins::new();
    for file in files(layout)? {
        let with_plugin = options::known((build, layout, user), &file)?;
        let own = with_plugin.names().filter(|name| !known.has(name));
        found.extend(own.map(|name| (name.to_owned(), file.clone())));
    }
    let found = Arc::new(found);
    lock().insert(key, Arc::clone(&found));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_is_missing_is_left_out_for_its_later_name() {
        let files: BTreeSet<String> =
            ["semisync_source.so", "mysql_clone.so"].map(str::to_owned).into_iter().collect();
        let missing = |option, value| missing(&files, (option, value));
        let (left, here) = missing("plugin_load_add", "semisync_master.so;mysql_clone.so").unwrap();
        assert_eq!((&*left.value, &*here), ("semisync_master.so", "mysql_clone.so"));
        assert_eq!(left.instead.as_deref(), Some("plugin_load_add = semisync_source.so"));
        assert!(left.without_effect && left.reason.contains("starts without it"), "{left:?}");
        let (left, here) = missing("plugin_load", "rpl_semi_sync_master=semisync_master.so").unwrap();
        assert_eq!(left.instead.as_deref(), Some("plugin_load = rpl_semi_sync_source=semisync_source.so"));
        assert_eq!(here, "");
        let (left, _) = missing("early_plugin_load", "keyring_file.so").unwrap();
        assert!(
            left.instead.is_none() && left.reason.contains("migrated to component_keyring_file"),
            "{left:?}"
        );
        let (left, _) = missing("plugin_load_add", "mysql_clon.so").unwrap();
        assert!(left.reason.ends_with("; did you mean mysql_clone.so?"), "{left:?}");
        for (option, value) in [("plugin_load", "clone=mysql_clone.so"), ("plugin_load_add", "mysql_clone")] {
            assert!(missing(option, value).is_none(), "{value}");
        }
        assert!(missing("init_file", "a.sql").is_none());
    }

    /// What nobody would hear of: such a server starts, and has none.
    #[test]
    fn a_build_without_plugins_leaves_them_out() {
        let (left, here) = missing(&BTreeSet::new(), ("plugin_load_add", "a.so;b.so")).unwrap();
        assert_eq!((&*left.value, &*here), ("a.so;b.so", ""));
        assert!(left.reason.contains("no plugins") && !left.without_effect, "{left:?}");
    }

    #[test]
    fn a_config_loads_those_of_its_plugins_that_the_build_has() {
        let root = tempfile::tempdir().unwrap();
        for file in ["bin/mysqld", "share/english/errmsg.sys", "lib/plugin/a.so", "lib/plugin/b.so"] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let layout = Layout::find(root.path()).unwrap();
        let loaded = |options: &[(&str, &str)]| {
            let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            loaded_by(&options.collect(), &layout).unwrap()
        };
        assert_eq!(
            loaded(&[("plugin_load_add", "a.so;gone.so"), ("port", "1"), ("early_plugin_load", "x=b.so")]),
            "a.so;x=b.so"
        );
        fs::remove_dir_all(root.path().join("lib")).unwrap();
        let layout = Layout::find(root.path()).unwrap();
        assert_eq!(loaded_by(&vec![("plugin_load".to_owned(), "a.so".to_owned())], &layout).unwrap(), "");
    }
}
