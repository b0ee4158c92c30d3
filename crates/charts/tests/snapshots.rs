//! Snapshots of small drawings.

use rqps_charts::{Line, Mark, PartsChart, RatioChart, RatioPoint, RatioRow, Theme, TimelineChart};

/// One element per line.
fn lines(svg: &str) -> String {
    svg.replace("><", ">\n<")
}

#[test]
fn ratios_of_two_tests() {
    let point = |ratio: f64, low: f64, high: f64, mark| {
        vec![Some(RatioPoint { ratio, low, high, whisker: (low, high), mark, decimals_max: 4 })]
    };
    let chart = RatioChart {
        id: "point".to_owned(),
        title: "Point queries".to_owned(),
        axis: "rQPS against pg17".to_owned(),
        arms: vec!["pg18".to_owned()],
        rows: vec![
            RatioRow {
                label: "point-query".to_owned(),
                href: Some("#test-point-query".to_owned()),
                points: point(0.87, 0.85, 0.89, Mark::Worse),
            },
            RatioRow {
                label: "scan".to_owned(),
                href: None,
                points: point(1.01, f64::NAN, f64::NAN, Mark::Unknown),
            },
        ],
        band: Some((0.98, 1.02)),
        ..RatioChart::default()
    };
    insta::assert_snapshot!(lines(&chart.svg(Theme::Page)));
}

/// Beside a test that is 80 times slower, a band of 2 % is as wide as the line at 1.
#[test]
fn a_band_that_cannot_be_seen_is_not_named() {
    let is_named = |ratio: f64| {
        let point = RatioPoint { ratio, mark: Mark::Worse, ..RatioPoint::BASE };
        let row = RatioRow { label: "scan".to_owned(), href: None, points: vec![Some(point)] };
        let (arms, band) = (vec!["pg18".to_owned()], Some((0.98, 1.02)));
        let chart = RatioChart { arms, band, rows: vec![row], ..RatioChart::default() };
        chart.svg(Theme::Page).contains(">base against itself (A/A)<")
    };
    assert!(is_named(0.9) && !is_named(0.0125));
}

#[test]
fn a_timeline_with_a_gap() {
    let points = vec![
        (0.5, 100.0),
        (1.5, 110.0),
        (2.5, f64::NAN),
        (3.5, 90.0),
        (4.5, f64::NAN),
        (5.5, 95.0),
        (6.5, 99.0),
    ];
    let chart = TimelineChart {
        id: "scan".to_owned(),
        title: "scan: rate over time".to_owned(),
        unit: "queries/s".to_owned(),
        lines: vec![Line { label: "pg18".to_owned(), arm: 1, points }],
        breaks: vec![3.0],
        ..TimelineChart::default()
    };
    insta::assert_snapshot!(lines(&chart.svg(Theme::Light)));
}

#[test]
fn parts_of_two_arms() {
    let part = |name: &str, size: f64| (name.to_owned(), size);
    let chart = PartsChart {
        id: "scan".to_owned(),
        title: "scan: time of one query".to_owned(),
        unit: "us/query".to_owned(),
        bars: vec![
            ("pg17".to_owned(), vec![part("instructions", 41.0), part("waiting", 12.5)]),
            ("pg18".to_owned(), vec![part("instructions", 61.0), part("unexplained", -6.0)]),
        ],
        ..PartsChart::default()
    };
    insta::assert_snapshot!(lines(&chart.svg(Theme::Dark)));
}
