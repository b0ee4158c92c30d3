//! Scripts and mixes of the user's as tests.

use std::collections::BTreeMap;

use rqps_model::{Group, Unit};

use super::{Mix, Written, script};
use crate::microbenchmarks::QUERIES;
use crate::model::Protocol as Sending;
use crate::model::{Key, Param, Part, Script, Statement, Table as TableChoice, Test};

/// What an event of a mix is.
static TRANSACTIONS: Unit = Unit::new("transactions", "a transaction", "transaction", "transactions");

static GROUP: Group = Group::new(1, "sql", "own SQL", "sql");

/// The test of a script. It is leaked, as tests live as long as the program; a program reads few plans.
pub(super) fn test(name: &str, script: &script::Script) -> &'static Test {
    let parts = vec![part("", 0, script)].leak();
    let test = Test::new(leak(name.to_owned()), &GROUP, &QUERIES, 1, parts, "A script of the plan.");
    let draws = script.draws.clone().leak();
    Box::leak(Box::new(Test { transaction: script.transaction, draws, ..test }))
}

/// The test of a mix of scripts.
pub(super) fn test_of_mix(
    name: &str,
    mix: &Mix,
    scripts: &BTreeMap<String, (Written, script::Script)>,
) -> &'static Test {
    let (mut draws, mut parts, mut mixed) = (Vec::new(), Vec::new(), Vec::new());
    for (name, weight) in mix {
        // A script with a mistake has been reported.
        let Some((_, script)) = scripts.get(name) else { continue };
        parts.push(part(&format!("{name}/"), draws.len(), script));
        mixed.push(Script {
            name: leak(name.clone()),
            weight: *weight,
            transaction: script.transaction,
            draws: (draws.len(), script.draws.len()),
        });
        draws.extend_from_slice(&script.draws);
    }
    let test = Test::new(
        leak(name.to_owned()),
        &GROUP,
        &TRANSACTIONS,
        1,
        parts.leak(),
        "A mix of scripts of the plan, drawn by weight.",
    );
    Box::leak(Box::new(Test { draws: draws.leak(), scripts: mixed.leak(), ..test }))
}

/// The statements of a script. Their kinds begin with `prefix`; the script's first draw is number `first_draw`.
fn part(prefix: &str, first_draw: usize, script: &script::Script) -> Part {
    let statement = |(at, parsed): (usize, &script::Parsed)| {
        let word: String = parsed.sql.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        let drawn = |variable: &u16| Param::Drawn(first_draw as u16 + variable);
        Statement {
            kind: leak(format!("{prefix}{}-{}", at + 1, word.to_lowercase())),
            sql: leak(parsed.sql.clone()),
            params: parsed.variables.iter().map(drawn).collect::<Vec<_>>().leak(),
            protocol: Sending::Prepared,
            expect: parsed.expect,
        }
    };
    let statements: Vec<Statement> = script.statements.iter().enumerate().map(statement).collect();
    Part { table: TableChoice::OfClient, key: Key::None, times: 1, statements: statements.leak() }
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// One statement of a script's test as a test of its own.
pub(super) fn alone(whole: &'static Test, statements: &'static [Statement]) -> &'static Test {
    let part = Part { table: TableChoice::OfClient, key: Key::None, times: 1, statements };
    let alone = Test::new(whole.name, &GROUP, &QUERIES, 1, vec![part].leak(), whole.about);
    Box::leak(Box::new(Test { draws: whole.draws, ..alone }))
}
