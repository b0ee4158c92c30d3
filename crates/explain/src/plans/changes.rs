//! Describes how a plan changed.
//!
//! Ways to a table are held against each other table by table, in the order in which the plan names them; then the
//! nodes between them; then parallel workers; and only where all these are alike, conditions.

use std::collections::BTreeSet;

use super::tree::{Node, Tree};
use crate::model::PlanPart;
use rqps_model::clipped;

/// Longest condition that is quoted.
const CONDITION_MAX: usize = 80;

/// One change of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// In words.
    pub said: String,
    /// What of the plan it is about; empty where it is about none of that.
    pub parts: Vec<PlanPart>,
}

impl Change {
    fn new(said: String, parts: Vec<PlanPart>) -> Self {
        Self { said, parts }
    }

    /// Nodes of these kinds came, went or became others.
    pub fn of_nodes(said: String, kinds: &[&str]) -> Self {
        Self::new(said, kinds.iter().map(|kind| PlanPart::Node((*kind).to_owned())).collect())
    }
}

/// What differs from `base` to `arm`, at least one change where the trees differ.
pub(super) fn changes(base: &Tree, arm: &Tree) -> Vec<Change> {
    let (before, after) = (ways(base), ways(arm));
    let mut changes = of_ways(&before, &after);
    changes.extend(of_steps(&steps(base), &steps(arm)));
    changes.extend(of_workers(base, arm));
    changes.extend(of_jit(base.jit, arm.jit));
    if changes.is_empty() {
        changes.extend(of_conditions(&base.nodes(), &arm.nodes()));
    }
    if changes.is_empty() && base.canonical() != arm.canonical() {
        changes.push(Change::new("the same steps in another order".to_owned(), Vec::new()));
    }
    changes
}

/// How rows of a table are found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    kind: String,
    table: String,
    /// By the names that two plans are compared with, and by those that are shown.
    indexes: Vec<(String, String)>,
}

impl Way {
    fn has_indexes_of(&self, other: &Way) -> bool {
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

    /// In the second half of a sentence whose first half is `before`, of the same table, in full.
    fn after(&self, before: &Way) -> String {
        match self.kind != before.kind && self.has_indexes_of(before) {
            true => self.kind.clone(),
            false => format!("{}{}", self.kind, self.by()),
        }
    }
}

/// The ways to tables. What is below the heap's part of a bitmap belongs to it.
fn ways(tree: &Tree) -> Vec<Way> {
    let is_way = |node: &&Node| node.is_way();
    let of_node = |node: &Node| {
        let mut indexes: Vec<(String, String)> = node.index.iter().cloned().collect();
        if node.kind.starts_with("Bitmap") {
            indexes.extend(node.nodes().iter().skip(1).filter_map(|input| input.index.clone()));
        }
        Way { kind: node.kind.clone(), table: node.table.clone().unwrap_or_default(), indexes }
    };
    tree.nodes().into_iter().filter(is_way).map(of_node).collect()
}

fn of_ways(before: &[Way], after: &[Way]) -> Vec<Change> {
    let mut changes = Vec::new();
    let order = |ways: &[Way]| ways.iter().map(|way| way.table.clone()).collect::<Vec<_>>();
    let sorted = |ways: &[Way]| {
        let mut tables = order(ways);
        tables.sort();
        tables
    };
    let reordered = order(before) != order(after) && sorted(before) == sorted(after);
    if reordered {
        let (now, then) = (order(after).join(", "), order(before).join(", "));
        let said = format!("tables are read in the order {now} instead of {then}");
        changes.push(Change::new(said, Vec::new()));
    }
    let mut left: Vec<&Way> = after.iter().collect();
    let mut gone = Vec::new();
    for way in before {
        // The first of the same table: a plan that reads a table twice names it twice in the same order.
        match left.iter().position(|other| other.table == way.table) {
            Some(at) => {
                let other = left.remove(at);
                if way.kind != other.kind || !way.has_indexes_of(other) {
                    let said = format!("{} became {}", way.full(), other.after(way));
                    changes.push(Change::of_nodes(said, &[&way.kind, &other.kind]));
                }
            }
            None => gone.push(way),
        }
    }
    let one = |way: &Way, what: &str| Change::of_nodes(format!("{} {what}", way.full()), &[&way.kind]);
    changes.extend(gone.iter().map(|way| one(way, "is gone")));
    changes.extend(left.iter().map(|way| one(way, "is new")));
    changes.dedup();
    changes
}

/// The nodes that are no way to a table, but for those that come and go with parallel workers.
fn steps(tree: &Tree) -> Vec<String> {
    let comes_with_others = |kind: &str| {
        ["Bitmap", "Gather", "Partial "].iter().any(|start| kind.starts_with(start)) || kind == "Hash"
    };
    let is_step = |node: &&Node| !node.is_way() && !comes_with_others(&node.kind);
    let name = |node: &Node| node.kind.trim_start_matches("Finalize ").to_owned();
    tree.nodes().into_iter().filter(is_step).map(name).collect()
}

/// Nodes that went and nodes that came, innermost first, as rows pass them.
fn of_steps(before: &[String], after: &[String]) -> Option<Change> {
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
    let said = match (gone.is_empty(), new.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("{went} is gone"),
        (true, false) => format!("{came} is new"),
        (false, false) => format!("{went} became {came}"),
    };
    let parts = gone.into_iter().chain(new).map(PlanPart::Node).collect();
    Some(Change::new(said, parts))
}

fn of_workers(base: &Tree, arm: &Tree) -> Option<Change> {
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

fn of_jit(before: bool, after: bool) -> Option<Change> {
    let said = match (before, after) {
        (false, true) => "now JIT-compiled",
        (true, false) => "no longer JIT-compiled",
        _ => return None,
    };
    Some(Change::new(said.to_owned(), vec![PlanPart::Jit]))
}

fn of_conditions(before: &[&Node], after: &[&Node]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (before, after) in before.iter().zip(after) {
        let has = |node: &Node, key: &str| node.keys.contains_key(key);
        let index_differs = before.keys.get("Index Cond") != after.keys.get("Index Cond");
        if index_differs && has(before, "Filter") && !has(after, "Filter") {
            let said = format!("the filter of {} moved into the index condition", after.kind);
            changes.push(Change::of_nodes(said, &[&after.kind]));
        } else if index_differs && has(after, "Filter") && !has(before, "Filter") {
            let said = format!("a part of the index condition of {} became a filter", after.kind);
            changes.push(Change::of_nodes(said, &[&after.kind]));
        } else {
            changes.extend(of_keys(before, after).into_iter().map(|said| Change::new(said, Vec::new())));
        }
    }
    changes.dedup();
    changes
}

fn of_keys(before: &Node, after: &Node) -> Vec<String> {
    let labels: BTreeSet<&&str> = before.keys.keys().chain(after.keys.keys()).collect();
    let of_label = |label: &&str| {
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
    labels.into_iter().filter_map(of_label).collect()
}
