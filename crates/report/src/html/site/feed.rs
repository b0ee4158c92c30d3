//! The feed of verdicts, an entry a run, in the Atom format (RFC 4287); and badges.

use std::collections::BTreeSet;

use maud::html;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use rqps_charts::{Badge, Mark as ChartMark};
use sha2::{Digest, Sha256};

use super::super::marks::Mark;
use super::run::SiteRun;
use super::{SiteFile, stem};
use crate::error::{Error, Result};
use crate::tame::tame;

/// Maximum entries, and changes of an entry.
const ENTRIES_MAX: usize = 50;
const CHANGES_MAX: usize = 40;

/// `feed.xml`: the newest complete runs with verdicts.
pub(super) fn feed(runs: &[SiteRun]) -> Result<SiteFile> {
    let is_news = |run: &&SiteRun| !run.counts.is_empty() && run.unfinished.is_none();
    let mut runs: Vec<&SiteRun> = runs.iter().filter(is_news).collect();
    runs.sort_by(|a, b| (b.updated_at_ms, &b.stem).cmp(&(a.updated_at_ms, &a.stem)));
    runs.truncate(ENTRIES_MAX);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 1);
    write(&mut writer, &runs).map_err(Error::output)?;
    let content = String::from_utf8(writer.into_inner()).map_err(Error::output)? + "\n";
    Ok(SiteFile { path: "feed.xml".to_owned(), content })
}

fn write(writer: &mut Writer<Vec<u8>>, runs: &[&SiteRun]) -> std::io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let newest = runs.iter().map(|run| run.updated_at_ms).max().unwrap_or(0);
    let root = writer.create_element("feed").with_attribute(("xmlns", "http://www.w3.org/2005/Atom"));
    root.write_inner_content(|writer| {
        text(writer, "title", "rqps: new verdicts")?;
        text(writer, "id", &id("feed"))?;
        text(writer, "updated", &rfc3339(newest))?;
        let author = writer.create_element("author");
        author.write_inner_content(|writer| text(writer, "name", "rqps"))?;
        writer.create_element("link").with_attribute(("href", "index.html")).write_empty()?;
        runs.iter().try_for_each(|run| entry(writer, run))
    })?;
    Ok(())
}

fn entry(writer: &mut Writer<Vec<u8>>, run: &SiteRun) -> std::io::Result<()> {
    let headline = run.headline.as_deref().unwrap_or_default();
    let more = run.changes.len().saturating_sub(CHANGES_MAX);
    let content = html! {
        @if let Some(text) = &run.check_first { p { (text) } }
        @for sentence in &run.sentences { p { (sentence) } }
        @if !run.changes.is_empty() {
            ul { @for change in run.changes.iter().take(CHANGES_MAX) { li { (change) } } }
        }
        @if more > 0 { p { (more) " more on its page." } }
    };
    writer.create_element("entry").write_inner_content(|writer| {
        text(writer, "title", &format!("{}: {headline}", run.name))?;
        text(writer, "id", &id(&format!("{} {}", run.name, run.created_at_ms)))?;
        text(writer, "updated", &rfc3339(run.updated_at_ms))?;
        let href = format!("runs/{}.html", run.stem);
        writer.create_element("link").with_attribute(("href", href.as_str())).write_empty()?;
        let body = tame(&content.into_string()).into_owned();
        writer
            .create_element("content")
            .with_attribute(("type", "html"))
            .write_text_content(BytesText::new(&body))?;
        Ok(())
    })?;
    Ok(())
}

fn text(writer: &mut Writer<Vec<u8>>, name: &str, content: &str) -> std::io::Result<()> {
    writer.create_element(name).write_text_content(BytesText::new(&tame(content)))?;
    Ok(())
}

/// The same id for the same text: a UUID of version 8, made of its digest.
fn id(text: &str) -> String {
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn rfc3339(at_ms: i64) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at_ms.max(0) as u64);
    humantime::format_rfc3339_seconds(at).to_string()
}

/// A badge for the newest run of each label.
pub(super) fn badges(runs: &[SiteRun]) -> Vec<SiteFile> {
    let file = |run: &&SiteRun| SiteFile { path: badge_path(run), content: badge(run).svg() };
    newest_by_label(runs).iter().map(file).collect()
}

/// The newest complete run of each label, or the newest if none is complete.
pub(super) fn newest_by_label(runs: &[SiteRun]) -> Vec<&SiteRun> {
    let (complete, others): (Vec<&SiteRun>, Vec<&SiteRun>) =
        runs.iter().partition(|run| run.unfinished.is_none());
    let mut known = BTreeSet::new();
    let newest = complete.into_iter().chain(others);
    newest.filter(|run| known.insert(badge_path(run).to_lowercase())).collect()
}

pub(super) fn badge_path(run: &SiteRun) -> String {
    format!("badges/{}.svg", stem(&run.label))
}

pub(super) fn badge(run: &SiteRun) -> Badge {
    let count = |mark: Mark| run.counts.iter().find(|(one, _)| *one == mark).map_or(0, |(_, count)| *count);
    let (slower, faster) = (count(Mark::Worse), count(Mark::Better));
    let [worse, better] = [Mark::Worse, Mark::Better].map(|mark| mark.phrase(run.counted));
    let all: usize = run.counts.iter().map(|(_, count)| count).sum();
    let (result, mark) = match (slower, faster) {
        _ if let Some(state) = run.unfinished => (state.to_owned(), ChartMark::Unknown),
        _ if all == 0 => ("no verdicts".to_owned(), ChartMark::Unknown),
        (0, 0) if count(Mark::Same) == all => {
            (format!("{} in {all}", Mark::Same.phrase(run.counted)), ChartMark::Same)
        }
        (0, 0) => {
            let same = count(Mark::Same);
            (
                format!("{same} {}, {} inconclusive", Mark::Same.phrase(run.counted), all - same),
                ChartMark::Unknown,
            )
        }
        (0, faster) => (format!("{faster} of {all} {better}"), ChartMark::Better),
        (slower, 0) => (format!("{slower} of {all} {worse}"), ChartMark::Worse),
        (slower, faster) => (format!("{slower} {worse}, {faster} {better} of {all}"), ChartMark::Worse),
    };
    Badge { name: run.label.clone(), result, mark }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_and_stays_the_same() {
        let one = id("demo");
        assert_eq!(one, id("demo"));
        assert_ne!(one, id("Demo"));
        assert_eq!(one.len(), "urn:uuid:".len() + 36);
        assert_eq!(&one[23..24], "8");
    }
}
