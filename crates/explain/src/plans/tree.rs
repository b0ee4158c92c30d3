//! A query plan as a tree of only what identifies it. Parses the JSON of Postgres 9.6 to 18; `blocks.rs` and
//! `iterators.rs` make the same trees for MySQL and MariaDB.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::expression::{normalised, symmetric};
use super::{blocks, iterators};

/// Fields that identify a plan besides nodes, relations and indexes. All others are costs, estimates, or
/// redundant.
const KEYS: [&str; 18] = [
    "Index Cond",
    "Recheck Cond",
    "Filter",
    "Join Filter",
    "Hash Cond",
    "Merge Cond",
    "One-Time Filter",
    "TID Cond",
    "Order By",
    "Sort Key",
    "Presorted Key",
    "Group Key",
    "Grouping Sets",
    "Cache Key",
    "Run Condition",
    "Function Name",
    "CTE Name",
    "Conflict Resolution",
];

/// Those in which an equality has its sides in either order. In the condition of a hash or merge join they are those of
/// its inputs.
const FILTERS: [&str; 2] = ["Filter", "Join Filter"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// Its type as in a plan's text: `Index Scan Backward`, `HashAggregate`, `Hash Left Join`.
    pub kind: String,
    /// Whether parallel workers share its work.
    pub parallel: bool,
    /// The table without its number: `sbtest`.
    pub table: Option<String>,
    /// The index without the table's number, and its full name.
    pub index: Option<(String, String)>,
    pub workers: u64,
    /// Conditions and keys by label, without literals.
    pub keys: BTreeMap<&'static str, String>,
    /// `InitPlan`, `SubPlan` or `subquery`, if it is one.
    pub role: Option<&'static str>,
    pub inputs: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    pub root: Node,
    /// Whether parts of it are JIT-compiled.
    pub jit: bool,
}

impl Tree {
    /// Parses the JSON of any DBMS; `None` if it is not recognized.
    pub(super) fn parse(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let mysql_root = blocks::root(&value).or_else(|| iterators::root(&value));
        mysql_root.map(|root| Self { root, jit: false }).or_else(|| Self::parse_postgres(&value))
    }

    /// Parses Postgres' `EXPLAIN (FORMAT JSON)`.
    fn parse_postgres(value: &Value) -> Option<Self> {
        let statement = value.as_array().and_then(|statements| statements.first()).unwrap_or(value);
        let plan = statement.get("Plan")?;
        let mut names = Names::default();
        names.collect(plan);
        Some(Self { root: node(plan, &names, None)?, jit: statement.get("JIT").is_some() })
    }

    /// All nodes in preorder.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        self.root.nodes()
    }

    /// One indented line per node, with everything that identifies the plan.
    pub(super) fn canonical(&self) -> String {
        let mut text = if self.jit { "JIT\n".to_owned() } else { String::new() };
        self.root.write(0, &mut text);
        text
    }
}

impl Node {
    /// A node without a table.
    pub(super) fn step(kind: impl Into<String>, inputs: Vec<Node>) -> Self {
        let (table, index, keys) = (None, None, BTreeMap::new());
        Self { kind: kind.into(), parallel: false, table, index, workers: 0, keys, role: None, inputs }
    }

    /// This node and all below it, in preorder.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        [self].into_iter().chain(self.inputs.iter().flat_map(Node::nodes)).collect()
    }

    /// Whether it finds rows of a table.
    pub(super) fn is_access(&self) -> bool {
        let is_named = |word: &&str| self.kind.contains(*word);
        self.table.is_some() && ["Scan", "scan", "access"].iter().any(is_named)
    }

    fn write(&self, depth: usize, text: &mut String) {
        let part =
            |word: &str, name: Option<&str>| name.map(|name| format!(" {word} {name}")).unwrap_or_default();
        let _ = write!(
            text,
            "{:depth$}{}{}{}{}{}",
            "",
            self.role.map(|role| format!("{role}: ")).unwrap_or_default(),
            if self.parallel { "Parallel " } else { "" },
            self.kind,
            part("on", self.table.as_deref()),
            part("using", self.index.as_ref().map(|(name, _)| name.as_str())),
        );
        if self.workers > 0 {
            let _ = write!(text, " with {} workers", self.workers);
        }
        for (label, key) in &self.keys {
            let _ = write!(text, " | {label}: {key}");
        }
        text.push('\n');
        for input in &self.inputs {
            input.write(depth + 1, text);
        }
    }
}

/// Names defined by a statement and its plan.
#[derive(Default)]
struct Names {
    /// Table names by alias.
    tables: BTreeMap<String, String>,
    /// Parameters set by InitPlans, such as `$1`; printed by versions before 17.
    filled: Vec<String>,
}

impl Names {
    fn collect(&mut self, plan: &Value) {
        if let (Some(alias), Some(table)) = (text(plan, "Alias"), text(plan, "Relation Name")) {
            self.tables.insert(alias.to_owned(), stem(table).0.to_owned());
        }
        if let Some((_, filled)) = text(plan, "Subplan Name").and_then(|name| name.split_once("(returns ")) {
            self.filled.extend(filled.trim_end_matches(')').split(',').map(str::to_owned));
        }
        for input in inputs(plan) {
            self.collect(input);
        }
    }

    fn normalised(&self, condition: &str) -> String {
        let mut condition = normalised(condition, &self.tables);
        for parameter in &self.filled {
            for end in [')', ' '] {
                condition = condition.replace(&format!("{parameter}{end}"), &format!("(InitPlan){end}"));
            }
        }
        condition
    }
}

pub(super) fn text<'a>(plan: &'a Value, key: &str) -> Option<&'a str> {
    plan.get(key).and_then(Value::as_str)
}

pub(super) fn flag(plan: &Value, key: &str) -> bool {
    plan.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn inputs(plan: &Value) -> impl Iterator<Item = &Value> {
    plan.get("Plans").and_then(Value::as_array).into_iter().flatten()
}

/// Splits a table's name and number: tables of a test are alike, as are partitions.
pub(super) fn stem(table: &str) -> (&str, &str) {
    let stem = table.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.is_empty() { (table, "") } else { (stem, &table[stem.len()..]) }
}

/// An index's name without the number of its table: `sbtest3_pkey` and `k_3` of `sbtest3`.
pub(super) fn stem_of_index(index: &str, number: &str) -> String {
    if number.is_empty() {
        return index.to_owned();
    }
    let pieces = index.split('_').map(|piece| match piece.strip_suffix(number) {
        Some(name) if !name.ends_with(|c: char| c.is_ascii_digit()) => name,
        _ => piece,
    });
    pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("_")
}

/// `number` is that of the enclosing node's table, for nodes below a bitmap scan, which do not name it.
fn node(plan: &Value, names: &Names, number: Option<&str>) -> Option<Node> {
    let relation = text(plan, "Relation Name").map(stem);
    let number = relation.map(|(_, number)| number).or(number);
    let key = |label: &&'static str| {
        let value = match plan.get(*label)? {
            Value::String(value) if FILTERS.contains(label) => symmetric(&names.normalised(value)),
            Value::String(value) => names.normalised(value),
            Value::Array(values) => {
                let values: Vec<String> =
                    values.iter().map(|value| names.normalised(value.as_str().unwrap_or_default())).collect();
                values.join(", ")
            }
            other => other.to_string(),
        };
        Some((*label, value))
    };
    let index = text(plan, "Index Name")
        .map(|index| (stem_of_index(index, number.unwrap_or_default()), index.to_owned()));
    Some(Node {
        kind: kind(plan)?,
        parallel: flag(plan, "Parallel Aware"),
        table: relation.map(|(table, _)| table.to_owned()),
        index,
        workers: plan.get("Workers Planned").and_then(Value::as_u64).unwrap_or(0),
        keys: KEYS.iter().filter_map(key).collect(),
        role: match text(plan, "Parent Relationship") {
            Some("InitPlan") => Some("InitPlan"),
            Some("SubPlan") => Some("SubPlan"),
            _ => None,
        },
        inputs: inputs(plan).filter_map(|input| node(input, names, number)).collect(),
    })
}

/// A node's type as in a plan's text.
fn kind(plan: &Value) -> Option<String> {
    let kind = text(plan, "Node Type")?;
    let strategy = text(plan, "Strategy").unwrap_or_default();
    let kind = match kind {
        "Aggregate" => {
            let partial = match text(plan, "Partial Mode") {
                Some(mode @ ("Partial" | "Finalize")) => format!("{mode} "),
                _ => String::new(),
            };
            let aggregate = match strategy {
                "Hashed" => "HashAggregate",
                "Sorted" => "GroupAggregate",
                "Mixed" => "MixedAggregate",
                _ => "Aggregate",
            };
            format!("{partial}{aggregate}")
        }
        "SetOp" if strategy == "Hashed" => "HashSetOp".to_owned(),
        "ModifyTable" => text(plan, "Operation").unwrap_or(kind).to_owned(),
        _ => match text(plan, "Join Type") {
            None | Some("Inner") => kind.to_owned(),
            Some(join) if kind == "Nested Loop" => format!("{kind} {join} Join"),
            Some(join) => format!("{} {join} Join", kind.trim_end_matches(" Join")),
        },
    };
    let backward = text(plan, "Scan Direction") == Some("Backward");
    Some(if backward { format!("{kind} Backward") } else { kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_numbers_of_tables_are_removed() {
        assert_eq!(stem("sbtest12"), ("sbtest", "12"));
        assert_eq!(stem("orders"), ("orders", ""));
        assert_eq!(stem_of_index("k_12", "12"), "k");
        assert_eq!(stem_of_index("sbtest12_pkey", "12"), "sbtest_pkey");
        assert_eq!(stem_of_index("sbtest12_k_2", "12"), "sbtest_k_2", "another index of the table");
        assert_eq!(stem_of_index("idx_112", "12"), "idx_112");
    }
}
