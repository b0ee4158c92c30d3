//! Drawing errors: unusable profile input, or a failure of the PNG renderer.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folded stacks are empty, or no line can be parsed.
    #[error(
        "flamegraph `{title}`: no stack can be drawn ({reason}); lines of folded stacks look like `frame;frame count`"
    )]
    Flamegraph { title: String, reason: String },
    /// The SVG cannot be parsed or is too large to render.
    #[cfg(feature = "png")]
    #[error("cannot render the chart as PNG: {reason}; try a smaller scale or chart")]
    Png { reason: String },
}

pub type Result<T> = std::result::Result<T, Error>;
