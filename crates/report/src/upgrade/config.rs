//! What becomes of the options of an upgrade's config.

use rqps_explain::renamed::{self, Replacement};
use rqps_explain::{Difference, DifferenceKind, is_in_config};
use rqps_model::{LeftOut, SET_IN_BLOCKS, ServerSetting};
use rqps_store::Arm;

use super::{Upgrade, product};
use crate::document::{Block, Cell, Column, Table};

/// The longest value of a refused option that is told.
const IN_EFFECT_MAX: usize = 60;

impl Upgrade<'_, '_> {
    /// Whether the new version starts with the config.
    pub(super) fn start(&self) -> Option<String> {
        let new = self.new_arm();
        let is_new = |left: &&LeftOut| !left.option.starts_with('[') && self.is_new(left);
        let left_out = || new.left_out.iter().filter(is_new);
        let unknown = left_out().filter(|left| self.is_unknown(left)).count();
        let refused = left_out().filter(|left| left.refused && !self.is_unknown(left)).count();
        let mut reasons = Vec::new();
        if unknown > 0 {
            reasons.push(format!("does not know {unknown} of its options"));
        }
        if refused > 0 {
            let values = if refused == 1 { "value of one option" } else { "values of several options" };
            reasons.push(format!("refuses the {values}"));
        }
        (!reasons.is_empty()).then(|| {
            let config = &new.config_name;
            let reasons = reasons.join(" and ");
            format!("{} does not start with config {config} as it is written: it {reasons}.", product(new))
        })
    }

    /// An option of one series alone may have been left out as if its value were refused.
    fn is_unknown(&self, left: &LeftOut) -> bool {
        left.unknown || left.refused && !self.knows(&left.option)
    }

    /// Whether the old version takes an option that the new one leaves out. A build that has no plugins cannot tell
    /// of theirs.
    fn is_new(&self, left: &LeftOut) -> bool {
        let mut of_old = self.old_arm().left_out.iter();
        let also = of_old.find(|one| (&one.option, &one.value) == (&left.option, &left.value));
        also.is_none_or(|also| left.unknown && !also.unknown)
    }

    /// What to write in place of an option that the new version does not know, or of a value that it refuses.
    fn replacement(&self, left: &LeftOut) -> Option<Replacement> {
        if left.refused && self.knows(&left.option) {
            return renamed::replaced_value(&left.option, &left.value, self.in_effect(left)?);
        }
        let other = |name: &str| {
            self.new_arm().left_out.iter().find(|left| left.option == name).map(|left| left.value.clone())
        };
        renamed::replacement((&left.option, &left.value), other, |name| self.knows(name))
    }

    /// Whether the new version has a setting.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.new_arm().settings.iter().any(|setting| setting.name == name)
    }

    /// Options of the config that the new version leaves out or adjusts, unlike the old one, and those that the config
    /// gives to the old version only.
    pub(super) fn config(&self, differences: &[Difference]) -> Block {
        let (old, new) = (self.old_arm(), self.new_arm());
        let columns = vec![
            Column::words("option"),
            Column::words("value"),
            Column::keyed_words("on the new version", "reason"),
            Column::keyed_words("use instead", "replacement"),
        ];
        let mut table = Table::new("config", "Options that the two versions do not take alike", columns, 0);
        table.together = true;
        // What both accept without effect belongs in neither version's config.
        let is_told = |left: &&LeftOut| left.without_effect || self.is_new(left);
        let left_out: Vec<&LeftOut> = new.left_out.iter().filter(is_told).collect();
        let mut measured = Vec::new();
        for left in &left_out {
            let replacement = self.replacement(left);
            let line = replacement.as_ref().and_then(Replacement::line);
            let is_set = |one: &Replacement| is_in_config(&new.config_text, &one.name);
            let is_used = left.taken.is_some() || !left.refused || self.is_unknown(left);
            measured.extend(line.filter(|_| is_used && replacement.as_ref().is_some_and(is_set)));
            let is_option = !left.option.starts_with('[');
            table.row(vec![
                Cell::words(&*left.option),
                Cell::words(&*left.value),
                Cell::words(self.reason(left, replacement.as_ref())),
                match left.instead.clone().or(replacement.map(|one| one.text())) {
                    Some(line) => Cell::words(line),
                    None if is_option && !self.knows(&left.option) => Cell::words("nothing; remove it"),
                    None => Cell::missing(),
                },
            ]);
        }
        for one in differences.iter().filter(|one| one.kind == DifferenceKind::Setting) {
            if let (Some(value), Some(now)) = (&one.base, &one.arm)
                && !self.is_replacement(&one.name)
                && !left_out.iter().any(|left| left.refused && left.option == one.name)
            {
                // Options of a group such as `[mysqld-9.7]` are for one version.
                let is_set = |arm: &Arm| is_in_config(&arm.config_text, &one.name);
                let (value, reason) = match (is_set(old), is_set(new)) {
                    (true, false) => (value, format!("given to the old version only; {now} is in effect")),
                    (false, true) => (now, format!("given to the new version only; the old one has {value}")),
                    _ => (value, format!("{now} is in effect")),
                };
                table.row(vec![
                    Cell::words(&*one.name),
                    Cell::words(&**value),
                    Cell::words(reason),
                    Cell::missing(),
                ]);
            }
        }
        for row in self.of_new_only(differences) {
            table.row(row);
        }
        for (option, now) in renamed::former_names(old, new) {
            let value = old.settings.iter().find(|one| one.name == option).map_or("", |one| &*one.value);
            let reason = "accepted under its former name".to_owned();
            table.row([option.to_owned(), value.to_owned(), reason, now.text()].map(Cell::words).to_vec());
        }
        if left_out.iter().any(|left| !left.without_effect) {
            let with = match measured.is_empty() {
                true => String::new(),
                false => format!(", but with {}", measured.join(", ")),
            };
            let has_prefix = ["mysql", "mariadb"].contains(&&*new.dbms);
            let unless = if has_prefix { ", unless it is written with `loose_`," } else { "" };
            table.footnotes.push(format!(
                "{} does not start with an option that it does not know{unless} or with a value that it refuses; it was \
                 measured without these{with}",
                product(new)
            ));
        }
        // Such as what rqps sets, or what is misspelled and written with `loose_`.
        let by_both = new.left_out.iter().filter(|left| !is_told(left) && left.taken.is_none());
        let by_both: Vec<String> = by_both.map(|left| format!("{} ({})", left.option, left.reason)).collect();
        let without = (!by_both.is_empty())
            .then(|| format!("Left out on both versions, and so not checked: {}", by_both.join(", ")));
        let without: Vec<String> = without.into_iter().chain(self.measured_otherwise()).collect();
        table.footnotes.extend(without.clone());
        let other = if by_both.is_empty() { "every" } else { "every other" };
        let alike = format!("Both versions accept {other} option of {} alike.", new.config_name);
        table.block().unwrap_or_else(|| {
            Block::Text(std::iter::once(alike).chain(without).collect::<Vec<_>>().join(" "))
        })
    }

    /// Options of the config that rqps measures with its own values.
    fn measured_otherwise(&self) -> Option<String> {
        let facts = self.new_arm().facts.iter().filter(|fact| fact.name == SET_IN_BLOCKS);
        let options: Vec<&str> = facts.map(|fact| &*fact.value).collect();
        (!options.is_empty())
            .then(|| format!("Not measured as the config has it, on both versions: {}", options.join(", ")))
    }

    /// Options of a group such as `[mysqld-9.7]` that the old version has as well, or does not have.
    fn of_new_only(&self, differences: &[Difference]) -> Vec<Vec<Cell>> {
        let (old, new) = (self.old_arm(), self.new_arm());
        let is_of_new = |name: &str| {
            let is_told =
                differences.iter().any(|one| one.name == name && one.base.is_some() && one.arm.is_some());
            !is_told
                && is_in_config(&new.config_text, name)
                && !is_in_config(&old.config_text, name)
                && !new.managed.iter().any(|one| one.name == name)
                && !new.left_out.iter().any(|left| left.option == name)
                && !self.is_replacement(name)
        };
        let row = |one: &ServerSetting| {
            let before = old.settings.iter().find(|before| before.name == one.name);
            let left_out = old.left_out.iter().find(|left| left.option == one.name);
            let of_old = match (left_out, before) {
                (Some(left), _) => format!("was measured without ({})", left.reason),
                (None, Some(before)) => format!("has {}", before.value),
                (None, None) => "does not have it".to_owned(),
            };
            let reason = format!("given to the new version only; the old one {of_old}");
            vec![Cell::words(&*one.name), Cell::words(&*one.value), Cell::words(reason), Cell::missing()]
        };
        new.settings.iter().filter(|one| is_of_new(&one.name)).map(row).collect()
    }

    /// Why the new version does not take an option as written, and what it was measured with or has instead.
    fn reason(&self, left: &LeftOut, replacement: Option<&Replacement>) -> String {
        let reason = &left.reason;
        match (left.refused, replacement) {
            (false, Some(one)) if one.value.as_ref() == Some(&left.value) => {
                format!("{reason}: renamed to {}", one.name)
            }
            (false, Some(one)) => format!("{reason}: replaced by {}", one.name),
            // Of a long list of switches little differs.
            (true, _) => match self.in_effect(left).filter(|value| value.len() <= IN_EFFECT_MAX) {
                Some(value) => format!("{}; {value} is in effect", reason.trim_end_matches('.')),
                None => reason.clone(),
            },
            (false, None) => reason.clone(),
        }
    }

    /// The value of a refused option with which the new version was measured.
    fn in_effect(&self, left: &LeftOut) -> Option<&str> {
        let setting = self.new_arm().settings.iter().find(|setting| setting.name == left.option)?;
        Some(&setting.value)
    }

    /// Whether an option's value is in the config under an old name.
    pub(super) fn is_replacement(&self, name: &str) -> bool {
        let renamed = self.new_arm().left_out.iter().filter(|left| !left.refused || self.is_unknown(left));
        renamed.filter_map(|left| self.replacement(left)).any(|one| one.name == name)
    }
}
