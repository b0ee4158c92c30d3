//! What was run, on what and how, so that a reader can judge it and do it again.

use maud::{Markup, html};
use rqps_store::Arm;

use super::Page;
use crate::document::Block;
use crate::error::{Error, Result};
use crate::render::html as blocks;
use crate::render::html::code_box;
use crate::section::Section;
use crate::tables::host;

/// Words of this page and what they mean: the glossary has all of them.
const WORDS: [(&str, &str); 14] = [
    ("arm", "a variant's place in the plan: what is compared. One arm is base, the others are candidates"),
    ("base", "the arm that ratios are relative to"),
    (
        "control",
        "the base measured again, as an arm of its own: whatever a verdict calls on it is a false alarm",
    ),
    ("rate, rQPS", "operations per second; relative to base's in the same test"),
    ("operation", "a query as sysbench counts them, BEGIN and COMMIT included; for scan a thousand rows"),
    ("cost", "what one operation takes the server: instructions, CPU time, WAL, rows and blocks, fsyncs"),
    ("block", "one replicate: a restart of every arm from the same data, or one pass of a sequence"),
    ("window", "one measured stretch of one test on one arm"),
    ("slower, costs more", "worse than base, by a test whose error over all looks is held"),
    ("the same", "the difference is smaller than what matters"),
    ("not decided", "neither a change nor its absence is shown. It does not mean the same"),
    (
        "could show",
        "the smallest change for the worse that so many blocks would have shown with 80 % probability",
    ),
    ("canary", "small fixed work of the host itself, before and after each block"),
    ("void", "of a block: spoilt by the host or cut off. None of its windows is a result"),
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
            (configs(page))
            @let options = page.blocks(&[Section::LeftOut])?;
            (blocks::blocks(&options[..1], 3))
            details { summary { "Options set by rqps" } (blocks::blocks(&options[1..], 3)) }
            (settings(page))
            h3 { "Host" }
            (tables(&[Section::Host])?)
            @if !page.run.blocks.is_empty() {
                details { summary { "Blocks, with the host around them" } (tables(&[Section::Blocks])?) }
            }
            details { summary { "Loads and settles" } (tables(&[Section::Loads, Section::Settles])?) }
            @if !remarks.is_empty() {
                h3 { "What did not go as planned" }
                (blocks::blocks(&remarks, 3))
            }
            h3 { "To do it again" }
            (again(page)?)
            h3 { "Words" }
            dl.words { @for (word, means) in WORDS { dt { (word) } dd { (means) } } }
        }
    })
}

/// Configs as used, each with the arms that ran with it.
fn configs(page: &Page<'_>) -> Markup {
    let mut configs: Vec<(Vec<String>, &Arm)> = Vec::new();
    for side in page.sides.base_first() {
        let of =
            |arm: &Arm| (arm.config_text.clone(), arm.env.clone(), arm.after_load.clone(), arm.facts.clone());
        match configs.iter_mut().find(|(_, known)| of(known) == of(side.arm)) {
            Some((arms, _)) => arms.push(side.reference()),
            None => configs.push((vec![side.reference()], side.arm)),
        }
    }
    html! {
        @for (arms, arm) in configs {
            details {
                summary { "Config " (arm.config_name) " as used on " (arms.join(", ")) }
                (code_box(&arm.config_text, &format!("Config of {}", arms.join(", "))))
                @if !arm.env.is_empty() {
                    ul { @for (name, value) in &arm.env { li { code { (name) "=" (value) } } } }
                }
                @if !arm.after_load.is_empty() {
                    (code_box(&arm.after_load.join("\n"), "Statements after the load"))
                }
                @for fact in &arm.facts { p.fact { strong { (fact.name) } ": " code { (fact.value) } } }
            }
        }
    }
}

/// Settings in which the servers differ, by what they said themselves.
fn settings(page: &Page<'_>) -> Markup {
    let all = page.sides.base_first();
    let value = |side: &crate::sides::Side<'_>, name: &str| {
        side.arm.settings.iter().find(|one| one.name == name).map(|one| one.value.clone())
    };
    let mut names: Vec<&str> =
        all.iter().flat_map(|side| &side.arm.settings).map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| all.iter().any(|side| value(side, name) != value(&all[0], name)));
    html! {
        @if !names.is_empty() {
            details {
                summary { "Settings that differ between the servers (" (names.len()) ")" }
                div.scroll tabindex="0" role="group" aria-label="Settings that differ" {
                    table {
                        thead { tr {
                            th scope="col" { "setting" }
                            @for side in &all { th scope="col" { (side.reference()) } }
                        } }
                        tbody { @for name in &names { tr {
                            th scope="row" { (name) }
                            @for side in &all { td { (value(side, name).unwrap_or_else(|| "not known".to_owned())) } }
                        } } }
                    }
                }
            }
        }
    }
}

fn again(page: &Page<'_>) -> Result<Markup> {
    let path = page.run.folder.plan_path();
    let plan = std::fs::read_to_string(&path)
        .map_err(|error| Error::Output(format!("{} cannot be read: {error}", path.display())))?;
    let name = page.run.folder.name();
    Ok(html! {
        p { "Save the plan below as " code { "plan.toml" } " and run it; its arms are obtained and checked by their "
            "hashes, its seeds are in it." }
        (code_box(&format!("rqps plan check plan.toml\nrqps run plan.toml\nrqps report last --html\n\
            # this run, with a later base or by other sections\nrqps show {name}\nrqps explain {name}"), "Commands"))
        details { summary { "The plan" } (code_box(&plan, "Plan")) }
    })
}
