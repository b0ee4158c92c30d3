//! The page in a real browser: nothing leaves the file, charts are drawn and read, themes, sorting and zoom work, it is
//! complete without its script, can be printed, and axe finds nothing that keeps people out.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

mod axe;
mod chromium;
#[path = "../builder/insert.rs"]
mod queue;
mod runs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use chromium::Chromium;
use rqps_report::{chart_files, html_report};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{Spec, write_run};
use runs::Long;
use serde_json::json;

/// Largest page, for ten arms, forty tests and ten minutes.
const BYTES_MAX: usize = 15_000_000;
/// Longest that the browser works until it is loaded.
const LOADED_WITHIN: Duration = Duration::from_secs(2);

/// Writes the page of a run beside it.
fn page(run: &Path) -> PathBuf {
    let html = html_report(&RunFolder::open(run).unwrap()).unwrap();
    let file = run.join("report.html");
    std::fs::write(&file, html).unwrap();
    file
}

fn with_verdicts(results: &Path) -> PathBuf {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    let effects =
        vec![(2, "hot-points", 0.95, 1.03), (3, "hot-points", 0.95, 1.03), (3, "insert", 1.06, 0.97)];
    page(&write_run(results, &Spec { arms, effects, blocks: 6, ..Spec::default() }).unwrap())
}

fn of_one_pass(results: &Path) -> PathBuf {
    page(&runs::write(results, &Long { arms: 3, tests: 5, seconds: 60, suffix: "", functions: 300 }))
}

fn of_a_queue(results: &Path) -> PathBuf {
    let missed = vec![(1, "qr1000", 0.612), (1, "qp1000", 0.87)];
    page(&queue::build(results, &queue::InsertSpec { missed, ..queue::InsertSpec::default() }))
}

#[test]
fn every_page_is_quiet_closed_and_open_to_all() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    let pages = [with_verdicts(results.path()), of_one_pass(results.path()), of_a_queue(results.path())];
    for file in pages {
        for (width, theme) in [(1280, "light"), (360, "dark")] {
            browser.look(width, theme);
            browser.open(&file);
            browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
            let overlong =
                browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(
                overlong,
                json!(0),
                "the page itself scrolls sideways at {width}: {}",
                browser.value(TOO_WIDE)
            );
            assert_eq!(axe::findings(&mut browser), Vec::<String>::new(), "{width} {theme}");
            assert_eq!(browser.complaints(), Vec::<String>::new());
            let own = format!("file://{}", file.display());
            let away: Vec<String> = browser
                .requests()
                .into_iter()
                .filter(|url| *url != own && !url.starts_with("data:"))
                .collect();
            assert_eq!(away, Vec::<String>::new(), "requests leave the file");
        }
    }
}

/// What reaches out of the window.
const TOO_WIDE: &str = "[...document.querySelectorAll('body *')].filter((one) =>
    one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, .chart-box, pre, svg, nav'))
    .slice(0, 5).map((one) => `${one.tagName} ${one.className} in ${one.parentElement.className}`)";

#[test]
fn charts_are_drawn_and_zoomed_together() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.look(1280, "light");
    browser.open(&of_one_pass(results.path()));
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
    let said = browser.value("document.querySelector('details.test .readout').textContent");
    assert!(said.as_str().is_some_and(|said| said.contains("pg9") && said.contains("pg11")), "{said}");
    browser.value("document.querySelector('details.test .zoom-tools button:last-of-type').click()");
    assert!(!browser.value(state).to_string().contains("true"), "the whole time is shown again");
}

/// Pairs of texts of a chart that lie on each other.
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
fn verdicts_are_sorted_filtered_and_lead_to_their_tests() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.look(1280, "light");
    browser.open(&with_verdicts(results.path()));
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
    browser.value("document.querySelector('.verdict-table a').click()");
    let open = "[...document.querySelectorAll('details.test[open]')].map((one) => one.id)";
    browser.expect(open, &json!(["test-hot-points"]));
}

#[test]
fn the_theme_is_the_systems_until_one_is_chosen() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    let file = with_verdicts(results.path());
    let background = "getComputedStyle(document.body).backgroundColor";
    browser.look(1280, "light");
    browser.open(&file);
    let light = browser.value(background);
    browser.look(1280, "dark");
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
fn without_its_script_nothing_is_missing_but_tools() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.look(1280, "light");
    let file = of_one_pass(results.path());
    browser.open(&file);
    let count =
        "['table', 'svg.chart', 'details', 'td', 'pre'].map((one) => document.querySelectorAll(one).length)";
    let with = browser.value(count);
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&file);
    assert_eq!(browser.value(count), with);
    let tools = browser
        .value("[...document.querySelectorAll('.script-only')].filter((one) => one.offsetParent).length");
    assert_eq!(tools, json!(0), "what only a script can do is not offered");
    browser.open(Path::new("/dev/null"));
    browser.open(&file.with_file_name("report.html#test-test-01_range=10"));
    let shown = browser.value("document.getElementById('test-test-01_range=10').getBoundingClientRect().top");
    assert!(
        shown.as_f64().is_some_and(|top| (0.0..900.0).contains(&top)),
        "a link leads to its test: {shown}"
    );
}

#[test]
fn it_can_be_printed_with_everything_unfolded() {
    let results = tempfile::tempdir().unwrap();
    let mut browser = Chromium::start();
    browser.open(&with_verdicts(results.path()));
    // Asked after the page's own listener has unfolded everything.
    browser.value(
        "addEventListener('beforeprint', () => {
            window.foldedInPrint = document.querySelectorAll('details:not([open])').length;
        })",
    );
    let printed = browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(printed["data"].as_str().unwrap().len() > 50_000, "too small for a report");
    assert_eq!(browser.value("window.foldedInPrint"), json!(0));
    let folded = browser.value("document.querySelectorAll('details:not([open])').length > 0");
    assert_eq!(folded, json!(true), "folded again");
}

#[test]
fn charts_are_files_of_their_own() {
    let results = tempfile::tempdir().unwrap();
    let long = Long { arms: 3, tests: 2, seconds: 20, suffix: "/../x", functions: 0 };
    let run = RunFolder::open(&runs::write(results.path(), &long)).unwrap();
    let files = chart_files(&run).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names[0], "ratio-rate-point");
    assert!(
        names.contains(&"time-test-00_range=0____x") && names.len() == 6,
        "no name leaves its folder: {names:?}"
    );
    assert!(files.iter().all(|file| file.svg.starts_with("<svg") && !file.svg.contains("var(")), "{names:?}");
}

#[test]
fn hostile_names_stay_names() {
    let results = tempfile::tempdir().unwrap();
    let suffix = "\"><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'&";
    let file =
        page(&runs::write(results.path(), &Long { arms: 3, tests: 2, seconds: 5, suffix, functions: 20 }));
    let mut browser = Chromium::start();
    browser.look(1280, "light");
    browser.open(&file);
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_ne!(browser.value("document.title"), json!("taken"));
    assert_eq!(
        browser.value("document.images.length + document.scripts.length"),
        json!(1),
        "its own script alone"
    );
    browser.value("document.querySelector('.verdict-table a').click()");
    // Its link leads to the test.
    browser.expect("document.querySelector('details.test').getBoundingClientRect().top < 200", &json!(true));
}

#[test]
fn ten_arms_forty_tests_and_ten_minutes_open_at_once() {
    let results = tempfile::tempdir().unwrap();
    let long = Long { arms: 10, tests: 40, seconds: 600, suffix: "", functions: 60 };
    let file = page(&runs::write(results.path(), &long));
    let bytes = std::fs::metadata(&file).unwrap().len() as usize;
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    let mut browser = Chromium::start();
    browser.look(1280, "light");
    // CPU time, which does not depend on what else the machine does meanwhile.
    browser.call("Performance.enable", json!({"timeDomain": "threadTicks"}));
    let loaded = browser.open(&file);
    let metrics = browser.call("Performance.getMetrics", json!({}));
    let busy = metrics["metrics"].as_array().unwrap().iter().find(|one| one["name"] == "TaskDuration");
    let busy = Duration::from_secs_f64(busy.unwrap()["value"].as_f64().unwrap());
    println!("{bytes} bytes, loaded in {loaded:?}, of which the page worked {busy:?}");
    assert!(busy <= LOADED_WITHIN, "{busy:?}");
}
