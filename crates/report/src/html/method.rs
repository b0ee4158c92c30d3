//! What was run, how and on which host, so that readers can assess and reproduce it.

use maud::{Markup, html};
use rqps_store::Arm;

use super::Page;
use crate::document::Block;
use crate::error::{Error, Result};
use crate::render::html as blocks;
use crate::render::html::code_box;
use crate::section::Section;
use crate::tables::host;

/// Prefix of facts about how a program was built.
const COMPILER: &str = "family.";

/// Terms of this page; GLOSSARY.md has all of them.
const WORDS: [(&str, &str); 16] = [
    ("arm", "a variant that takes part in the comparison. One arm is base, the others are candidates"),
    ("base", "the arm that ratios are relative to"),
    (
        "control",
        "base measured a second time, as another arm (A/A): any change reported on it is a false alarm",
    ),
    ("rate, rQPS", "operations per second; rQPS is the rate divided by base's in the same test"),
    (
        "operation",
        "what a test's rate counts: a query, including BEGIN and COMMIT, unless a table names another unit",
    ),
    ("cost", "what one operation takes of the server: instructions, or CPU time if they are not counted"),
    (
        "session CPU",
        "CPU time of what serves the clients; that of verdicts is the whole server's, background processes included",
    ),
    ("block", "one replicate: a restart of every arm from the same data, or one pass of a sequence"),
    ("window", "one measurement of one test on one arm"),
    (
        "slower, costs more",
        "worse than base; the test keeps its error rate although results are checked several times",
    ),
    ("the same", "the difference is smaller than what matters"),
    ("inconclusive", "neither a change nor its absence could be established. It does not mean the same"),
    ("likely, not established", "inconclusive, but a change is likely: more blocks would probably show it"),
    (
        "detectable",
        "the smallest change for the worse that this many blocks would have called a regression with 80 % probability; \
         the same takes less evidence and is also said where this is larger",
    ),
    ("canary", "a small fixed workload that probes the host before and after each block"),
    (
        "void",
        "of a block: a server died in it, the host changed, or it was interrupted. None of its windows counts",
    ),
];

pub(super) fn section(page: &Page<'_>) -> Result<Markup> {
    let tables = |sections: &[Section]| -> Result<Markup> { Ok(blocks::blocks(&page.blocks(sections)?, 3)) };
    let remarks = page.blocks(&[Section::Remarks])?;
    Ok(html! {
        section #method {
            h2 { "How this was measured" }
            (blocks::blocks(&[Block::Items(host::method(page.run))], 3))
            h3 { "What was compared" }
            (tables(&[Section::Arms])?)
            @if page.run.meta.is_imported() {
                @if !remarks.is_empty() { h3 { "Remarks" } (blocks::blocks(&remarks, 3)) }
            } @else { (conditions(page, &remarks)?) }
            h3 { "Glossary" }
            dl.words { @for (word, means) in glossary(page) { dt { (word) } dd { (means) } } }
        }
    })
}

/// What is known of a run of our own: configs, host, blocks, loads, problems, the plan.
fn conditions(page: &Page<'_>, remarks: &[Block]) -> Result<Markup> {
    let tables = |sections: &[Section]| -> Result<Markup> { Ok(blocks::blocks(&page.blocks(sections)?, 3)) };
    Ok(html! {
            (configs(page))
            @if page.run.terms().has_program {
                @let options = page.blocks(&[Section::LeftOut])?;
                (blocks::blocks(&options[..1], 3))
                details { summary { "Options set by rqps" } (blocks::blocks(&options[1..], 3)) }
            }
            (settings(page))
            h3 { "Host" }
            (tables(&[Section::Certificate])?)
            (tables(&[Section::Host])?)
            @if !page.run.blocks.is_empty() {
                details { summary { "Blocks, with canaries" } (tables(&[Section::Blocks])?) }
            }
            @if page.run.terms().has_program {
                details { summary { "Loads and settles" } (tables(&[Section::Loads, Section::Settles])?) }
            }
            @if !remarks.is_empty() {
                h3 { "Problems during the run" }
                (blocks::blocks(remarks, 3))
            }
            h3 { "How to reproduce it" }
            (reproduction(page)?)
    })
}

/// Words that the page uses.
fn glossary(page: &Page<'_>) -> Vec<(&'static str, &'static str)> {
    let (hidden, own): (&[&str], &[(&str, &str)]) = if page.run.meta.is_imported() {
        (&["window", "control", "canary", "void"], &[("block", "one repeat of every arm, as imported")])
    } else {
        (page.run.terms().unused, page.run.terms().glossary)
    };
    let is_shown = |word: &str| !hidden.contains(&word) && own.iter().all(|(known, _)| *known != word);
    let shown = WORDS.into_iter().filter(|(word, _)| is_shown(word));
    shown.chain(own.iter().copied()).collect()
}

/// Configs as used, each with its arms.
fn configs(page: &Page<'_>) -> Markup {
    let mut configs: Vec<(Vec<String>, &Arm)> = Vec::new();
    for compared in page.comparison.base_first() {
        let shown =
            |arm: &Arm| (arm.config_text.clone(), arm.env.clone(), arm.after_load.clone(), arm.facts.clone());
        match configs.iter_mut().find(|(_, known)| shown(known) == shown(compared.arm)) {
            Some((arms, _)) => arms.push(compared.reference()),
            None => configs.push((vec![compared.reference()], compared.arm)),
        }
    }
    html! {
        @for (arms, arm) in configs {
            details {
                @if arm.is_directory() {
                    summary { "Directory of " (arms.join(", ")) }
                } @else {
                    summary { "Config " (arm.config_name) " as used on " (arms.join(", ")) }
                    (code_box(&arm.config_text, &format!("Config of {}", arms.join(", "))))
                }
                @if !arm.env.is_empty() {
                    ul { @for (name, value) in &arm.env { li { code { (name) "=" (value) } } } }
                }
                @if !arm.after_load.is_empty() {
                    (code_box(&arm.after_load.join("\n"), "Statements after the load"))
                }
                @for fact in arm.facts.iter().filter(|fact| !(arm.is_directory() && fact.name.starts_with(COMPILER))) {
                    p.fact { strong { (fact.name) } ": " code { (fact.value) } }
                }
            }
        }
    }
}

/// Settings that differ between the servers, as the servers report them.
fn settings(page: &Page<'_>) -> Markup {
    let all = page.comparison.base_first();
    let value = |compared: &crate::comparison::ComparedArm<'_>, name: &str| {
        compared.arm.settings.iter().find(|one| one.name == name).map(|one| one.value.clone())
    };
    let mut names: Vec<&str> =
        all.iter().flat_map(|compared| &compared.arm.settings).map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| all.iter().any(|compared| value(compared, name) != value(&all[0], name)));
    html! {
        @if !names.is_empty() {
            details {
                summary { "Settings that differ between the servers (" (names.len()) ")" }
                div.scroll tabindex="0" role="group" aria-label="Settings that differ" {
                    table {
                        thead { tr {
                            th scope="col" { "setting" }
                            @for compared in &all { th scope="col" { (compared.reference()) } }
                        } }
                        tbody { @for name in &names { tr {
                            th scope="row" { (name) }
                            @for compared in &all { td { (value(compared, name).unwrap_or_else(|| "unknown".to_owned())) } }
                        } } }
                    }
                }
            }
        }
    }
}

fn reproduction(page: &Page<'_>) -> Result<Markup> {
    let path = page.run.folder.plan_path();
    let plan = std::fs::read_to_string(&path)
        .map_err(|error| Error::Output(format!("{} cannot be read: {error}", path.display())))?;
    let name = page.run.folder.name();
    Ok(html! {
        p { "Save the plan below as " code { "plan.toml" } " and run it. It contains the seeds; builds are fetched and "
            "verified by their hashes." }
        (code_box(&format!("rqps plan check plan.toml\nrqps run plan.toml\nrqps report last --html\n\
            # other sections of this run\nrqps show {name}\nrqps explain {name}"), "Commands"))
        details { summary { "The plan" } (code_box(&plan, "Plan")) }
    })
}
