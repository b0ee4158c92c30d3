//! Parses plans of MySQL and MariaDB from JSON made of query blocks: the format of all versions of MySQL
//! without the hypergraph optimizer, and of MariaDB.
//!
//! The two nest the same way but use different names. What matters of an object is which tables are below it,
//! and whether it sorts or fills a temporary table.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::expression::{end_of_parentheses, normalised};
use super::tree::{Node, stem, stem_of_index};

/// Name of a step that reads no table: an insert, or a result known without reading.
pub(super) const NOTHING_READ: &str = "no table read";

/// Access types by their name in all versions of these DBMSs.
const ACCESS: [(&str, &str); 3] =
    [("ALL", "full table scan (ALL)"), ("index", "index scan"), ("const", super::CONST_ACCESS)];

/// Join buffers by their names in MariaDB and MySQL.
const JOIN_BUFFERS: [(&str, &str); 6] = [
    ("BNLH", "hash join"),
    ("hash join", "hash join"),
    ("BNL", "block nested loop"),
    ("Block Nested Loop", "block nested loop"),
    ("BKA", "batched key access"),
    ("Batched Key Access", "batched key access"),
];

/// The root of the plan in a `query_block`; `None` if it has no steps.
pub(super) fn root(value: &Value) -> Option<Node> {
    let block = value.get("query_block")?;
    join_all(below(block))
}

/// The steps of an object, or of the elements of a list.
fn below(value: &Value) -> Vec<Node> {
    match value {
        Value::Array(values) => values.iter().flat_map(below).collect(),
        Value::Object(fields) => object_nodes(fields),
        _ => Vec::new(),
    }
}

fn object_nodes(fields: &Map<String, Value>) -> Vec<Node> {
    if let Some(Value::String(message)) = fields.get("message")
        && !fields.contains_key("table_name")
    {
        return vec![message_node(message)];
    }
    // Older versions of MariaDB list the tables of a join side by side, all but the first possibly in a join
    // buffer. Tables without a join buffer share one key, so the JSON parser keeps only the last of them.
    let (mut tables, mut others) = (Vec::new(), Vec::new());
    let first = fields.iter().filter(|(name, _)| *name == "table");
    for (name, inner) in first.chain(fields.iter().filter(|(name, _)| *name != "table")) {
        let nodes = field_nodes(name, inner);
        let is_side_node = nodes.iter().all(|node| node.role.is_some());
        if is_side_node { others.extend(nodes) } else { tables.extend(nodes) }
    }
    match join_all(tables) {
        Some(mut node) => {
            node.inputs.extend(others);
            vec![node]
        }
        None => others,
    }
}

fn field_nodes(name: &str, inner: &Value) -> Vec<Node> {
    let fields = inner.as_object();
    match (name, fields) {
        ("table", Some(fields)) => vec![table(fields)],
        ("block-nl-join", Some(fields)) => {
            let kind = fields.get("join_type").and_then(Value::as_str).unwrap_or_default();
            vec![Node::step(join_buffer(kind), below(inner))]
        }
        ("nested_loop", _) => join_all(below(inner)).into_iter().collect(),
        ("query_specifications", _) => inner.as_array().into_iter().flatten().flat_map(below).collect(),
        _ => {
            let mut nodes = below(inner);
            if name.ends_with("subqueries") {
                nodes.iter_mut().for_each(|node| node.role = Some("subquery"));
            }
            steps(name, fields).into_iter().rev().fold(nodes, |nodes, step| match nodes.is_empty() {
                true => nodes,
                false => vec![Node::step(step, nodes)],
            })
        }
    }
}

/// The steps that an object stands for besides its contents, outermost first.
fn steps(name: &str, fields: Option<&Map<String, Value>>) -> Vec<&'static str> {
    let has = |what: &str| fields.is_some_and(|fields| is_set(fields, what));
    match name {
        "filesort" => vec!["filesort"],
        "temporary_table" => vec!["temporary table"],
        "materialized" | "materialized_from_subquery" => vec!["materialize"],
        "union_result" => vec!["union"],
        _ => {
            let own = [("using_filesort", "filesort"), ("using_temporary_table", "temporary table")];
            own.into_iter().filter(|(what, _)| has(what)).map(|(_, step)| step).collect()
        }
    }
}

/// Whether a field is `true`, a number other than 0, or a text such as `for update`.
fn is_set(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        Some(Value::Bool(set)) => *set,
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::String(_)) => true,
        _ => false,
    }
}

/// A message instead of a plan, mostly why no row can match.
pub(super) fn message_node(message: &str) -> Node {
    let words = match message {
        "No tables used" => NOTHING_READ.to_owned(),
        "Impossible WHERE noticed after reading const tables" => "no matching row in const table".to_owned(),
        other => other.to_lowercase(),
    };
    Node::step(words, Vec::new())
}

fn table(fields: &Map<String, Value>) -> Node {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if let (Some(message), None) = (text("message"), text("table_name")) {
        return message_node(message);
    }
    let Some(access_type) = text("access_type").filter(|_| !is_set(fields, "insert")) else {
        return Node::step(NOTHING_READ, Vec::new());
    };
    let (name, number) = stem(text("table_name").unwrap_or_default());
    let known = ACCESS.iter().find(|(name, _)| *name == access_type);
    let kind = known.map_or_else(|| format!("{access_type} access"), |(_, kind)| (*kind).to_owned());
    let is_covering = is_set(fields, "using_index") && access_type != "const";
    let kind = if is_covering { format!("covering {kind}") } else { kind };
    let conditions = [("attached_condition", "Filter"), ("index_condition", "Index Cond")];
    let mut keys: BTreeMap<&'static str, String> =
        conditions.into_iter().filter_map(|(field, label)| Some((label, condition(text(field)?)))).collect();
    for (field, label) in [("using_MRR", "Multi-Range Read"), ("using_index_for_group_by", "Loose Scan")] {
        if is_set(fields, field) {
            keys.insert(label, "used".to_owned());
        }
    }
    let nested = fields
        .iter()
        .filter(|(field, _)| *field != "table")
        .flat_map(|(field, inner)| field_nodes(field, inner));
    let access = Node {
        table: Some(name.to_owned()),
        // A row that is read before execution is found by a full key; which one does not matter.
        index: text("key")
            .filter(|_| access_type != "const")
            .map(|index| (stem_of_index(index, number), index.to_owned())),
        keys,
        ..Node::step(kind, nested.collect())
    };
    let buffer = text("using_join_buffer").map(join_buffer);
    let written =
        [("update", "update"), ("delete", "delete")].into_iter().find(|(field, _)| is_set(fields, field));
    let temporary = is_set(fields, "using_temporary_table").then_some("temporary table");
    let wrappers = [buffer, temporary, written.map(|(_, step)| step)];
    wrappers.into_iter().flatten().fold(access, |node, step| Node::step(step, vec![node]))
}

fn join_buffer(kind: &str) -> &'static str {
    JOIN_BUFFERS.iter().find(|(name, _)| *name == kind).map_or("join buffer", |(_, name)| name)
}

/// Joins tables with a nested loop; a single one stays as it is.
pub(super) fn join_all(mut tables: Vec<Node>) -> Option<Node> {
    if tables.len() > 1 { Some(Node::step("nested loop", tables)) } else { tables.pop() }
}

/// A condition without literals and without what versions print differently: quotes, parentheses, and
/// qualifiers of columns.
pub(super) fn condition(text: &str) -> String {
    let spaced = without_caches(text).replace('`', "").replace(',', ", ");
    let text = normalised(&spaced, &BTreeMap::new()).replace(['(', ')'], " ");
    let column = |word: &str| match word.rsplit('.').next().unwrap_or(word).to_lowercase() {
        // Name of the function in newer versions of MariaDB.
        word if word == "octet_length" => "length".to_owned(),
        word => word,
    };
    without_constants(text.split_whitespace().map(column).collect()).join(" ")
}

/// A condition with a literal in place of each constant expression that the server computes once and newer versions
/// print as its value: `<cache>(elt(2,'a','b'))`.
fn without_caches(text: &str) -> String {
    let mut pieces = text.split(CACHE);
    let mut short = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        short.push_str("''");
        short.push_str(end_of_parentheses(piece, 0).map_or("", |end| &piece[end..]));
    }
    short
}

/// Comes before a constant expression in parentheses.
const CACHE: &str = "<cache>";

/// A condition's words without parts that the optimizer found to be always true, as newer versions of MySQL print them:
/// `true and k = ?`.
fn without_constants(mut words: Vec<String>) -> Vec<String> {
    let mut at = 0;
    while at < words.len() {
        let is =
            |at: Option<usize>, one: &str| at.and_then(|at| words.get(at)).is_some_and(|word| word == one);
        let (before, after) = (at.checked_sub(1), Some(at + 1));
        let begins = at == 0 || ["and", "or", "not"].iter().any(|word| is(before, word));
        if !is(Some(at), "true") || !begins {
            at += 1;
        } else if is(after, "and") && !is(before, "not") {
            words.drain(at..at + 2);
        } else if is(before, "and") && !is(after, "=") {
            words.drain(at - 1..=at);
        } else {
            at += 1;
        }
    }
    words
}
