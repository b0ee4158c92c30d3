//! The page in a real browser: it makes no requests, charts are drawn and interactive, themes, sorting and
//! zoom work, it is complete without its script, can be printed, and axe finds no accessibility violations.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

mod axe;
mod chromium;
#[path = "../builder/insert.rs"]
mod insert_benchmark;
mod runs;
mod site;

use std::path::{Path, PathBuf};
use std::time::Duration;

use chromium::Chromium;
use rqps_report::{chart_files, html_report};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{Spec, write_run};
use runs::LongRun;
use serde_json::json;

/// Maximum size of the page for ten arms, forty tests and ten minutes.
const BYTES_MAX: usize = 15_000_000;
/// Maximum CPU time of the page's main thread until it is loaded.
const LOAD_CPU_MAX: Duration = Duration::from_secs(2);

/// Writes the page of a run into its folder.
fn page(run: &Path) -> PathBuf {
    let html = html_report(&RunFolder::open(run).unwrap()).unwrap();
    let file = run.join("report.html");
    std::fs::write(&file, html).unwrap();
    file
}

fn verdicts_page(results: &Path) -> PathBuf {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    let effects =
        vec![(2, "hot-points", 0.95, 1.03), (3, "hot-points", 0.95, 1.03), (3, "insert", 1.06, 0.97)];
    page(&write_run(results, &Spec { arms, effects, blocks: 6, ..Spec::default() }).unwrap())
}

fn single_pass_page(results: &Path, tests: usize, functions: usize) -> PathBuf {
    page(&runs::write(results, &LongRun { arms: 3, tests, seconds: 60, suffix: "", functions }))
}

fn insert_benchmark_page(results: &Path) -> PathBuf {
    let missed = vec![(1, "qr1000", 0.612), (1, "qp1000", 0.87)];
    page(&insert_benchmark::build(
        results,
        &insert_benchmark::InsertSpec { missed, ..insert_benchmark::InsertSpec::default() },
    ))
}

#[test]
fn pages_have_no_errors_requests_or_accessibility_violations() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    let pages = [
        verdicts_page(results.path()),
        // Checking the contrast of every text takes most of the time.
        single_pass_page(results.path(), 2, 30),
        insert_benchmark_page(results.path()),
    ];
    for file in pages {
        for (width, theme) in [(1280, "light"), (360, "dark")] {
            browser.set_display(width, theme);
            browser.open(&file);
            browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
            let overflow =
                browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(
                overflow,
                json!(0),
                "the page scrolls horizontally at {width}: {}",
                browser.value(TOO_WIDE)
            );
            assert_eq!(axe::findings(&mut browser), Vec::<String>::new(), "{width} {theme}");
            assert_eq!(browser.messages(), Vec::<String>::new());
            let first = browser.value(
                "document.querySelector('figure').closest('section').id + ' ' + \
                document.querySelector('figure svg').id",
            );
            assert_eq!(first, json!("summary all-rate"), "the figure of all tests comes first");
            let top = browser.value("document.querySelector('figure').getBoundingClientRect().top");
            assert!(width < 1280 || top.as_f64() < Some(450.0), "the figure of all tests begins at {top} px");
            let own = format!("file://{}", file.display());
            let external: Vec<String> = browser
                .requests()
                .into_iter()
                .filter(|url| *url != own && !url.starts_with("data:"))
                .collect();
            assert_eq!(external, Vec::<String>::new(), "the page requests other URLs");
        }
    }
}

/// Elements that extend beyond the window.
const TOO_WIDE: &str = "[...document.querySelectorAll('body *')].filter((one) =>
    one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, .chart-box, pre, svg, nav'))
    .slice(0, 5).map((one) => `${one.tagName} ${one.className} in ${one.parentElement.className}`)";

#[test]
fn charts_are_drawn_and_zoomed_together() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    browser.open(&single_pass_page(results.path(), 5, 300));
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    let empty = browser.value(
        "[...document.querySelectorAll('svg.chart')].filter((one) => one.checkVisibility()).filter((one) => {
            const box = one.getBoundingClientRect();
            return box.width < 100 || box.height < 50 || !one.querySelector('text');
        }).length",
    );
    let charts = browser.value("document.querySelectorAll('svg.chart').length");
    assert!(charts.as_u64() > Some(20) && empty == json!(0), "{empty} of {charts} charts are empty");
    let overlaps = browser.value(OVERLAPPING_LABELS);
    assert_eq!(overlaps, json!([]), "labels overlap");

    let state = "(() => { const all = [...document.querySelector('details.test').querySelectorAll('.chart-timeline')];
        return all.map((one) => one.classList.contains('zoomed')); })()";
    let first = "document.querySelector('details.test .chart-timeline')";
    browser.value(&format!("{first}.scrollIntoView({{block: 'center', behavior: 'instant'}})"));
    let middle = browser.value(&format!(
        "(() => {{ const box = {first}.getBoundingClientRect(); return [box.left, box.width, box.top + box.height / 2]; }})()"
    ));
    let at = |place: usize| middle[place].as_f64().unwrap();
    let across = |share: f64| (at(0) + at(1) * share, at(2));
    browser.drag(across(0.3), across(0.6));
    let zoomed = browser.value(state);
    assert!(
        zoomed.as_array().is_some_and(|all| all.len() > 1 && all.iter().all(|one| *one == json!(true))),
        "{zoomed}"
    );
    let ticks = browser.value(&format!(
        "[...{first}.querySelectorAll('.zoomed-ticks text')].map((one) => +one.textContent)"
    ));
    let ticks: Vec<f64> = ticks.as_array().unwrap().iter().filter_map(|tick| tick.as_f64()).collect();
    assert!(ticks.len() >= 3 && ticks[0] > 10.0 && ticks.last() < Some(&45.0), "{ticks:?}");
    let readout = browser.value("document.querySelector('details.test .readout').textContent");
    assert!(readout.as_str().is_some_and(|text| text.contains("pg9") && text.contains("pg11")), "{readout}");
    browser.value("document.querySelector('details.test .zoom-tools button:last-of-type').click()");
    assert!(!browser.value(state).to_string().contains("true"), "the whole time is shown again");
}

/// Pairs of overlapping texts in a chart.
const OVERLAPPING_LABELS: &str = "(() => {
    const found = [];
    for (const chart of document.querySelectorAll('svg.chart')) {
        const texts = [...chart.querySelectorAll('text')].map((one) => [one.textContent, one.getBoundingClientRect()]);
        texts.forEach(([text, a], place) => texts.slice(place + 1).forEach(([other, b]) => {
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > a.height / 3) found.push(`${chart.id}: ${text} and ${other}`);
        }));
    }
    return found.slice(0, 5);
})()";

#[test]
fn verdicts_can_be_sorted_and_filtered_and_link_to_tests() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    browser.open(&verdicts_page(results.path()));
    let names = "[...document.querySelectorAll('.verdict-table tbody tr:not(.group)')].filter((row) =>
        row.offsetParent).map((row) => row.cells[0].textContent)";
    let in_groups = browser.value(names);
    browser.value("document.querySelectorAll('.verdict-table button.sort')[3].click()");
    let sorted = browser.value(names);
    assert_eq!(sorted[0], json!("hot-points"), "the slowest first: {sorted}");
    browser.value(
        "for (let n = 0; n < 2; n += 1) document.querySelectorAll('.verdict-table button.sort')[3].click()",
    );
    assert_eq!(browser.value(names), in_groups, "the third click brings the groups back");
    browser.value("document.getElementById('only-changes').click()");
    assert_eq!(browser.value(names), json!(["hot-points", "insert"]));
    let copied = "(() => { let text; navigator.clipboard.writeText = async (it) => { text = it; };
        [...document.querySelector('.verdict-table').closest('.scroll').nextElementSibling.children]
            .find((one) => one.textContent === 'FORMAT').click(); return text; })()";
    let csv = browser.value(&copied.replace("FORMAT", "CSV"));
    let rows: Vec<&str> = csv.as_str().unwrap().lines().collect();
    assert!(rows.len() > 2 && rows.last().is_some_and(|row| row.starts_with("insert,")), "shown rows: {csv}");
    assert!(rows[0].contains(": verdict,") && rows[0].contains(": low,"), "figures in columns: {csv}");
    let numbers = rows[1].split(',').filter(|field| field.parse::<f64>().is_ok()).count();
    assert!(numbers >= 3, "a ratio and its interval are numbers: {csv}");
    let markdown = browser.value(&copied.replace("FORMAT", "Markdown"));
    let lines: Vec<&str> = markdown.as_str().unwrap().lines().collect();
    assert!(
        lines[0].starts_with("| test |") && lines[1].starts_with("| --- |"),
        "one row of heads: {markdown}"
    );
    assert!(
        lines.iter().any(|line| line.contains(" (") && line.contains(" to ")),
        "intervals apart: {markdown}"
    );
    browser.value("document.querySelector('.verdict-table a').click()");
    let open = "[...document.querySelectorAll('details.test[open]')].map((one) => one.id)";
    browser.expect(open, &json!(["test-hot-points"]));
}

#[test]
fn the_theme_follows_the_system_until_one_is_chosen() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    let file = verdicts_page(results.path());
    let background = "getComputedStyle(document.body).backgroundColor";
    browser.set_display(1280, "light");
    browser.open(&file);
    let light = browser.value(background);
    browser.set_display(1280, "dark");
    let dark = browser.value(background);
    assert_ne!(light, dark);
    let choose = |theme: &str| {
        format!(
            "(() => {{ const one = document.getElementById('theme'); one.value = '{theme}';
            one.dispatchEvent(new Event('change')); return {background}; }})()"
        )
    };
    assert_eq!(browser.value(&choose("light")), light);
    assert_eq!(browser.value(&choose("")), dark);
}

#[test]
fn without_its_script_the_page_lacks_only_tools() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    let file = single_pass_page(results.path(), 5, 300);
    browser.open(&file);
    let count =
        "['table', 'svg.chart', 'details', 'td', 'pre'].map((one) => document.querySelectorAll(one).length)";
    let with = browser.value(count);
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&file);
    assert_eq!(browser.value(count), with);
    let tools = browser
        .value("[...document.querySelectorAll('.script-only')].filter((one) => one.offsetParent).length");
    assert_eq!(tools, json!(0), "script-only tools are hidden");
    browser.open(Path::new("/dev/null"));
    browser.open(&file.with_file_name("report.html#test-test-01_range=10"));
    let shown = browser.value("document.getElementById('test-test-01_range=10').getBoundingClientRect().top");
    assert!(
        shown.as_f64().is_some_and(|top| (0.0..900.0).contains(&top)),
        "a link does not scroll to its test: {shown}"
    );
}

#[test]
fn printing_expands_all_details() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.open(&verdicts_page(results.path()));
    // Runs after the page's own listener, which expands everything.
    browser.value(
        "addEventListener('beforeprint', () => {
            window.foldedInPrint = document.querySelectorAll('details:not([open])').length;
        })",
    );
    let printed = browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(printed["data"].as_str().unwrap().len() > 50_000, "too small for a report");
    assert_eq!(browser.value("window.foldedInPrint"), json!(0));
    let folded = browser.value("document.querySelectorAll('details:not([open])').length > 0");
    assert_eq!(folded, json!(true), "collapsed again");
}

#[test]
fn charts_can_be_saved_as_files() {
    let results = tempfile::tempdir().unwrap();
    let long = LongRun { arms: 3, tests: 2, seconds: 20, suffix: "/../x", functions: 0 };
    let run = RunFolder::open(&runs::write(results.path(), &long)).unwrap();
    let files = chart_files(&run).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names[..2], ["all-rate", "ratio-rate-point"]);
    assert!(
        names.contains(&"time-test-00_range=0____x") && names.len() == 7,
        "names are safe file names: {names:?}"
    );
    for said in ["Base, at 1.0: postgres-9.1", "pg10/../x", "Host: made-up/../x", "A single pass", "run long"]
    {
        assert!(files[0].svg.contains(said), "the figure of all tests lacks {said}: {}", files[0].svg);
    }
    assert!(files.iter().all(|file| file.svg.starts_with("<svg") && !file.svg.contains("var(")), "{names:?}");
}

#[test]
fn hostile_names_are_escaped() {
    let results = tempfile::tempdir().unwrap();
    let suffix = "\"><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'&";
    let file =
        page(&runs::write(results.path(), &LongRun { arms: 3, tests: 2, seconds: 5, suffix, functions: 20 }));
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    browser.open(&file);
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    assert_eq!(browser.messages(), Vec::<String>::new());
    assert_ne!(browser.value("document.title"), json!("taken"));
    assert_eq!(
        browser.value("document.images.length + document.scripts.length"),
        json!(1),
        "only the page's own script"
    );
    browser.value("document.querySelector('.verdict-table a').click()");
    // The link works despite the name.
    browser.expect("document.querySelector('details.test').getBoundingClientRect().top < 200", &json!(true));
}

#[test]
fn the_largest_page_loads_quickly() {
    let results = tempfile::tempdir().unwrap();
    let long = LongRun { arms: 10, tests: 40, seconds: 600, suffix: "", functions: 60 };
    let file = page(&runs::write(results.path(), &long));
    let bytes = std::fs::metadata(&file).unwrap().len() as usize;
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    // CPU time, which does not depend on other load.
    browser.call("Performance.enable", json!({"timeDomain": "threadTicks"}));
    let loaded = browser.open(&file);
    let metrics = browser.call("Performance.getMetrics", json!({}));
    let busy = metrics["metrics"].as_array().unwrap().iter().find(|one| one["name"] == "TaskDuration");
    let busy = Duration::from_secs_f64(busy.unwrap()["value"].as_f64().unwrap());
    println!("{bytes} bytes, loaded in {loaded:?}, CPU time {busy:?}");
    assert!(busy <= LOAD_CPU_MAX, "{busy:?}");
}
