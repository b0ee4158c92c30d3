//! Writes every kind of chart with synthetic data as SVG and PNG, to inspect changes to drawings.
//!
//! `cargo run -p rqps-charts --features png --example gallery -- FOLDER`

use rqps_charts::{
    Curve, LatencyChart, Line, Mark, OverviewChart, OverviewGroup, PartsChart, RatioChart, RatioPoint,
    RatioRow, Theme, TimelineChart, VersionChart, VersionLine,
};
use std::path::PathBuf;

/// A pseudo-random number between 0 and 1, determined by the arguments.
fn noise(a: usize, b: usize) -> f64 {
    let mixed =
        (a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / (1u64 << 24) as f64
}

fn arms(count: usize) -> Vec<String> {
    (0..count).map(|arm| format!("postgres-{}.{}.x10b_c8r32", 9 + arm, arm * 3)).collect()
}

fn point(row: usize, arm: usize) -> RatioPoint {
    let ratio = (0.5 * (noise(row, arm) - 0.5).powi(3) * 8.0).exp();
    let half = 1.0 + 0.01 + 0.03 * noise(row + 99, arm);
    let (low, high) = (ratio / half, ratio * half);
    let mark = match (low, high) {
        (_, high) if high < 0.98 => Mark::Worse,
        (low, _) if low > 1.02 => Mark::Better,
        (low, high) if low > 0.95 && high < 1.05 => Mark::Same,
        _ => Mark::Unknown,
    };
    RatioPoint { ratio, low, high, whisker: (low, high), mark, decimals_max: 4 }
}

fn ratio(rows: usize, count: usize, width: f64) -> RatioChart {
    const NAMES: [&str; 8] = [
        "point-query",
        "range-covered-si",
        "scan",
        "update-index",
        "delete-insert",
        "read-only-distinct.range=10000",
        "hot-points.pre",
        "a test whose name is longer than any that fits",
    ];
    let row = |row: usize| RatioRow {
        label: NAMES[row % NAMES.len()].to_owned(),
        href: Some(format!("#test-{row}")),
        points: (0..count).map(|arm| (noise(row, arm + 40) > 0.04).then(|| point(row, arm))).collect(),
    };
    RatioChart {
        id: "ratio".to_owned(),
        title: "Point queries: rQPS of each version against postgres-9.0.x10b_c8r32".to_owned(),
        interval: "95 % interval".to_owned(),
        axis: "rQPS against postgres-9.0.x10b_c8r32".to_owned(),
        arms: arms(count),
        arm_numbers: (1..=count).collect(),
        rows: (0..rows).map(row).collect(),
        band: Some((0.975, 1.021)),
        lower_is_better: false,
        captions: Vec::new(),
        width,
    }
}

fn overview(count: usize, width: f64) -> OverviewChart {
    let RatioChart { arms, arm_numbers, rows, .. } = ratio(32, count, width);
    let groups = ["Point queries", "Range queries", "Range queries with aggregation", "Writes"];
    let group =
        |(title, rows): (&str, &[RatioRow])| OverviewGroup { title: title.into(), rows: rows.to_vec() };
    OverviewChart {
        id: "overview".to_owned(),
        title: "Relative rate (rQPS): 32 tests, versions of PostgreSQL against 9.0".to_owned(),
        interval: "95 % interval".to_owned(),
        axis: "rate relative to postgres-9.0.x10b_c8r32".to_owned(),
        arms,
        arm_numbers,
        groups: groups.into_iter().zip(rows.chunks(8)).map(group).collect(),
        lower_is_better: false,
        is_judged: true,
        captions: vec![
            "Base (1.0): postgres-9.0.x10b_c8r32. All built by gcc 12.2.0 -O2.".to_owned(),
            "Microbenchmarks, 8 clients, 80,000,000 rows in 8 tables; confidence intervals over 12 blocks. On AMD EPYC \
             7543 (8 CPUs), 32 GB of memory, ext4, Linux 6.1.0."
                .to_owned(),
            "Measured 2026-07-30 with rqps 0.1.0.".to_owned(),
        ],
        width,
    }
}

fn timeline(count: usize, width: f64) -> TimelineChart {
    let value = |arm: usize, second: usize| match () {
        () if second == 180 => f64::NAN,
        () if arm == 0 && (60..66).contains(&(second % 120)) => 900.0,
        () => 17_000.0 - 900.0 * arm as f64 + 1_500.0 * noise(second, arm),
    };
    let line = |arm: usize| Line {
        label: arms(count)[arm].clone(),
        arm,
        points: (0..360).map(|second| (second as f64 + 0.5, value(arm, second))).collect(),
    };
    TimelineChart {
        id: "timeline".to_owned(),
        title: "update-index: rate over time".to_owned(),
        unit: "queries/s".to_owned(),
        lines: (0..count).map(line).collect(),
        breaks: vec![120.0, 240.0],
        x_title: None,
        captions: Vec::new(),
        width,
    }
}

fn latency(count: usize, width: f64) -> LatencyChart {
    let curve = |arm: usize| Curve {
        label: arms(count)[arm].clone(),
        arm,
        points: (0..=60)
            .map(|step| {
                let share = 10f64.powf(-step as f64 / 10.0);
                (share, 120.0 * (1.0 + 0.05 * arm as f64) * share.powf(-0.25 - 0.01 * arm as f64))
            })
            .collect(),
    };
    let (id, title) = ("latency".to_owned(), "update-index: latency".to_owned());
    LatencyChart { id, title, curves: (0..count).map(curve).collect(), width, ..Default::default() }
}

fn versions(count: usize, width: f64, level: bool) -> VersionChart {
    let name = |place: usize| if level { format!("{}.4", 12 + place) } else { arms(8)[place].clone() };
    VersionChart {
        id: "versions".to_owned(),
        title: "Groups of tests over versions".to_owned(),
        interval: "95 % interval".to_owned(),
        axis: "rQPS against the first version".to_owned(),
        versions: (0..7).map(name).collect(),
        lines: (0..count)
            .map(|line| VersionLine {
                label: ["point", "range", "range with aggregation", "writes"][line % 4].to_owned(),
                points: (0..7).map(|version| Some(point(version + 3, line))).collect(),
            })
            .collect(),
        captions: vec!["Base, at 1.0: 12.4. All built by gcc 12.2.0 -O2.".to_owned()],
        width,
    }
}

fn parts(width: f64) -> PartsChart {
    let part = |name: &str, size: f64| (name.to_owned(), size);
    PartsChart {
        id: "parts".to_owned(),
        title: "update-index: where the time of one query goes, at 1 client".to_owned(),
        unit: "us/query".to_owned(),
        bars: vec![
            (
                "postgres-17.0".to_owned(),
                vec![
                    part("instructions", 41.0),
                    part("cycles per instruction", 12.5),
                    part("waiting for the disk", 88.0),
                    part("client", 9.0),
                    part("unexplained", 3.1),
                ],
            ),
            (
                "postgres-18.1".to_owned(),
                vec![
                    part("instructions", 61.0),
                    part("cycles per instruction", 14.5),
                    part("waiting for the disk", 80.0),
                    part("client", 9.2),
                    part("unexplained", -6.3),
                ],
            ),
        ],
        width,
    }
}

fn drawings() -> Vec<(String, String)> {
    let mut drawings = Vec::new();
    for (theme, name) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
        for (rows, count) in [(1, 1), (8, 1), (8, 3), (4, 12), (40, 3), (40, 12)] {
            drawings.push((format!("ratio-{rows}x{count}-{name}"), ratio(rows, count, 720.0).svg(theme)));
        }
        for count in [1, 4, 12] {
            drawings.push((format!("overview-{count}-{name}"), overview(count, 860.0).svg(theme)));
            drawings.push((format!("narrow-overview-{count}-{name}"), overview(count, 340.0).svg(theme)));
        }
        for count in [1, 3, 12] {
            drawings.push((format!("timeline-{count}-{name}"), timeline(count, 720.0).svg(theme)));
            drawings.push((format!("latency-{count}-{name}"), latency(count, 720.0).svg(theme)));
        }
        drawings.push((format!("versions-4-{name}"), versions(4, 720.0, true).svg(theme)));
        drawings.push((format!("versions-12-{name}"), versions(12, 720.0, false).svg(theme)));
        drawings.push((format!("parts-{name}"), parts(720.0).svg(theme)));
        drawings.push((format!("narrow-ratio-{name}"), ratio(8, 1, 340.0).svg(theme)));
        drawings.push((format!("narrow-ratio-3-{name}"), ratio(4, 3, 340.0).svg(theme)));
        drawings.push((format!("narrow-timeline-{name}"), timeline(3, 340.0).svg(theme)));
        drawings.push((format!("narrow-latency-{name}"), latency(3, 340.0).svg(theme)));
        drawings.push((format!("narrow-versions-{name}"), versions(4, 340.0, true).svg(theme)));
        drawings.push((format!("narrow-parts-{name}"), parts(340.0).svg(theme)));
    }
    drawings
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned()));
    std::fs::create_dir_all(&folder)?;
    for (name, svg) in drawings() {
        std::fs::write(folder.join(format!("{name}.png")), rqps_charts::png(&svg, 1.5)?)?;
        std::fs::write(folder.join(format!("{name}.svg")), svg)?;
    }
    Ok(())
}
