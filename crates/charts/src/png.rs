//! Converts a drawing to PNG. Fonts are built in, because servers often have none.

use crate::{Error, Result};
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, LazyLock};

/// Maximum pixels per side: some renderers and sites refuse more, and a pixel takes 4 bytes of memory.
const SIDE_PX_MAX: u32 = 16_000;
/// The font family used for all others.
const FAMILY: &str = "DejaVu Sans";

/// Renders an SVG at `scale` pixels per unit of its viewBox; 2 is sharp on most screens.
///
/// # Errors
/// If the SVG cannot be parsed, or one side would exceed 16,000 pixels.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let failed = |reason: String| Error::Png { reason };
    let options =
        usvg::Options { fontdb: FONTS.clone(), font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let pixels = |units: f32| (units * scale).ceil();
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let fits = |side: f32| side >= 1.0 && side <= SIDE_PX_MAX as f32;
    if !fits(width) || !fits(height) {
        return Err(failed(format!(
            "{width} x {height} pixels; each side must be between 1 and {SIDE_PX_MAX}"
        )));
    }
    let mut canvas = tiny_skia::Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| failed(format!("no memory for {width} x {height} pixels")))?;
    // Stretches by less than a pixel, so that the last row and column are fully covered.
    let stretch =
        tiny_skia::Transform::from_scale(width / tree.size().width(), height / tree.size().height());
    resvg::render(&tree, stretch, &mut canvas.as_mut());
    canvas.encode_png().map_err(|error| failed(error.to_string()))
}

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    fonts.set_monospace_family(FAMILY);
    Arc::new(fonts)
});
