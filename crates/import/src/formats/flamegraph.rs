//! A flamegraph's SVG back into the stacks it was drawn from.

use std::io::Read;

use crate::error::Broken;
use crate::lines::whole;
use crate::model::{Document, Measurement, number};

/// Frames of a drawing: more is no flamegraph.
const FRAMES_MAX: usize = 200_000;
/// How far a frame's edges may lie outside of its caller's: coordinates have one decimal.
const EDGE_PX: f64 = 0.06;
const DEPTH_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq)]
struct Frame {
    name: String,
    samples: u64,
    x: f64,
    y: f64,
    width: f64,
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let text = whole(input)?;
    // Frames that are missing would be time of their callers.
    if !text.trim_end().ends_with("</svg>") {
        let last = text.lines().count().max(1) as u32;
        return Err(Broken::at(last, "no </svg> at its end: the file is cut off; import the whole file"));
    }
    let stacks = folded(&frames(&text)?)?;
    let measurement = Measurement { stacks: Some(stacks), line: 1, ..Measurement::default() };
    Ok(Document {
        tool: Some("flamegraph".to_owned()),
        measurements: vec![measurement],
        ..Document::default()
    })
}

/// `<title>NAME (N samples, P%)</title><rect x="…" y="…" width="…"`
fn frames(text: &str) -> Result<Vec<Frame>, Broken> {
    let mut frames = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let Some((title, rect)) =
            line.strip_prefix("<title>").and_then(|rest| rest.split_once("</title><rect "))
        else {
            continue;
        };
        let bad = || Broken::at(at, format!("not a frame with samples and a place: {title:?}"));
        let (name, counts) = title.rsplit_once(" (").ok_or_else(bad)?;
        let samples =
            counts.split_once(" samples").and_then(|(samples, _)| samples.replace(',', "").parse().ok());
        let attribute = |name: &str| {
            let value = rect
                .split(' ')
                .find_map(|word| word.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'));
            value.and_then(number).ok_or_else(bad)
        };
        frames.push(Frame {
            name: unescaped(name),
            samples: samples.ok_or_else(bad)?,
            x: attribute("x")?,
            y: attribute("y")?,
            width: attribute("width")?,
        });
        if frames.len() > FRAMES_MAX {
            return Err(Broken::at(at, "more than 200,000 frames"));
        }
    }
    if frames.is_empty() {
        return Err(Broken::at(1, "no frames in it"));
    }
    Ok(frames)
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replace([';', '\n'], ":")
}

/// A line per frame with samples of its own. The root's name is left out.
fn folded(frames: &[Frame]) -> Result<String, Broken> {
    // Rows from the root on: of the frames with all samples, the one at the top or the bottom of the drawing.
    let y = || frames.iter().map(|frame| frame.y);
    let (top, bottom) = (y().fold(f64::INFINITY, f64::min), y().fold(0.0, f64::max));
    let is_outermost = |frame: &Frame| frame.y == top || frame.y == bottom;
    let root = frames.iter().max_by_key(|frame| (frame.samples, is_outermost(frame)));
    let root = root.ok_or_else(|| Broken::at(1, "no frames"))?;
    let mut ordered: Vec<&Frame> = frames.iter().collect();
    ordered.sort_by(|a, b| {
        let row = |frame: &Frame| (frame.y - root.y).abs();
        row(a).total_cmp(&row(b)).then(a.x.total_cmp(&b.x))
    });
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (index, frame) in ordered.iter().enumerate() {
        match rows.last_mut() {
            Some(row) if (ordered[row[0]].y - frame.y).abs() < 1.0 => row.push(index),
            _ => rows.push(vec![index]),
        }
    }
    if rows.len() > DEPTH_MAX {
        return Err(Broken::at(1, "stacks deeper than 1,000 frames"));
    }
    let (mut parents, mut own): (Vec<Option<usize>>, Vec<u64>) =
        (vec![None; ordered.len()], ordered.iter().map(|frame| frame.samples).collect());
    for pair in rows.windows(2) {
        let mut callers = pair[0].iter().copied().peekable();
        for &index in &pair[1] {
            let frame = ordered[index];
            let holds = |caller: usize| {
                let caller = ordered[caller];
                frame.x + EDGE_PX >= caller.x && frame.x + frame.width <= caller.x + caller.width + EDGE_PX
            };
            while callers.peek().is_some_and(|caller| !holds(*caller)) {
                callers.next();
            }
            let caller = *callers
                .peek()
                .ok_or_else(|| Broken::at(1, format!("frame {} has no caller", frame.name)))?;
            parents[index] = Some(caller);
            own[caller] = own[caller].saturating_sub(frame.samples);
        }
    }
    let mut lines = String::new();
    for index in (0..ordered.len()).filter(|index| own[*index] > 0) {
        let mut stack = Vec::new();
        let mut at = Some(index);
        while let Some(frame) = at {
            stack.push(ordered[frame].name.as_str());
            at = parents[frame];
        }
        if stack.len() > 1 {
            stack.pop();
        }
        stack.reverse();
        lines.push_str(&format!("{} {}\n", stack.join(";"), own[index]));
    }
    Ok(lines)
}
