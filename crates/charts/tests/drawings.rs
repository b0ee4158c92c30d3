//! Drawings of arbitrary data: well-formed XML, inside the viewBox, without NaN, with hostile names escaped.

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use rqps_charts::{
    Curve, LatencyChart, Line, Mark, OverviewChart, OverviewGroup, PartsChart, RatioChart, RatioPoint,
    RatioRow, Theme, TimelineChart, VersionChart, VersionLine, flamegraph, flamegraph_difference, thin,
};

/// A name that ends an attribute, an element and a document, with characters that XML forbids.
const HOSTILE: &str = "\"><script>alert('x')</script>&amp;\0\u{1b}]]>--><!--\u{fffe}";

/// An element's name and attributes.
type Element = (String, Vec<(String, String)>);

/// Parses an XML document into its elements. Panics if it is malformed or has forbidden characters.
#[track_caller]
fn elements(svg: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(svg);
    reader.config_mut().check_end_names = true;
    let mut elements = Vec::new();
    let mut open = 0;
    loop {
        let event = reader.read_event().unwrap_or_else(|error| panic!("{error} in {svg}"));
        match &event {
            Event::Start(element) | Event::Empty(element) => {
                open += usize::from(matches!(event, Event::Start(_)));
                let name = element.name();
                let name = AsRef::<str>::as_ref(&name).to_owned();
                let attributes = element.attributes().map(|attribute| {
                    let attribute = attribute.expect("an attribute is well-formed");
                    (AsRef::<str>::as_ref(&attribute.key).to_owned(), attribute.value.into_owned())
                });
                elements.push((name, attributes.collect()));
            }
            Event::End(_) => open -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open, 0, "an element is not closed in {svg}");
    let forbidden = |c: char| c.is_control() && !"\n\r\t".contains(c) || c == '\u{fffe}';
    assert!(!svg.chars().any(forbidden), "forbidden character in {svg}");
    elements
}

fn value<'a>(attributes: &'a [(String, String)], key: &str) -> Option<&'a str> {
    attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

/// The absolute coordinates of a path's `M` and `L` commands.
fn places(path: &str) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    for piece in path.split(['M', 'L']).skip(1) {
        let absolute = piece.split(['a', 'v', 'h', 'H', 'z']).next().unwrap_or_default();
        let mut numbers = absolute.split(',').map(str::parse::<f64>);
        if let (Some(Ok(x)), Some(Ok(y))) = (numbers.next(), numbers.next()) {
            places.push((x, y));
        } else {
            panic!("`{piece}` of `{path}` has no coordinates");
        }
    }
    places
}

/// Panics if a drawing is malformed, draws outside its viewBox, or contains NaN.
#[track_caller]
fn check(svg: &str) {
    let elements = elements(svg);
    let (name, root) = &elements[0];
    assert_eq!(name, "svg");
    let frame: Vec<f64> = value(root, "viewBox")
        .unwrap_or_default()
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    let (width, height) = (frame[2], frame[3]);
    let inside = |x: f64, y: f64| (-1.0..=width + 1.0).contains(&x) && (-1.0..=height + 1.0).contains(&y);
    for (name, attributes) in &elements {
        let number = |key: &str| value(attributes, key).and_then(|text| text.parse::<f64>().ok());
        for (x, y) in [("x", "y"), ("x1", "y1"), ("x2", "y2")] {
            if let (Some(x), Some(y)) = (number(x), number(y)) {
                assert!(inside(x, y), "{name} at {x},{y} is outside {width} x {height}: {attributes:?}");
            }
        }
        if let (Some(x), Some(rect_width), "rect") = (number("x"), number("width"), name.as_str()) {
            assert!(rect_width >= 0.0 && x + rect_width <= width + 1.0, "rect is outside: {attributes:?}");
        }
        let in_pattern = value(attributes, "stroke-opacity").is_some();
        if let Some(path) = value(attributes, "d").filter(|_| !in_pattern) {
            for (x, y) in places(path) {
                assert!(inside(x, y), "path at {x},{y} is outside {width} x {height}: {path}");
            }
        }
        assert!(
            !attributes.iter().any(|(key, value)| !key.starts_with("data-label") && value.contains("NaN")),
            "{name} has a NaN attribute: {attributes:?}"
        );
    }
    assert!(!svg.contains("NaN"), "NaN in {svg}");
    let ids: Vec<&str> = elements.iter().filter_map(|(_, attributes)| value(attributes, "id")).collect();
    assert!(
        ids.iter().all(|id| id.starts_with(ids[0])),
        "an id lacks the chart's prefix and could clash with another chart's: {ids:?}"
    );
    assert!(!elements.iter().any(|(name, _)| name == "script"), "a name became a script in {svg}");
}

fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.3..3.0,
        2 => 1e-9..1e9,
        1 => proptest::num::f64::ANY,
        1 => Just(0.0),
    ]
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        Just(Mark::Worse),
        Just(Mark::Better),
        Just(Mark::Mixed),
        Just(Mark::Likely),
        Just(Mark::Same),
        Just(Mark::Unknown)
    ]
}

fn point() -> impl Strategy<Value = Option<RatioPoint>> {
    let point = (figure(), figure(), figure(), mark());
    proptest::option::of(point.prop_map(|(ratio, low, high, mark)| RatioPoint {
        ratio,
        low,
        high,
        whisker: (low, high),
        mark,
        decimals_max: 4,
    }))
}

fn points() -> impl Strategy<Value = Vec<Vec<Option<RatioPoint>>>> {
    proptest::collection::vec(proptest::collection::vec(point(), 0..5), 0..15)
}

fn pairs() -> impl Strategy<Value = Vec<Vec<(f64, f64)>>> {
    proptest::collection::vec(proptest::collection::vec((figure(), figure()), 0..30), 0..5)
}

fn name(number: usize) -> String {
    if number.is_multiple_of(3) { HOSTILE.to_owned() } else { format!("postgres-{number}.1.x10b_c8r32") }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ratios_of_any_size_stay_inside(
        points in points(),
        arms in 0..5usize,
        width in 100.0..900.0,
        band in figure(),
    ) {
        let row = |points: &Vec<_>| {
            let label = HOSTILE.to_owned();
            RatioRow { href: Some(label.clone()), label, points: points.clone() }
        };
        let chart = RatioChart {
            id: "r".to_owned(),
            title: HOSTILE.to_owned(),
            axis: HOSTILE.to_owned(),
            arms: (0..arms).map(name).collect(),
            rows: points.iter().map(row).collect(),
            band: Some((1.0 / band, band)),
            width,
            ..RatioChart::default()
        };
        check(&chart.svg(Theme::Page));
        let groups = chart.rows.chunks(4);
        let groups = groups.map(|rows| OverviewGroup { title: HOSTILE.to_owned(), rows: rows.to_vec() });
        let chart = OverviewChart {
            id: "o".to_owned(),
            title: HOSTILE.to_owned(),
            axis: HOSTILE.to_owned(),
            arms: chart.arms.clone(),
            groups: groups.collect(),
            is_judged: true,
            captions: vec![HOSTILE.repeat(9), String::new()],
            width,
            ..OverviewChart::default()
        };
        check(&chart.svg(Theme::Page));
        let line = |points: &Vec<_>| VersionLine { label: HOSTILE.to_owned(), points: points.clone() };
        let chart = VersionChart {
            id: "v".to_owned(),
            title: HOSTILE.to_owned(),
            axis: HOSTILE.to_owned(),
            versions: (0..arms).map(name).collect(),
            lines: points.iter().map(line).collect(),
            interval: HOSTILE.to_owned(),
            captions: vec![HOSTILE.repeat(9)],
            width,
        };
        check(&chart.svg(Theme::Dark));
    }

    #[test]
    fn figures_of_any_size_stay_inside(
        lines in pairs(),
        breaks in proptest::collection::vec(figure(), 0..4),
        width in 100.0..900.0,
    ) {
        let line = |(arm, points): (usize, &Vec<_>)| Line { label: name(arm), arm, points: points.clone() };
        let chart = TimelineChart {
            id: "t".to_owned(),
            title: HOSTILE.to_owned(),
            unit: HOSTILE.to_owned(),
            lines: lines.iter().enumerate().map(line).collect(),
            breaks,
            width,
            ..TimelineChart::default()
        };
        check(&chart.svg(Theme::Light));
        let curve = |(arm, points): (usize, &Vec<_>)| Curve { label: name(arm), arm, points: points.clone() };
        let (id, title) = ("l".to_owned(), HOSTILE.to_owned());
        let curves = lines.iter().enumerate().map(curve).collect();
        check(&LatencyChart { id, title, curves, width, ..Default::default() }.svg(Theme::Light));
        let part = |(place, (_, size)): (usize, &(f64, f64))| (name(place), *size);
        let bar = |points: &Vec<_>| (HOSTILE.to_owned(), points.iter().enumerate().map(part).collect());
        let (id, title, unit) = ("p".to_owned(), HOSTILE.to_owned(), HOSTILE.to_owned());
        let bars = lines.iter().map(bar).collect();
        check(&PartsChart { id, title, unit, bars, width }.svg(Theme::Page));
    }

    #[test]
    fn thinned_lines_keep_ends_peaks_and_order(
        values in proptest::collection::vec(-1e6..1e6, 1..2000),
        points_max in 5..300usize,
    ) {
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
        let thinned = thin(&points, points_max);
        prop_assert!(thinned.len() <= points_max, "{} of {}", thinned.len(), points_max);
        prop_assert!(thinned.windows(2).all(|two| two[0].0 < two[1].0));
        prop_assert_eq!(thinned.first(), points.first());
        prop_assert_eq!(thinned.last(), points.last());
        let extremes = |points: &[(f64, f64)]| {
            points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, y)| (low.min(*y), high.max(*y)))
        };
        prop_assert_eq!(extremes(&thinned), extremes(&points));
    }
}

#[test]
fn thinning_keeps_gaps() {
    let mut points: Vec<(f64, f64)> = (0..5000).map(|x| (f64::from(x), 100.0)).collect();
    points[2500].1 = f64::NAN;
    let thinned = thin(&points, 200);
    assert!(thinned.len() <= 200, "{}", thinned.len());
    assert_eq!(thinned.iter().filter(|(_, value)| value.is_nan()).count(), 1);
}

#[test]
fn frames_of_hostile_names_are_text() {
    let folded = format!("backend;{HOSTILE};main 5\nbackend;do_syscall_64_[k] 7\n");
    for svg in [
        flamegraph(&folded, HOSTILE).unwrap(),
        flamegraph_difference(&folded, &folded, HOSTILE, None).unwrap(),
    ] {
        // `inferno` always writes one script element, with its options.
        let scripts = elements(&svg).iter().filter(|(name, _)| name == "script").count();
        assert_eq!(scripts, 1, "a frame became a script: {svg}");
    }
}

/// The fill colour of a frame in a flamegraph.
fn frame_colour<'a>(svg: &'a str, name: &str) -> &'a str {
    let mut frames = svg.split("<g><title>").skip(1);
    let frame = frames.find(|frame| frame.split(" (").next() == Some(name)).expect("the frame is drawn");
    frame.split("fill=\"").nth(1).and_then(|fill| fill.split('"').next()).expect("it has a colour")
}

#[test]
fn a_difference_per_operation_shows_growth_that_shares_hide() {
    // Twice the samples for the same number of operations: equal shares, double cost per operation.
    let (base, arm) = ("backend;lookup 100\nbackend;sort 100\n", "backend;lookup 200\nbackend;sort 200\n");
    let shares = flamegraph_difference(base, arm, "scan", None).unwrap();
    assert_eq!(frame_colour(&shares, "lookup"), "rgb(250,250,250)");
    let per_operation = flamegraph_difference(base, arm, "scan", Some((1000.0, 1000.0))).unwrap();
    assert_ne!(frame_colour(&per_operation, "lookup"), "rgb(250,250,250)");
    // Twice the samples for twice the operations: no change.
    let same = flamegraph_difference(base, arm, "scan", Some((1000.0, 2000.0))).unwrap();
    assert_eq!(frame_colour(&same, "lookup"), "rgb(250,250,250)");
}

/// A function is compared with itself, whatever calls it: in each profile sort is 29 or 25 of 100 samples.
#[test]
fn a_renamed_caller_makes_nothing_below_it_new() {
    let base = "backend;ExecScan;sort 20\nbackend;sort 9\nbackend;read<page> 71\n";
    let arm = "backend;ExecSeqScan;sort 20\nbackend;sort;sort 5\nbackend;read<page> 75\n";
    let drawn = flamegraph_difference(base, arm, "scan", None).unwrap();
    assert!(
        drawn.contains("<title>sort (20 samples, 20.00%; all calls 25.00%, base 29.00%)</title>"),
        "{drawn}"
    );
    assert!(
        drawn.contains("read&lt;page&gt; (75 samples, 75.00%; all calls 75.00%, base 71.00%)"),
        "{drawn}"
    );
    let red_and_blue = |colour: &str| {
        let parts: Vec<u8> =
            colour[4..colour.len() - 1].split(',').map(|part| part.parse().unwrap()).collect();
        (parts[0], parts[2])
    };
    let (red, blue) = red_and_blue(frame_colour(&drawn, "sort"));
    assert!(blue > red, "sort takes less: {red}, {blue}");
    let (red, blue) = red_and_blue(frame_colour(&drawn, "ExecSeqScan"));
    assert!(red > blue, "only the name is new: {red}, {blue}");
}

#[test]
fn the_error_for_empty_stacks_names_the_title() {
    let error = flamegraph("", "scan on pg18").unwrap_err().to_string();
    assert!(error.contains("scan on pg18") && error.contains("frame;frame count"), "{error}");
}

#[test]
fn flamegraphs_are_deterministic_and_leave_out_narrow_frames() {
    let stack =
        |n: usize| format!("backend;exec_{};sort_{};compare_[k] {}\n", n % 7, n % 31, 1 + 5000 / (n + 1));
    let folded: String = (0..3000).map(stack).collect();
    let draw = || flamegraph(&folded, "update-index on pg18").unwrap();
    let drawn = draw();
    assert_eq!(drawn, draw());
    assert!(drawn.contains("frames below 0.1 % of the samples are left out"), "{drawn}");
    assert!(!drawn.contains("sort_30 (1 sample"), "a frame narrower than a pixel is drawn");
}
