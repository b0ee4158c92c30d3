//! Imported repeats of which nobody knows which were measured together.

use crate::bench::Bench;
use crate::import::pgbench;
use std::fs;

/// Where no repeat has the number of one of base, and there are not as many: no verdict, but both arms' rates.
#[test]
fn repeats_that_cannot_be_paired_are_told_and_show_their_rates() {
    let bench = Bench::new();
    let files = bench.path().join("files");
    fs::create_dir_all(&files).unwrap();
    for (arm, hour, repeats) in [("base", 10, 5), ("head", 11, 7)] {
        for repeat in 0..repeats {
            let rate = if arm == "base" { 1000.0 } else { 950.0 } + f64::from(repeat);
            fs::write(files.join(format!("{arm}_{hour}:{}:0{repeat}.log", 12 + 2 * repeat)), pgbench(rate))
                .unwrap();
        }
    }
    bench.call(&["import", &files.display().to_string(), "--name", "apart"]).expect(0);
    let html = bench.path().join("apart.html");
    bench.call(&["report", "apart", "--html", &html.display().to_string()]).expect(0);
    let site = bench.path().join("site");
    bench.call(&["site", &site.display().to_string()]).expect(0);
    let texts = [
        bench.call(&["report", "apart"]).expect(0).stdout,
        bench.call(&["gate", "apart"]).expect(4).stdout,
        fs::read_to_string(html).unwrap(),
        fs::read_to_string(site.join("index.html")).unwrap(),
    ];
    for text in &texts {
        assert!(
            text.contains("cannot be paired with those of") && text.contains("select-only (7 and 5)"),
            "{text}"
        );
        for untrue in ["12 done", "in 12 blocks", "too few repeats", "No results to compare"] {
            assert!(!text.contains(untrue), "{untrue}: {text}");
        }
    }
    // Medians, the lowest and the highest, and how many; the ratio without a verdict.
    let row = texts[0].lines().find(|line| line.contains("(head)") && line.contains("| 0.95 |")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert!(cells.windows(5).any(|five| five == ["0.95", "953", "950", "956", "7"]), "{row}");
}
