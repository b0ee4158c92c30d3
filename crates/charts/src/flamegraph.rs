//! Flamegraphs of CPU profiles, drawn by `inferno` with our options and colours.
//!
//! A frame's name determines its colour, so it is the same in every graph. Kernel frames are blue, frames
//! without a symbol grey, process roles darker grey, all others orange to yellow.

use crate::{Error, Result};
use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self as inferno_flamegraph, Options};
use std::collections::{BTreeMap, BTreeSet};

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

/// Draws the arm's flamegraph with the difference from base's: a function is red if all its calls together take
/// more than on base, blue if they take less, and its frames' titles have both shares. So a renamed caller changes
/// nothing of what it calls. Functions that only base has are not shown.
///
/// With the `operations` of base and arm, the difference is per operation, in shares of the arm's samples. Without
/// them, each profile has shares of its own samples.
///
/// # Errors
/// If no stack can be drawn.
pub fn flamegraph_difference(
    base: &str,
    arm: &str,
    title: &str,
    operations: Option<(f64, f64)>,
) -> Result<String> {
    let (base, arm) = (cleaned(base), cleaned(arm));
    let (of_base, base_samples) = inclusive(&base);
    let (of_arm, arm_samples) = inclusive(&arm);
    let base_whole = match operations {
        Some((base_ops, arm_ops)) if base_ops > 0.0 && arm_ops > 0.0 => arm_samples * base_ops / arm_ops,
        _ => base_samples,
    };
    let share = |samples: Option<&f64>, whole: f64| match samples {
        Some(samples) if whole > 0.0 => samples / whole,
        _ => 0.0,
    };
    let shares: BTreeMap<&str, (f64, f64)> = of_arm
        .iter()
        .map(|(name, samples)| {
            (*name, (share(of_base.get(name), base_whole), share(Some(samples), arm_samples)))
        })
        .collect();
    let most = shares.values().map(|(base, arm)| (arm - base).abs()).fold(0.0, f64::max);
    let mut palette = PaletteMap::default();
    palette.insert("", difference_colour(0.0, most));
    for frame in arm.lines().filter_map(|line| line.rsplit_once(' ')).flat_map(|(stack, _)| stack.split(';'))
    {
        let (base, arm) = shares.get(function(frame)).copied().unwrap_or_default();
        palette.insert(frame, difference_colour(arm - base, most));
    }
    let mut options = drawing_options(title);
    options.palette_map = Some(&mut palette);
    let drawn = draw(&arm, title, options)?;
    Ok(with_shares(&drawn, &shares))
}

/// The samples in which each function is on the stack, once if it is there several times, and all samples.
fn inclusive(folded: &str) -> (BTreeMap<&str, f64>, f64) {
    let (mut samples, mut all) = (BTreeMap::new(), 0.0);
    for (stack, count) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        let Ok(count) = count.parse::<f64>() else { continue };
        all += count;
        let functions: BTreeSet<&str> = stack.split(';').map(function).collect();
        for name in functions {
            *samples.entry(name).or_insert(0.0) += count;
        }
    }
    (samples, all)
}

/// A frame's name without the mark of its kind, as it is drawn.
fn function(frame: &str) -> &str {
    ["_[k]", "_[i]", "_[j]", "_[w]"].iter().find_map(|mark| frame.strip_suffix(mark)).unwrap_or(frame)
}

fn difference_colour(difference: f64, most: f64) -> Color {
    let share = if most > 0.0 { (difference.abs() / most).min(1.0) } else { 0.0 };
    let other = (250.0 - 190.0 * share) as u8;
    match difference > 0.0 {
        true => Color { r: 250, g: other, b: other },
        false => Color { r: other, g: other, b: 250 },
    }
}

/// Adds a function's shares to the titles of its frames: `name (3 samples, 12.00%; all calls 20.00%, base 15.00%)`.
fn with_shares(drawn: &str, shares: &BTreeMap<&str, (f64, f64)>) -> String {
    let shares: BTreeMap<String, (f64, f64)> =
        shares.iter().map(|(name, shares)| (crate::text::escape(name), *shares)).collect();
    let mut parts = drawn.split("<title>");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        all.push_str("<title>");
        let of_title = part.split_once(")</title>").and_then(|(title, rest)| {
            let (base, arm) = shares.get(title.rsplit_once(" (")?.0)?;
            let (base, arm) = (base * 100.0, arm * 100.0);
            Some(format!("{title}; all calls {arm:.2}%, base {base:.2}%)</title>{rest}"))
        });
        all.push_str(of_title.as_deref().unwrap_or(part));
    }
    all
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
