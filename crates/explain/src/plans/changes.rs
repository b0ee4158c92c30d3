//! Describes how a plan changed.
//!
//! Compares table accesses table by table, in the plan's order; then the other nodes; then parallel workers;
//! and conditions only if all of these are the same.

use std::collections::BTreeSet;

use super::tree::{Node, Tree};
use crate::model::PlanPart;
use rqps_model::clipped;

/// Maximum length of a quoted condition.
const CONDITION_MAX: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub text: String,
    /// The parts of the plan that changed; empty if none of those kinds.
    pub parts: Vec<PlanPart>,
}

impl Change {
    fn new(text: String, parts: Vec<PlanPart>) -> Self {
        Self { text, parts }
    }

    /// Nodes of these types were added, removed or replaced.
    pub fn of_nodes(text: String, kinds: &[&str]) -> Self {
        Self::new(text, kinds.iter().map(|kind| PlanPart::Node((*kind).to_owned())).collect())
    }
}

/// The differences between `base` and `arm`; at least one if the trees differ.
pub(super) fn changes(base: &Tree, arm: &Tree) -> Vec<Change> {
    let (before, after) = (accesses(base), accesses(arm));
    let mut changes = access_changes(&before, &after);
    changes.extend(step_change(&steps(base), &steps(arm)));
    changes.extend(worker_change(base, arm));
    changes.extend(jit_change(base.jit, arm.jit));
    if changes.is_empty() {
        changes.extend(condition_changes(&base.nodes(), &arm.nodes()));
    }
    if changes.is_empty() && base.canonical() != arm.canonical() {
        changes.push(Change::new("the same steps in another order".to_owned(), Vec::new()));
    }
    changes
}

/// How the rows of a table are found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Access {
    kind: String,
    table: String,
    /// Each index as a name without the table's number, for comparison, and as its full name.
    indexes: Vec<(String, String)>,
}

impl Access {
    fn has_indexes_of(&self, other: &Access) -> bool {
        self.indexes.iter().map(|(stem, _)| stem).eq(other.indexes.iter().map(|(stem, _)| stem))
    }

    fn indexes(&self) -> String {
        self.indexes.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn full(&self) -> String {
        format!("{} on {}{}", self.kind, self.table, self.by())
    }

    fn by(&self) -> String {
        match self.indexes.is_empty() {
            true => String::new(),
            false if self.kind.starts_with("Bitmap") => format!(" ({})", self.indexes()),
            false => format!(" using {}", self.indexes()),
        }
    }

    /// Text for the second half of a sentence that begins with `before`, an access to the same table.
    fn after(&self, before: &Access) -> String {
        match self.kind != before.kind && self.has_indexes_of(before) {
            true => self.kind.clone(),
            false => format!("{}{}", self.kind, self.by()),
        }
    }
}

/// The table accesses. Nodes below a bitmap heap scan are part of it.
fn accesses(tree: &Tree) -> Vec<Access> {
    let is_access = |node: &&Node| node.is_access();
    let access_of = |node: &Node| {
        let mut indexes: Vec<(String, String)> = node.index.iter().cloned().collect();
        if node.kind.starts_with("Bitmap") {
            indexes.extend(node.nodes().iter().skip(1).filter_map(|input| input.index.clone()));
        }
        Access { kind: node.kind.clone(), table: node.table.clone().unwrap_or_default(), indexes }
    };
    tree.nodes().into_iter().filter(is_access).map(access_of).collect()
}

fn access_changes(before: &[Access], after: &[Access]) -> Vec<Change> {
    let mut changes = Vec::new();
    let order = |accesses: &[Access]| accesses.iter().map(|access| access.table.clone()).collect::<Vec<_>>();
    let sorted = |accesses: &[Access]| {
        let mut tables = order(accesses);
        tables.sort();
        tables
    };
    let reordered = order(before) != order(after) && sorted(before) == sorted(after);
    if reordered {
        let (now, then) = (order(after).join(", "), order(before).join(", "));
        let text = format!("tables are read in the order {now} instead of {then}");
        changes.push(Change::new(text, Vec::new()));
    }
    let mut left: Vec<&Access> = after.iter().collect();
    let mut gone = Vec::new();
    for access in before {
        // Take the first access to the same table: a plan that reads a table twice lists both in the same
        // order.
        match left.iter().position(|other| other.table == access.table) {
            Some(at) => {
                let other = left.remove(at);
                if access.kind != other.kind || !access.has_indexes_of(other) {
                    let text = format!("{} became {}", access.full(), other.after(access));
                    changes.push(Change::of_nodes(text, &[&access.kind, &other.kind]));
                }
            }
            None => gone.push(access),
        }
    }
    let one =
        |access: &Access, what: &str| Change::of_nodes(format!("{} {what}", access.full()), &[&access.kind]);
    changes.extend(gone.iter().map(|access| one(access, "is gone")));
    changes.extend(left.iter().map(|access| one(access, "is new")));
    changes.dedup();
    changes
}

/// The nodes that are not table accesses, except those that accompany bitmap scans, hash joins and parallel
/// workers.
fn steps(tree: &Tree) -> Vec<String> {
    let accompanies_others = |kind: &str| {
        ["Bitmap", "Gather", "Partial "].iter().any(|start| kind.starts_with(start)) || kind == "Hash"
    };
    let is_step = |node: &&Node| !node.is_access() && !accompanies_others(&node.kind);
    let name = |node: &Node| node.kind.trim_start_matches("Finalize ").to_owned();
    tree.nodes().into_iter().filter(is_step).map(name).collect()
}

/// Removed and added nodes, innermost first, in the order in which rows pass them.
fn step_change(before: &[String], after: &[String]) -> Option<Change> {
    let (mut gone, mut new) = (before.to_vec(), Vec::new());
    for step in after {
        match gone.iter().position(|other| other == step) {
            Some(at) => drop(gone.remove(at)),
            None => new.push(step.clone()),
        }
    }
    gone.reverse();
    new.reverse();
    let (went, came) = (gone.join(" + "), new.join(" + "));
    let text = match (gone.is_empty(), new.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("{went} is gone"),
        (true, false) => format!("{came} is new"),
        (false, false) => format!("{went} became {came}"),
    };
    let parts = gone.into_iter().chain(new).map(PlanPart::Node).collect();
    Some(Change::new(text, parts))
}

fn worker_change(base: &Tree, arm: &Tree) -> Option<Change> {
    let workers = |tree: &Tree| tree.nodes().iter().map(|node| node.workers).sum::<u64>();
    let (before, after) = (workers(base), workers(arm));
    let planned = |count: u64| match count {
        0 => "no parallel workers planned".to_owned(),
        1 => "1 parallel worker planned".to_owned(),
        count => format!("{count} parallel workers planned"),
    };
    let were = if before == 0 { "none".to_owned() } else { before.to_string() };
    (before != after)
        .then(|| Change::new(format!("{} ({were} before)", planned(after)), vec![PlanPart::Workers]))
}

fn jit_change(before: bool, after: bool) -> Option<Change> {
    let text = match (before, after) {
        (false, true) => "now JIT-compiled",
        (true, false) => "no longer JIT-compiled",
        _ => return None,
    };
    Some(Change::new(text.to_owned(), vec![PlanPart::Jit]))
}

fn condition_changes(before: &[&Node], after: &[&Node]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (before, after) in before.iter().zip(after) {
        let has = |node: &Node, key: &str| node.keys.contains_key(key);
        let index_differs = before.keys.get("Index Cond") != after.keys.get("Index Cond");
        if index_differs && has(before, "Filter") && !has(after, "Filter") {
            let text = format!("the filter of {} moved into the index condition", after.kind);
            changes.push(Change::of_nodes(text, &[&after.kind]));
        } else if index_differs && has(after, "Filter") && !has(before, "Filter") {
            let text = format!("a part of the index condition of {} became a filter", after.kind);
            changes.push(Change::of_nodes(text, &[&after.kind]));
        } else {
            changes.extend(key_changes(before, after).into_iter().map(|text| Change::new(text, Vec::new())));
        }
    }
    changes.dedup();
    changes
}

fn key_changes(before: &Node, after: &Node) -> Vec<String> {
    let labels: BTreeSet<&&str> = before.keys.keys().chain(after.keys.keys()).collect();
    let change = |label: &&str| {
        let (old, new) = (before.keys.get(*label), after.keys.get(*label));
        let name = label.to_lowercase().replace(" cond", " condition");
        match (old, new) {
            (Some(old), Some(new)) if old != new => {
                Some(format!("{name} {} became {}", clipped(old, CONDITION_MAX), clipped(new, CONDITION_MAX)))
            }
            (Some(old), None) => Some(format!("{name} {} is gone", clipped(old, CONDITION_MAX))),
            (None, Some(new)) => Some(format!("{name} {} is new", clipped(new, CONDITION_MAX))),
            _ => None,
        }
    };
    labels.into_iter().filter_map(change).collect()
}
