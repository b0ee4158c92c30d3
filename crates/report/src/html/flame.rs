//! Embeds a flamegraph in the page: only the frames, without the script and style sheet of a standalone
//! flamegraph, which would affect every chart on the page.

use maud::{Markup, PreEscaped, html};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Width of the drawing, and height of a frame.
const WIDTH: f64 = 1180.0;
const FRAME: f64 = 15.0;

/// Bytes of a frame's markup without its texts.
const FRAME_BYTES: usize = 120;

/// A box of the graph. Texts are still escaped, as in the drawing.
#[derive(Default)]
struct Frame {
    title: String,
    text: String,
    x: f64,
    y: f64,
    width: f64,
    fill: String,
}

/// Converts a drawing to markup of at most about `bytes_max` bytes, labelled `label`. Drops the narrowest
/// frames to fit and returns how many. None if there are no frames.
pub(super) fn embedded(
    svg: &str,
    label: &str,
    bytes_max: usize,
) -> Result<Option<(Markup, usize)>, quick_xml::Error> {
    let mut frames = frames(svg)?;
    let all = frames.len();
    frames.sort_by(|a, b| b.width.total_cmp(&a.width));
    let mut bytes = 0;
    frames.retain(|frame| {
        bytes += FRAME_BYTES + frame.title.len() + frame.text.len();
        bytes <= bytes_max
    });
    let left_out = all - frames.len();
    if frames.is_empty() {
        return Ok(None);
    }
    let tops = || frames.iter().map(|frame| frame.y);
    let (top, bottom) = (tops().fold(f64::INFINITY, f64::min), tops().fold(0.0, f64::max));
    let graph = html! {
        svg.flame-graph viewBox=(format!("0 {top} {WIDTH} {}", bottom + FRAME + 1.0 - top)) role="img"
            aria-label=(label) data-width=(WIDTH) {
            @for frame in &frames {
                rect x=(short(frame.x)) y=(short(frame.y)) width=(short(frame.width)) height=(FRAME)
                    fill=(frame.fill) {
                    title { (PreEscaped(&frame.title)) }
                }
                @if !frame.text.is_empty() {
                    text x=(short(frame.x + 3.0)) y=(short(frame.y + 11.0)) { (PreEscaped(&frame.text)) }
                }
            }
        }
    };
    Ok(Some((graph, left_out)))
}

/// Rounds to 0.1.
fn short(value: f64) -> String {
    format!("{}", (value * 10.0).round() / 10.0)
}

fn frames(svg: &str) -> Result<Vec<Frame>, quick_xml::Error> {
    let mut reader = Reader::from_str(svg);
    let mut frames: Vec<Frame> = Vec::new();
    let mut within = false;
    loop {
        match reader.read_event()? {
            Event::Start(start) => match start.local_name().as_ref() {
                "svg" => within = attribute(&start, "id") == "frames",
                "g" if within => frames.push(Frame::default()),
                "title" | "text" => {
                    let is_title = start.local_name().as_ref() == "title";
                    let text = reader.read_text(start.name())?.into_inner().into_owned();
                    match (frames.last_mut().filter(|_| within), is_title) {
                        (Some(frame), true) => frame.title = text,
                        (Some(frame), false) => frame.text = text,
                        (None, _) => {}
                    }
                }
                _ => {}
            },
            Event::Empty(empty) if within && empty.local_name().as_ref() == "rect" => {
                if let Some(frame) = frames.last_mut() {
                    let number =
                        |key: &str| attribute(&empty, key).trim_end_matches('%').parse().unwrap_or(0.0);
                    frame.x = number("x") / 100.0 * WIDTH;
                    frame.width = number("width") / 100.0 * WIDTH;
                    frame.y = number("y");
                    frame.fill = attribute(&empty, "fill");
                }
            }
            Event::Eof => return Ok(frames),
            _ => {}
        }
    }
}

fn attribute(element: &BytesStart<'_>, key: &str) -> String {
    let found = element.try_get_attribute(key).ok().flatten();
    let value = found.and_then(|found| {
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(|value| value.into_owned())
    });
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_are_embedded_and_names_stay_escaped() {
        let drawn = rqps_charts::flamegraph("backend;<script>x</script> 3\nbackend;b&c 1\n", "t").unwrap();
        let graph = |bytes_max| embedded(&drawn, "graph", bytes_max).unwrap().unwrap();
        let (markup, left_out) = graph(1000);
        let markup = markup.into_string();
        assert_eq!((markup.matches("<rect").count(), left_out), (4, 0), "all, backend and two: {markup}");
        for mark in ["<script", "<style", "onload"] {
            assert!(!markup.contains(mark), "{mark}: {markup}");
        }
        assert!(markup.contains("&lt;script&gt;x&lt;/script&gt; (3 samples"), "{markup}");
        assert!(markup.contains("b&amp;c"), "{markup}");
        let (markup, left_out) = graph(500);
        assert!(left_out > 0 && !markup.into_string().contains("b&amp;c"), "the narrowest is dropped");
    }
}
