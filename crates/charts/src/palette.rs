//! Colours and dashes. A dozen arms must be distinguishable, also for the colour-blind and on paper.
//!
//! The hues are from Okabe and Ito (Color Universal Design, 2008), extended to ten, with the lightness
//! adjusted for a contrast of 3:1 to the background (WCAG 2.1, 1.4.11).

use std::borrow::Cow;

/// Where a chart is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    /// Dark grey background.
    Dark,
    /// Part of an HTML page: no background and no visible title; each colour is a CSS variable of the page
    /// (`--chart-fg`, `--chart-muted`, `--chart-grid`, `--chart-band`, `--chart-bg`, `--arm-0` to `--arm-9`,
    /// `--worse`, `--better`, `--same`), with the light colour as fallback.
    Page,
}

/// Colours of arms on white.
const ARMS_LIGHT: [&str; 10] = [
    "#0072b2", "#d55e00", "#008a64", "#b5508a", "#9a6b00", "#2d8fc9", "#555555", "#7b4fbf", "#8a3324",
    "#5f7a00",
];
/// Colours of arms on dark grey.
const ARMS_DARK: [&str; 10] = [
    "#4da6e8", "#ff8f4a", "#2fcb9b", "#eb9bc8", "#efb73e", "#9bdcff", "#c8c8c8", "#b79bff", "#e0876f",
    "#bbd64b",
];
/// Dashes of lines, in units of the viewBox.
const DASHES: [Option<&str>; 7] =
    [None, Some("7 3"), Some("2 2"), Some("9 3 2 3"), Some("4 2"), Some("12 3 2 2 2 3"), Some("1 3")];

/// A method per colour: name, CSS variable, value on white, value on dark grey.
macro_rules! named_colours {
    ($($name:ident: $variable:literal $light:literal $dark:literal,)*) => {
        $(pub(crate) fn $name(self) -> Cow<'static, str> {
            self.pick($variable, $light, $dark)
        })*
    };
}

/// A theme's colours, as attribute values.
#[derive(Clone, Copy)]
pub(crate) struct Colours {
    pub theme: Theme,
}

impl Colours {
    fn pick(self, variable: &str, light: &'static str, dark: &'static str) -> Cow<'static, str> {
        match self.theme {
            Theme::Light => Cow::Borrowed(light),
            Theme::Dark => Cow::Borrowed(dark),
            Theme::Page => Cow::Owned(format!("var(--{variable},{light})")),
        }
    }

    named_colours! {
        foreground: "chart-fg" "#222222" "#e8e8e8",
        muted: "chart-muted" "#595959" "#adb5bf",
        grid: "chart-grid" "#dcdcdc" "#3a414b",
        band: "chart-band" "#e3e8ee" "#2c3440",
        background: "chart-bg" "#ffffff" "#15181d",
        worse: "worse" "#c44500" "#ff8f4a",
        better: "better" "#0072b2" "#4da6e8",
        same: "same" "#6b6b6b" "#a3a9b1",
    }

    /// Colour of an arm. The eleventh repeats the first colour with another dash and marker.
    pub(crate) fn arm(self, arm: usize) -> Cow<'static, str> {
        let place = arm % ARMS_LIGHT.len();
        self.pick(&format!("arm-{place}"), ARMS_LIGHT[place], ARMS_DARK[place])
    }
}

/// Dashes of an arm. With 7 dashes and 10 colours, pairs repeat after 70 arms.
pub(crate) fn dash(arm: usize) -> Option<&'static str> {
    DASHES[arm % DASHES.len()]
}
