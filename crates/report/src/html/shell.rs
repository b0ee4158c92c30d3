//! The file around the sections: head, bar of links, style and script, and what the browser is allowed to do.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::Page;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole file. `links` are sections by their id and title.
pub(super) fn page(page: &Page<'_>, links: &[(&str, &str)], main: &Markup) -> String {
    let title = format!("rqps: {}", page.run.folder.name());
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(format!("rqps {}", page.run.meta.program_version));
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header.bar {
                    nav aria-label="Sections" {
                        @for (id, title) in links { a href=(format!("#{id}")) { (title) } }
                    }
                    div.choices.script-only {
                        label for="theme" { span.sr { "Theme" } }
                        select #theme {
                            option value="" { "Auto" }
                            option value="light" { "Light" }
                            option value="dark" { "Dark" }
                        }
                    }
                }
                main #main tabindex="-1" { (main) }
                footer {
                    p {
                        "Made by rqps " (page.run.meta.program_version) " from the run folder "
                        code { (page.run.folder.name()) } ". This file holds everything it shows and asks for nothing \
                        else."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// Nothing from elsewhere, and no script but the one of this file: a name that got through the escaping could not run.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'; \
         form-action 'none'"
    )
}
