//! What becomes of the options of an upgrade's config.

use rqps_explain::renamed::{self, Replacement};
use rqps_explain::{Difference, DifferenceKind, is_in_config};
use rqps_model::{LeftOut, SET_IN_BLOCKS, ServerSetting, clipped};
use rqps_store::Arm;

use super::{Upgrade, product};
use crate::document::{Block, Cell, Column, Table};
use crate::tables::left_out;
use crate::words;

/// The longest value of a refused option that is told.
const IN_EFFECT_MAX: usize = 60;
/// The longest value that a terminal lists.
const SHORT_VALUE_MAX: usize = 40;

/// What becomes of an option of the config.
struct Fate {
    option: String,
    value: String,
    /// On the new version.
    reason: String,
    /// What to write instead.
    instead: Option<String>,
    kind: Kind,
    /// Whether the new version has no such option.
    is_gone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The new version does not start with it.
    Unknown,
    /// It does not start with the value.
    Rejected,
    Other,
}

impl Fate {
    fn row(&self) -> Vec<Cell> {
        let instead = match &self.instead {
            Some(line) => Cell::words(&**line),
            None if self.is_gone => Cell::words("nothing; remove it"),
            None => Cell::missing(),
        };
        let words = [&self.option, &self.value, &self.reason].map(|text| Cell::words(&**text));
        words.into_iter().chain([instead]).collect()
    }

    /// `expire_logs_days = 7`
    fn line(&self) -> String {
        match &*self.value {
            "" => self.option.clone(),
            value => format!("{} = {}", self.option, clipped(value, SHORT_VALUE_MAX)),
        }
    }

    /// `expire_logs_days = 7: use binlog_expire_logs_seconds = 604800`
    fn item(&self) -> String {
        let line = self.line();
        match (&self.instead, self.kind) {
            (Some(instead), Kind::Unknown) => format!("{line}: use {instead}"),
            (Some(instead), Kind::Rejected) => format!("{line}: rejected; use {instead}"),
            (Some(instead), Kind::Other) => format!("{line}: {}; use {instead}", self.reason),
            (None, _) if self.is_gone => format!("{line}: {}; remove it", self.reason),
            (None, _) => format!("{line}: {}", self.reason),
        }
    }
}

/// Spellings of a switch: on, and off.
const SWITCHES: [[&str; 4]; 2] = [["1", "on", "true", "yes"], ["0", "off", "false", "no"]];

/// Whether two values differ at most in how a switch is spelled, as where it became one of several words.
fn is_same_switch(one: &str, other: &str) -> bool {
    let is_in = |spellings: &&[&str; 4], value: &str| {
        spellings.iter().any(|spelling| spelling.eq_ignore_ascii_case(value))
    };
    SWITCHES.iter().any(|spellings| is_in(&spellings, one) && is_in(&spellings, other))
}

impl Upgrade<'_, '_> {
    /// That the new version does not start with the config, and what must be changed.
    pub(super) fn start(&self) -> Option<String> {
        let new = self.new_arm();
        let is_new = |left: &&LeftOut| !left.option.starts_with('[') && self.is_new(left);
        let stops = new.left_out.iter().filter(is_new);
        let stops: Vec<&LeftOut> = stops.filter(|left| left.refused || self.is_unknown(left)).collect();
        if stops.is_empty() {
            return None;
        }
        let unknown = stops.iter().filter(|left| self.is_unknown(left)).count();
        let rejected = stops.len() - unknown;
        let values = match rejected {
            1 => "the value of one option".to_owned(),
            several => format!("the values of {several} options"),
        };
        let reasons = [
            (unknown > 0).then(|| format!("does not know {unknown} of its options")),
            (rejected > 0).then(|| format!("rejects {values}")),
        ];
        let reasons = reasons.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        let is_replaced = |left: &&LeftOut| {
            left.instead.is_some() || !self.is_unknown(left) || self.replacement(left).is_some()
        };
        let (replaced, removed): (Vec<&LeftOut>, Vec<&LeftOut>) = stops.into_iter().partition(is_replaced);
        let to_do =
            [("change", replaced), ("remove", removed)].into_iter().filter(|(_, all)| !all.is_empty());
        let to_do = to_do.map(|(verb, all)| {
            let names: Vec<&str> = all.iter().map(|left| left.option.as_str()).collect();
            format!("{verb} {}", names.join(", "))
        });
        Some(format!(
            "{} does not start with config {} as it is written: it {reasons}. Before the upgrade, {}.",
            product(new),
            new.config_name,
            to_do.collect::<Vec<_>>().join("; ")
        ))
    }

    /// Whether the new version starts with the config; `None` if there is none, or it was not started.
    pub(super) fn starts(&self) -> Option<String> {
        let new = self.new_arm();
        let is_known = !new.config_name.is_empty() && !new.settings.is_empty();
        let is_whole = new.left_out.iter().all(|left| left.taken.is_some());
        let but = if is_whole { "" } else { ", apart from options that were left out (see Your config)" };
        let starts =
            || format!("{} starts with config {} as it is written{but}.", product(new), new.config_name);
        self.start().or_else(|| is_known.then(starts))
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
    pub(super) fn replacement(&self, left: &LeftOut) -> Option<Replacement> {
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
        let columns = vec![
            Column::words("option"),
            Column::words("value"),
            Column::keyed_words("on the new version", "reason"),
            Column::keyed_words("use instead", "replacement"),
        ];
        let title = "Options that the two versions treat differently";
        let mut table = Table::new("config", title, columns, 0);
        table.together = true;
        self.fates(differences).iter().for_each(|fate| table.row(fate.row()));
        table.footnotes.extend(self.measured_with());
        let unchecked = self.unchecked();
        table.footnotes.extend(unchecked.clone());
        table.block().unwrap_or_else(|| {
            Block::Text(std::iter::once(self.alike()).chain(unchecked).collect::<Vec<_>>().join(" "))
        })
    }

    /// The same for a terminal, as a list.
    pub(super) fn config_in_short(&self, differences: &[Difference]) -> Vec<Block> {
        let fates = self.fates(differences);
        let is_removed = |fate: &&Fate| fate.kind == Kind::Unknown && fate.instead.is_none();
        let (removed, others): (Vec<&Fate>, Vec<&Fate>) = fates.iter().partition(is_removed);
        let mut items: Vec<String> = others.iter().map(|fate| fate.item()).collect();
        if !removed.is_empty() {
            let lines: Vec<String> = removed.iter().map(|fate| fate.line()).collect();
            items.push(format!("not known any more; remove {}", lines.join(", ")));
        }
        let list = match items.is_empty() {
            true => Block::Text(self.alike()),
            false => Block::Items(items),
        };
        let notes = self.unchecked().into_iter().map(|note| Block::Text(format!("{note}.")));
        std::iter::once(list).chain(notes).collect()
    }

    fn alike(&self) -> String {
        let other = if self.of_neither().is_empty() { "every" } else { "every other" };
        format!("Both versions accept {other} option of {}.", self.new_arm().config_name)
    }

    /// Options of the config that do not have the same effect on both versions.
    fn fates(&self, differences: &[Difference]) -> Vec<Fate> {
        let (old, new) = (self.old_arm(), self.new_arm());
        let left_out: Vec<&LeftOut> = new.left_out.iter().filter(|left| self.is_told(left)).collect();
        let mut fates: Vec<Fate> = left_out.iter().map(|left| self.fate(left)).collect();
        let fate = |option: &str, value: &str, reason: String, instead: Option<String>| Fate {
            option: option.to_owned(),
            value: value.to_owned(),
            reason,
            instead,
            kind: Kind::Other,
            is_gone: false,
        };
        for one in differences.iter().filter(|one| one.kind == DifferenceKind::Setting) {
            if let (Some(value), Some(now)) = (&one.base, &one.arm)
                && !is_same_switch(value, now)
                && !self.is_replacement(&one.name)
                && !left_out.iter().any(|left| left.refused && left.option == one.name)
            {
                // Options of a group such as `[mysqld-9.7]` are for one version.
                let is_set = |arm: &Arm| is_in_config(&arm.config_text, &one.name);
                let (value, reason) = match (is_set(old), is_set(new)) {
                    (true, false) => (value, format!("set for the old version only; {now} is in effect")),
                    (false, true) => (now, format!("set for the new version only; the old one has {value}")),
                    _ => (value, format!("{now} is in effect")),
                };
                fates.push(fate(&one.name, value, reason, None));
            }
        }
        let of_new = self.of_new_only(differences);
        fates.extend(of_new.into_iter().map(|(one, reason)| fate(&one.name, &one.value, reason, None)));
        for (option, now) in renamed::former_names(old, new) {
            let value = old.settings.iter().find(|one| one.name == option).map_or("", |one| &*one.value);
            let reason = "renamed, still accepted".to_owned();
            fates.push(fate(option, value, reason, Some(now.text())));
        }
        let known_to_old: Vec<&str> = renamed::deprecated_values(old).map(|(option, ..)| option).collect();
        let is_told = |option: &str| {
            known_to_old.contains(&option) || left_out.iter().any(|left| left.option == option)
        };
        let deprecated = renamed::deprecated_values(new).filter(|(option, ..)| !is_told(option));
        fates.extend(deprecated.map(|(option, value, since, instead)| {
            let reason = format!("accepted, deprecated since {} {since}", words::dbms(&new.dbms));
            fate(option, value, reason, Some(instead.text()))
        }));
        fates
    }

    fn fate(&self, left: &LeftOut) -> Fate {
        let replacement = self.replacement(left);
        let mut reason = self.reason(left, replacement.as_ref());
        if left.without_effect && !self.is_new(left) {
            reason.push_str(" by both versions");
        }
        Fate {
            option: left.option.clone(),
            value: left.value.clone(),
            reason,
            kind: match left.refused {
                _ if self.is_unknown(left) => Kind::Unknown,
                true => Kind::Rejected,
                false => Kind::Other,
            },
            is_gone: !left.option.starts_with('[') && !self.knows(&left.option),
            instead: left.instead.clone().or(replacement.map(|one| one.text())),
        }
    }

    /// What both accept without effect belongs in neither version's config.
    fn is_told(&self, left: &LeftOut) -> bool {
        left.without_effect || self.is_new(left)
    }

    /// What the new version was measured without and with.
    fn measured_with(&self) -> Option<String> {
        let new = self.new_arm();
        let (mut is_left_out, mut measured) = (false, Vec::new());
        for left in new.left_out.iter().filter(|left| self.is_told(left)) {
            is_left_out |= !left.without_effect;
            let is_used = left.taken.is_some() || !left.refused || self.is_unknown(left);
            let is_set = |one: &Replacement| is_used && is_in_config(&new.config_text, &one.name);
            measured.extend(self.replacement(left).filter(is_set).and_then(|one| one.line()));
        }
        let with = match measured.is_empty() {
            true => String::new(),
            false => format!(", but with {}", measured.join(", ")),
        };
        let has_prefix = ["mysql", "mariadb"].contains(&&*new.dbms);
        let unless = if has_prefix { ", unless it is written with `loose_`," } else { "" };
        is_left_out.then(|| {
            format!(
                "{} does not start with an option that it does not know{unless} or with a value that it rejects; it was \
                 measured without these{with}",
                product(new)
            )
        })
    }

    /// Options that neither version was given, such as what rqps sets, what this machine or the builds lack, or what is
    /// misspelled and written with `loose_`.
    fn of_neither(&self) -> Vec<String> {
        let left_out = self.new_arm().left_out.iter();
        let left_out = left_out.filter(|left| !self.is_told(left) && left.taken.is_none());
        let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
        for left in left_out {
            let name = left_out::name(self.new_arm(), left);
            match by_reason.iter_mut().find(|(known, _)| *known == left.reason) {
                Some((_, options)) => options.push(name),
                None => by_reason.push((&left.reason, vec![name])),
            }
        }
        by_reason.iter().map(|(reason, options)| format!("{} ({reason})", options.join(", "))).collect()
    }

    /// What was not measured as the config has it, on both versions.
    fn unchecked(&self) -> Vec<String> {
        let neither = self.of_neither();
        let neither = (!neither.is_empty())
            .then(|| format!("Left out on both versions, so not checked: {}", neither.join(", ")));
        neither.into_iter().chain(self.adjusted_by_both()).chain(self.measured_otherwise()).collect()
    }

    /// Numbers of the config in whose place both versions use others.
    fn adjusted_by_both(&self) -> Option<String> {
        let adjusted = |left: &LeftOut| {
            let taken = left.taken.as_ref().filter(|_| !left.refused && !self.is_told(left))?;
            let mut of_old = self.old_arm().left_out.iter();
            let old = of_old.find(|old| old.option == left.option).and_then(|old| old.taken.as_ref())?;
            let used = match old == taken {
                true => taken.clone(),
                false => format!("{old} (old) and {taken} (new)"),
            };
            Some(format!("{} from {} to {used}", left.option, left.value))
        };
        let adjusted: Vec<String> = self.new_arm().left_out.iter().filter_map(adjusted).collect();
        (!adjusted.is_empty()).then(|| format!("Adjusted by both versions: {}", adjusted.join(", ")))
    }

    /// Options of the config that rqps measures with its own values.
    fn measured_otherwise(&self) -> Option<String> {
        let facts = self.new_arm().facts.iter().filter(|fact| fact.name == SET_IN_BLOCKS);
        let options: Vec<&str> = facts.map(|fact| &*fact.value).collect();
        (!options.is_empty()).then(|| {
            format!("Measured with another value than the config's, on both versions: {}", options.join(", "))
        })
    }

    /// Options that the old version was measured without since it does not know them, and those of a group such as
    /// `[mysqld-9.7]`, with what it has instead.
    fn of_new_only(&self, differences: &[Difference]) -> Vec<(&ServerSetting, String)> {
        let (old, new) = (self.old_arm(), self.new_arm());
        let is_of_new = |name: &str| {
            let is_told = differences.iter().any(|one| {
                one.kind == DifferenceKind::Setting
                    && one.name == name
                    && one.base.is_some()
                    && one.arm.is_some()
            });
            !is_told
                && is_in_config(&new.config_text, name)
                && !is_in_config(&old.config_text, name)
                && !new.has_of_blocks(name)
                && !new.managed.iter().any(|one| one.name == name)
                && !new.left_out.iter().any(|left| left.option == name)
                && !self.is_replacement(name)
        };
        let of_old = |one: &ServerSetting| {
            let before = old.settings.iter().find(|before| before.name == one.name);
            let left_out = old.left_out.iter().find(|left| left.option == one.name);
            let of_old = match (left_out, before) {
                (Some(left), _) if left.unknown => {
                    return format!("in effect; {} does not know it and was measured without", product(old));
                }
                (Some(left), _) => format!("was measured without ({})", left.reason),
                (None, Some(before)) => format!("has {}", before.value),
                (None, None) => "does not have it".to_owned(),
            };
            format!("set for the new version only; the old one {of_old}")
        };
        let of_new = new.settings.iter().filter(|one| is_of_new(&one.name));
        of_new.map(|one| (one, of_old(one))).collect()
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
