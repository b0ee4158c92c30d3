//! What can go wrong while drawing: only where another program's text or a renderer comes in.

/// Why something was not drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folded stacks are empty, or not one of their lines can be read.
    #[error(
        "flamegraph `{title}`: no stack can be drawn; folded stacks have lines `frame;frame count`: {reason}"
    )]
    Flamegraph { title: String, reason: String },
    /// The SVG could not be read or is too large to be painted.
    #[cfg(feature = "png")]
    #[error("PNG of a chart: {reason}; a smaller scale or chart may help")]
    Png { reason: String },
}

pub type Result<T> = std::result::Result<T, Error>;
