//! Defaults that an upgrade changes.

use rqps_explain::{
    Difference, DifferenceKind, can_act, follows_machine, is_in_config, is_of_version, new_switches, renamed,
};
use rqps_model::ServerSetting;

use super::{Upgrade, product};
use crate::document::{Block, Cell, Column, Table};

/// Defaults that a terminal lists, and their longest values.
const SHORT_MAX: usize = 10;
const SHORT_VALUE_MAX: usize = 24;

const NONE: &str = "No default changed of the options that the config does not set.";

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
        let (all, new) = (changed.len(), self.new_options().len());
        if all + new == 0 {
            return NONE.to_owned();
        }
        let values = |one: &Difference| [&one.base, &one.arm].map(|value| value.clone().unwrap_or_default());
        let is_long = |one: &Difference| values(one).iter().any(|value| value.len() > SHORT_VALUE_MAX);
        changed.sort_by_key(|one| (is_long(one), !can_act(&one.name)));
        changed.truncate(SHORT_MAX);
        changed.retain(|one| !is_long(one));
        let more = all - changed.len();
        let listed = changed.iter().map(|one| format!("{} {}", one.name, values(one).join(" → ")));
        let rest = (more > 0).then(|| format!("{more} more"));
        let listed: Vec<String> = listed.chain(rest).collect();
        let listed = if all > 0 { listed.join("; ") } else { "none".to_owned() };
        let version = product(self.new_arm());
        format!(
            "Defaults that changed: {listed}. Options that only {version} has: {new} ({}).",
            self.details()
        )
    }

    pub(super) fn defaults(&self, differences: &[Difference]) -> Block {
        let columns = ["option", "old", "new"].map(Column::words).to_vec();
        let mut table = Table::new("defaults", "Defaults in effect", columns, 0);
        table.together = true;
        let new = self.new_arm();
        let mut has_of_machine = false;
        for one in self.changed_defaults(differences) {
            has_of_machine |= follows_machine(&one.name);
            let cell = |value: &Option<String>| value.as_deref().map_or_else(Cell::missing, Cell::words);
            table.row(vec![Cell::words(&*one.name), cell(&one.base), cell(&one.arm)]);
        }
        table.footnotes.push(
            "the config does not set these. To keep an old value, set it explicitly, if the new version still accepts it".to_owned(),
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

    /// Settings and switches that only the new version has.
    fn new_options(&self) -> Vec<String> {
        let (old, new) = (self.old_arm(), self.new_arm());
        // Runs from before settings were recorded have none.
        if old.settings.is_empty() {
            return Vec::new();
        }
        let is_in_old = |name: &str| old.settings.iter().any(|setting| setting.name == name);
        let added =
            new.settings.iter().map(|setting| setting.name.clone()).filter(|name| {
                renamed::is_worth_setting(name) && !is_in_old(name) && !self.is_replacement(name)
            });
        added.chain(new_switches(old, new)).collect()
    }

    pub(super) fn new_settings(&self) -> Option<Block> {
        let added = self.new_options();
        (!added.is_empty())
            .then(|| Block::Text(format!("Only {} has: {}.", product(self.new_arm()), added.join(", "))))
    }
}
