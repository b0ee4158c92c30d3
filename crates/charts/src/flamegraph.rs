//! Flamegraphs of CPU profiles, drawn by `inferno` with our options and colours.
//!
//! A frame's name determines its colour, so it is the same in every graph. Kernel frames are blue, frames
//! without a symbol grey, process roles darker grey, all others orange to yellow.

use crate::{Error, Result};
use inferno::differential;
use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self as inferno_flamegraph, Options};
use std::fmt::Write;

/// Frames below this percentage of all samples are left out: they would be at most about a pixel wide.
const WIDTH_MIN_PERCENT: f64 = 0.1;

/// Draws a flamegraph of folded stacks: lines of `frame;frame count`.
///
/// # Errors
/// If no stack can be drawn.
pub fn flamegraph(folded: &str, title: &str) -> Result<String> {
    let folded = cleaned(folded);
    let mut palette = palette(&folded);
    let mut options = drawing_options(title);
    options.palette_map = Some(&mut palette);
    draw(&folded, title, options)
}

/// Draws a differential flamegraph of the arm's profile: red frames took more self time than on base, blue
/// ones less. Frames that only base has are not shown.
///
/// With the `operations` of base and arm, the difference is per operation. Without them, both profiles are
/// scaled to the same total and the difference is between shares.
///
/// # Errors
/// If no stack can be drawn.
pub fn flamegraph_difference(
    base: &str,
    arm: &str,
    title: &str,
    operations: Option<(f64, f64)>,
) -> Result<String> {
    let failed = |reason: String| Error::Flamegraph { title: title.to_owned(), reason };
    let (base, arm) = (cleaned(base), cleaned(arm));
    let base = match operations {
        Some((base_ops, arm_ops)) if base_ops > 0.0 && arm_ops > 0.0 => scaled(&base, arm_ops / base_ops),
        _ => base,
    };
    let options = differential::Options { normalize: operations.is_none(), strip_hex: false };
    let mut both = Vec::new();
    differential::from_readers(options, base.as_bytes(), arm.as_bytes(), &mut both)
        .map_err(|error| failed(error.to_string()))?;
    let both = String::from_utf8(both).map_err(|error| failed(error.to_string()))?;
    draw(&both, title, drawing_options(title))
}

/// Options without frame colours. The drawing has no script: it is embedded in a page that has its own.
fn drawing_options<'a>(title: &str) -> Options<'a> {
    let mut options = Options::default();
    options.title = crate::text::replaced(title);
    options.subtitle = Some(format!("frames below {WIDTH_MIN_PERCENT} % of the samples are left out"));
    options.no_javascript = true;
    options.min_width = WIDTH_MIN_PERCENT;
    options.deterministic = true;
    options.bgcolors = Some(BackgroundColor::Flat(Color { r: 0xff, g: 0xff, b: 0xff }));
    options
}

fn draw(folded: &str, title: &str, mut options: Options<'_>) -> Result<String> {
    let failed = |reason: String| Error::Flamegraph { title: title.to_owned(), reason };
    if folded.trim().is_empty() {
        return Err(failed("there are none".to_owned()));
    }
    let mut lines: Vec<&str> = folded.lines().collect();
    lines.sort_unstable();
    let mut drawing = Vec::new();
    inferno_flamegraph::from_lines(&mut options, lines, &mut drawing)
        .map_err(|error| failed(error.to_string()))?;
    String::from_utf8(drawing).map_err(|error| failed(error.to_string()))
}

/// Replaces characters that XML forbids; symbols may contain them.
fn cleaned(folded: &str) -> String {
    folded.lines().map(|line| crate::text::replaced(line) + "\n").collect()
}

/// Multiplies the sample counts by a factor and rounds them.
fn scaled(folded: &str, factor: f64) -> String {
    let mut scaled = String::new();
    for (stack, count) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        if let Ok(count) = count.parse::<f64>() {
            let _ = writeln!(scaled, "{stack} {}", (count * factor).round());
        }
    }
    scaled
}

fn palette(folded: &str) -> PaletteMap {
    let mut palette = PaletteMap::default();
    // The root frame has no name.
    palette.insert("", colour("", 0));
    for stack in folded.lines().filter_map(|line| line.rsplit_once(' ')).map(|(stack, _)| stack) {
        for (depth, frame) in stack.split(';').enumerate() {
            if palette.get(frame).is_none() {
                palette.insert(frame, colour(frame, depth));
            }
        }
    }
    palette
}

fn colour(frame: &str, depth: usize) -> Color {
    // FNV-1a, 64 bits.
    let hash = frame.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let vary = |from: u8, span: u64, shift: u32| from + ((hash >> shift) % span) as u8;
    if depth == 0 {
        return Color { r: 0xc4, g: 0xc4, b: 0xcc };
    }
    if frame.ends_with("_[k]") {
        return Color { r: vary(120, 40, 8), g: vary(170, 40, 24), b: vary(215, 35, 40) };
    }
    if frame.starts_with('[') {
        let grey = vary(205, 25, 8);
        return Color { r: grey, g: grey, b: grey };
    }
    Color { r: vary(225, 28, 8), g: vary(130, 90, 24), b: vary(70, 45, 40) }
}
