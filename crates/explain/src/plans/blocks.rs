//! Plans of MySQL and MariaDB as trees, from the JSON that is made of query blocks: all versions of MySQL unless the
//! hypergraph optimizer is on, and all of MariaDB.
//!
//! The two nest alike and name some things differently. Whatever an object is called, what matters is which tables it
//! has below it, and whether it sorts or fills a temporary table.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::expression::normalised;
use super::tree::{Node, stem, stem_of_index};

/// The name of a step that reads no table: an insert, or a result that is known without any.
pub(super) const NOTHING_READ: &str = "no table read";

/// Ways to a table by their access type, as these DBMSs name it in every version.
const ACCESS: [(&str, &str); 3] =
    [("ALL", "full table scan (ALL)"), ("index", "index scan"), ("const", super::CONST_ACCESS)];

/// What join buffers are called by MariaDB, and by MySQL.
const JOIN_BUFFERS: [(&str, &str); 6] = [
    ("BNLH", "hash join"),
    ("hash join", "hash join"),
    ("BNL", "block nested loop"),
    ("Block Nested Loop", "block nested loop"),
    ("BKA", "batched key access"),
    ("Batched Key Access", "batched key access"),
];

/// The root of the plan in a `query_block`; none where nothing in it is a step.
pub(super) fn root(value: &Value) -> Option<Node> {
    let block = value.get("query_block")?;
    let mut nodes = below(block);
    match nodes.len() {
        0 | 1 => nodes.pop(),
        _ => Some(join(nodes)),
    }
}

/// The steps of an object, or of those in a list.
fn below(value: &Value) -> Vec<Node> {
    match value {
        Value::Array(values) => values.iter().flat_map(below).collect(),
        Value::Object(fields) => of_object(fields),
        _ => Vec::new(),
    }
}

fn of_object(fields: &Map<String, Value>) -> Vec<Node> {
    if let Some(Value::String(message)) = fields.get("message")
        && !fields.contains_key("table_name")
    {
        return vec![message_node(message)];
    }
    // MariaDB's older versions put the tables of a join beside each other, all but the first maybe in a join buffer. Of
    // several that have no such buffer, and so the same name, JSON keeps the last.
    let (mut tables, mut others) = (Vec::new(), Vec::new());
    let first = fields.iter().filter(|(name, _)| *name == "table");
    for (name, inner) in first.chain(fields.iter().filter(|(name, _)| *name != "table")) {
        let nodes = of_field(name, inner);
        let is_beside = nodes.iter().all(|node| node.role.is_some());
        if is_beside { others.extend(nodes) } else { tables.extend(nodes) }
    }
    if tables.len() > 1 {
        tables = vec![join(tables)];
    }
    match tables.first_mut() {
        Some(node) => node.inputs.extend(others),
        None => tables = others,
    }
    tables
}

fn of_field(name: &str, inner: &Value) -> Vec<Node> {
    let fields = inner.as_object();
    match (name, fields) {
        ("table", Some(fields)) => vec![table(fields)],
        ("block-nl-join", Some(fields)) => {
            let kind = fields.get("join_type").and_then(Value::as_str).unwrap_or_default();
            vec![Node::step(join_buffer(kind), below(inner))]
        }
        ("nested_loop", _) => match below(inner) {
            nodes if nodes.len() > 1 => vec![join(nodes)],
            nodes => nodes,
        },
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

/// What an object does beside holding others, outermost first.
fn steps(name: &str, fields: Option<&Map<String, Value>>) -> Vec<&'static str> {
    let does = |what: &str| fields.is_some_and(|fields| is_set(fields, what));
    match name {
        "filesort" => vec!["filesort"],
        "temporary_table" => vec!["temporary table"],
        "materialized" | "materialized_from_subquery" => vec!["materialize"],
        "union_result" => vec!["union"],
        _ => {
            let own = [("using_filesort", "filesort"), ("using_temporary_table", "temporary table")];
            own.into_iter().filter(|(what, _)| does(what)).map(|(_, step)| step).collect()
        }
    }
}

/// `true`, 1, or a reason, such as `for update`.
fn is_set(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        Some(Value::Bool(set)) => *set,
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::String(_)) => true,
        _ => false,
    }
}

/// What a plan says that is no plan: why no row can be found, most often.
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
    let Some(access) = text("access_type").filter(|_| !is_set(fields, "insert")) else {
        return Node::step(NOTHING_READ, Vec::new());
    };
    let (name, number) = stem(text("table_name").unwrap_or_default());
    let known = ACCESS.iter().find(|(type_name, _)| *type_name == access);
    let kind = known.map_or_else(|| format!("{access} access"), |(_, kind)| (*kind).to_owned());
    let is_covering = is_set(fields, "using_index") && access != "const";
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
        .flat_map(|(field, inner)| of_field(field, inner));
    let way = Node {
        table: Some(name.to_owned()),
        // A row that is read before the statement runs is found by its whole key, whichever.
        index: text("key")
            .filter(|_| access != "const")
            .map(|index| (stem_of_index(index, number), index.to_owned())),
        keys,
        ..Node::step(kind, nested.collect())
    };
    let buffer = text("using_join_buffer").map(join_buffer);
    let written =
        [("update", "update"), ("delete", "delete")].into_iter().find(|(field, _)| is_set(fields, field));
    let temporary = is_set(fields, "using_temporary_table").then_some("temporary table");
    let around_it = [buffer, temporary, written.map(|(_, step)| step)];
    around_it.into_iter().flatten().fold(way, |node, step| Node::step(step, vec![node]))
}

fn join_buffer(kind: &str) -> &'static str {
    JOIN_BUFFERS.iter().find(|(name, _)| *name == kind).map_or("join buffer", |(_, name)| name)
}

fn join(inputs: Vec<Node>) -> Node {
    Node::step("nested loop", inputs)
}

/// A condition without literals, and without what versions write in their own way: quotes, parentheses, and the names
/// of database and table before a column's.
pub(super) fn condition(text: &str) -> String {
    let spaced = text.replace('`', "").replace(',', ", ");
    let text = normalised(&spaced, &BTreeMap::new()).replace(['(', ')'], " ");
    let column = |word: &str| match word.rsplit('.').next().unwrap_or(word).to_lowercase() {
        // MariaDB's newer versions call it so.
        word if word == "octet_length" => "length".to_owned(),
        word => word,
    };
    text.split_whitespace().map(column).collect::<Vec<_>>().join(" ")
}
