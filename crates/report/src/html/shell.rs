//! The frame of an HTML file: head, navigation, style, script, and content security policy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page has besides its content.
pub(super) struct Frame<'a> {
    pub title: String,
    /// Version of the rqps that measured.
    pub program_version: &'a str,
    /// Links of the navigation and their titles.
    pub links: Vec<(String, &'a str)>,
    /// Address of a feed.
    pub feed: Option<&'a str>,
    pub footer: Markup,
}

impl Frame<'_> {
    /// Returns the complete file.
    pub fn page(&self, main: &Markup) -> String {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content=(format!("rqps {}", self.program_version));
                    title { (self.title) }
                    link rel="icon" href="data:,";
                    @if let Some(feed) = self.feed {
                        link rel="alternate" type="application/atom+xml" title="New verdicts" href=(feed);
                    }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.bar {
                        nav aria-label="Sections" {
                            @for (link, title) in &self.links { a href=(link) { (title) } }
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
                    footer { (self.footer) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        markup.into_string()
    }
}

/// Forbids all external resources and all scripts but the page's own: even an unescaped name could not run
/// code.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'; \
         form-action 'none'"
    )
}
