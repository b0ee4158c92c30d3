//! Defaults that an upgrade changes.

use rqps_explain::{
    Difference, DifferenceKind, can_act, follows_machine, is_in_config, is_of_developers, is_of_version,
    new_switches, renamed,
};
use rqps_model::ServerSetting;

use super::{Upgrade, product};
use crate::document::{Block, Cell, Column, Table};

/// Defaults that a terminal lists, and their longest values.
const SHORT_MAX: usize = 10;
const SHORT_VALUE_MAX: usize = 24;

/// New options that it names.
const NEW_MAX: usize = 5;
/// Defaults with which an option does nothing.
const INACTIVE: [&str; 9] = ["", "0", "-1", "off", "OFF", "NO", "NONE", "none", "disabled"];

const NONE: &str = "No default changed of the options that the config does not set.";

/// A setting or switch that only the new version has.
struct NewOption {
    name: String,
    /// With its default.
    line: String,
    /// Whether it can make a difference to tests.
    can_act: bool,
    usual: Usual,
}

/// What a default does, how the server works coming first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Usual {
    /// One of several ways, such as `worker`.
    Way,
    On,
    Number,
    Nothing,
}

impl From<&str> for Usual {
    fn from(value: &str) -> Self {
        match value {
            nothing if INACTIVE.contains(&nothing) => Self::Nothing,
            on if on.eq_ignore_ascii_case("on") || on.eq_ignore_ascii_case("yes") => Self::On,
            way if way.starts_with(char::is_alphabetic) => Self::Way,
            _ => Self::Number,
        }
    }
}

impl Upgrade<'_, '_> {
    /// Settings that the config leaves at their defaults, which differ.
    pub(super) fn changed_defaults<'d>(
        &self,
        differences: &'d [Difference],
    ) -> impl Iterator<Item = &'d Difference> {
        let refused = self.refused_options();
        let follows = move |name: &str| refused.iter().any(|option| renamed::follows(name, option));
        differences.iter().filter(move |one| {
            one.kind == DifferenceKind::DefaultSetting
                && renamed::is_worth_setting(&one.name)
                && [&one.base, &one.arm].into_iter().flatten().all(|value| is_of_version(&one.name, value))
                && !self.is_replacement(&one.name)
                && !follows(&one.name)
        })
    }

    /// Options whose values the new version rejects, and without which it was measured.
    fn refused_options(&self) -> Vec<&str> {
        let refused = self.new_arm().left_out.iter().filter(|left| left.refused && left.taken.is_none());
        refused.map(|left| left.option.as_str()).collect()
    }

    /// For a terminal: those first that can make a difference to tests, in a paragraph.
    pub(super) fn defaults_in_short(&self, differences: &[Difference]) -> String {
        let mut changed: Vec<&Difference> = self.changed_defaults(differences).collect();
        let (all, new) = (changed.len(), self.new_options());
        if all + new.len() == 0 {
            return NONE.to_owned();
        }
        let values = |one: &Difference| [&one.base, &one.arm].map(|value| value.clone().unwrap_or_default());
        let is_long = |one: &Difference| values(one).iter().any(|value| value.len() > SHORT_VALUE_MAX);
        changed.sort_by_key(|one| (is_long(one), !can_act(&one.name)));
        changed.truncate(SHORT_MAX);
        changed.retain(|one| !is_long(one));
        let more = all - changed.len();
        let listed = changed.iter().map(|one| {
            let note = if follows_machine(&one.name) { " (on this machine)" } else { "" };
            format!("{} {}{note}", one.name, values(one).join(" → "))
        });
        let rest = (more > 0).then(|| format!("{more} more"));
        let listed: Vec<String> = listed.chain(rest).collect();
        let listed = if all > 0 { listed.join("; ") } else { "none".to_owned() };
        let version = product(self.new_arm());
        let first = new.iter().filter(|one| one.can_act && one.usual != Usual::Nothing).take(NEW_MAX);
        let first: Vec<&str> = first.map(|one| &*one.line).collect();
        let first = if first.is_empty() { String::new() } else { format!(", such as {}", first.join(", ")) };
        format!(
            "Defaults that changed: {listed}. Options that only {version} has: {}{first} ({}).",
            new.len(),
            self.details()
        )
    }

    pub(super) fn defaults(&self, differences: &[Difference]) -> Block {
        let columns = ["option", "old", "new"].map(Column::words).to_vec();
        let mut table = Table::new("defaults", "Defaults in effect", columns, 0);
        table.together = true;
        let new = self.new_arm();
        let mut has_of_machine = false;
        let mut changed: Vec<&Difference> = self.changed_defaults(differences).collect();
        changed.sort_by_key(|one| !can_act(&one.name));
        for one in changed {
            has_of_machine |= follows_machine(&one.name);
            let cell = |value: &Option<String>| value.as_deref().map_or_else(Cell::missing, Cell::words);
            table.row(vec![Cell::words(&*one.name), cell(&one.base), cell(&one.arm)]);
        }
        table.footnotes.push(
            "the config does not set these; what can make a difference to tests comes first. To keep an old value, set it \
             explicitly, if the new version still accepts it"
                .to_owned(),
        );
        if has_of_machine {
            let is_open = |one: &&ServerSetting| {
                follows_machine(&one.name) && !is_in_config(&new.config_text, &one.name)
            };
            let names: Vec<&str> = new.settings.iter().filter(is_open).map(|one| &*one.name).collect();
            table.footnotes.push(format!(
                "{} computes these from CPUs, memory or disk: on another machine their values may differ, even where they \
                 did not change here: {}",
                product(new),
                names.join(", ")
            ));
        }
        let refused = self.refused_options();
        if !refused.is_empty() {
            table.footnotes.push(format!(
                "{} was measured without {} of the config: defaults that follow from such an option may be listed, too",
                product(new),
                refused.join(", ")
            ));
        }
        let managed: Vec<&str> = new.managed.iter().map(|setting| setting.name.as_str()).collect();
        let sizes = if new.dbms == "postgres" { "" } else { "; nor are sizes of the performance schema" };
        table.footnotes.push(format!(
            "not listed, because rqps sets them alike on all versions: character set, data checksums and password \
             encryption of new data directories; {}{sizes}",
            managed.join(", ")
        ));
        table.block().unwrap_or_else(|| Block::Text(NONE.to_owned()))
    }

    /// Settings and switches that only the new version has, those first that can make a difference to tests, and of
    /// these what says how the server works.
    fn new_options(&self) -> Vec<NewOption> {
        let (old, new) = (self.old_arm(), self.new_arm());
        // Runs from before settings were recorded have none.
        if old.settings.is_empty() {
            return Vec::new();
        }
        let is_in_old = |name: &String| {
            let mut known = old.settings.iter();
            known.any(|before| before.name == *name || renamed::later_names(&before.name).contains(name))
        };
        let is_added = |name: &String| {
            renamed::is_worth_setting(name)
                && !is_in_old(name)
                && !self.is_replacement(name)
                && !is_in_config(&new.config_text, name)
        };
        let added = new.settings.iter().filter(|setting| is_added(&setting.name));
        let added = added.map(|ServerSetting { name, value, .. }| NewOption {
            name: name.clone(),
            line: format!("{name} = {value}"),
            can_act: can_act(name) && !is_of_developers(name),
            usual: Usual::from(&**value),
        });
        let switches = new_switches(old, new).into_iter().map(|switch| NewOption {
            can_act: switch.split(' ').next().is_some_and(can_act),
            usual: Usual::from(switch.rsplit('=').next().unwrap_or_default()),
            name: switch.clone(),
            line: switch,
        });
        let mut all: Vec<NewOption> = added.chain(switches).collect();
        all.sort_by_key(|one| (!one.can_act, one.usual));
        all
    }

    pub(super) fn new_settings(&self) -> Option<Block> {
        let added = self.new_options();
        let can_act = added.iter().any(|one| one.can_act);
        let order = if can_act { ", first what can make a difference to tests" } else { "" };
        let text = |one: &NewOption| if one.can_act { one.line.clone() } else { one.name.clone() };
        let names: Vec<String> = added.iter().map(text).collect();
        (!added.is_empty()).then(|| {
            Block::Text(format!("Only {} has{order}: {}.", product(self.new_arm()), names.join(", ")))
        })
    }
}
