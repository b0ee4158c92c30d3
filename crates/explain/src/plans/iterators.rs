//! Parses plans of MySQL from JSON made of iterators: the format of the hypergraph optimizer, optional in
//! newer versions. Uses the names of the block format, so that a plan has one fingerprint in both.

use serde_json::Value;

use super::blocks::{NOTHING_READ, condition, join_all, message_node};
use super::tree::{Node, flag, stem, stem_of_index, text};

/// The root of the plan; `None` if the JSON has none, as for writes planned by the older optimizer.
pub(super) fn root(value: &Value) -> Option<Node> {
    let plan = value.get("query_plan").or_else(|| value.get("operation").map(|_| value))?;
    if text(plan, "operation")?.starts_with("<not executable") {
        return None;
    }
    let query = text(value, "query").unwrap_or_default();
    join_all(nodes(plan, query))
}

fn inputs(plan: &Value, query: &str) -> Vec<Node> {
    let inputs = plan.get("inputs").and_then(Value::as_array);
    inputs.into_iter().flatten().flat_map(|input| nodes(input, query)).collect()
}

/// The steps of an iterator in terms of the block format; an iterator that only passes rows on has none.
fn nodes(plan: &Value, query: &str) -> Vec<Node> {
    let operation = text(plan, "operation").unwrap_or_default();
    let step = |kind: &str| vec![Node::step(kind, inputs(plan, query))];
    match text(plan, "access_type").unwrap_or_default() {
        "rows_fetched_before_execution" => vec![const_access(query)],
        "insert_values" => vec![Node::step(NOTHING_READ, Vec::new())],
        "table" if !is_base_table(plan) => inputs(plan, query),
        "table" | "index" => vec![access(plan)],
        "filter" => filtered(plan, inputs(plan, query)),
        "sort" => step("filesort"),
        "temp_table_aggregate" => step("temporary table"),
        "materialize" => step(if flag(plan, "temp_table") { "temporary table" } else { "materialize" }),
        "join" => joined(plan, inputs(plan, query)),
        "delete_rows" => step("delete"),
        "zero_rows" => {
            let why = operation.split_once('(').map_or(operation, |(_, why)| why.trim_end_matches(')'));
            vec![message_node(why)]
        }
        "aggregate" | "limit" => inputs(plan, query),
        "" if operation.starts_with("Update ") => step("update"),
        "" => step(operation.split([':', '(']).next().unwrap_or(operation).trim()),
        other => step(&other.replace('_', " ")),
    }
}

/// Whether rows come from a table of the database rather than from a temporary one.
fn is_base_table(plan: &Value) -> bool {
    text(plan, "table_name").is_some_and(|name| !name.starts_with('<'))
}

/// The row was read during planning; only the statement names its table.
fn const_access(query: &str) -> Node {
    let from = query.split(" from ").nth(1).unwrap_or_default();
    let name = from.split([' ', ',']).next().unwrap_or_default().replace('`', "");
    let table = name.rsplit('.').next().filter(|name| !name.is_empty()).map(|name| stem(name).0.to_owned());
    Node { table, ..Node::step(super::CONST_ACCESS, Vec::new()) }
}

fn access(plan: &Value) -> Node {
    let operation = text(plan, "operation").unwrap_or_default();
    let is_covering = flag(plan, "covering");
    let scan = (text(plan, "index_access_type"), text(plan, "index_name"));
    // A table's rows are stored in its primary key.
    let is_whole = scan == (Some("index_scan"), Some("PRIMARY")) && !is_covering;
    let kind = match (text(plan, "access_type"), text(plan, "index_access_type")) {
        (Some("table"), _) => "full table scan (ALL)",
        _ if is_whole => "full table scan (ALL)",
        (_, Some("index_range_scan")) => "range access",
        (_, Some("index_scan")) => "index scan",
        (_, Some("index_lookup")) if operation.contains("ingle-row ") => "eq_ref access",
        (_, Some("index_lookup")) => "ref access",
        (_, Some(other)) => &format!("{} access", other.replace('_', " ")),
        _ => "index access",
    };
    let kind = if is_covering { format!("covering {kind}") } else { kind.to_owned() };
    let (_, number) = stem(text(plan, "table_name").unwrap_or_default());
    let shown = text(plan, "alias").or(text(plan, "table_name")).unwrap_or_default();
    let pushed = text(plan, "pushed_index_condition").map(|pushed| ("Index Cond", condition(pushed)));
    Node {
        table: Some(stem(shown).0.to_owned()),
        index: text(plan, "index_name")
            .filter(|_| !is_whole)
            .map(|index| (stem_of_index(index, number), index.to_owned())),
        keys: pushed.into_iter().collect(),
        ..Node::step(kind, Vec::new())
    }
}

/// Attaches a filter to the table access below it, as in the block format.
fn filtered(plan: &Value, mut inputs: Vec<Node>) -> Vec<Node> {
    let found = text(plan, "condition").map(condition).unwrap_or_default();
    match inputs.as_mut_slice() {
        [access] if access.is_access() => {
            access.keys.insert("Filter", found);
            inputs
        }
        _ => vec![Node { keys: [("Filter", found)].into(), ..Node::step("filter", inputs) }],
    }
}

/// A chain of joins is one step with its tables in reading order. The table that the hash is built from is
/// read first, then the table that probes it.
fn joined(plan: &Value, inputs: Vec<Node>) -> Vec<Node> {
    let mut tables: Vec<Node> = Vec::new();
    for input in inputs {
        if input.kind == "nested loop" { tables.extend(input.inputs) } else { tables.push(input) }
    }
    if text(plan, "join_algorithm") == Some("hash") && tables.len() > 1 {
        let mut probed = tables.remove(0);
        let conditions = plan.get("hash_condition").and_then(Value::as_array).into_iter().flatten();
        let conditions: Vec<String> = conditions.filter_map(Value::as_str).map(condition).collect();
        probed.keys.entry("Filter").or_insert(conditions.join(" and "));
        tables.push(Node::step("hash join", vec![probed]));
    }
    vec![Node::step("nested loop", tables)]
}
