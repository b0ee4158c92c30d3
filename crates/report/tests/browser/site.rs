//! A site of several runs in a real browser: it makes no requests, every link leads somewhere, the search finds runs by
//! test and version, and a phone can show it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_report::{SiteFile, site_pages, site_run, site_stems};
use rqps_store::{RunFolder, Status};
use rqps_verdicts::testing::{Spec, write_run};
use serde_json::json;

use crate::axe;
use crate::chromium::Chromium;
use crate::runs::{self, LongRun};

/// Maximum size of a page.
const BYTES_MAX: usize = 3_000_000;

/// The files of a site of these runs.
fn files(runs: &[PathBuf]) -> Vec<SiteFile> {
    let names: Vec<String> =
        runs.iter().map(|run| run.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let mut files = Vec::new();
    let mut facts = Vec::new();
    for (run, stem) in runs.iter().zip(site_stems(&names)) {
        let (file, of_run) = site_run(&RunFolder::open(run).unwrap(), &stem).unwrap();
        files.push(file);
        facts.push(of_run);
    }
    files.extend(site_pages(facts).unwrap());
    files
}

fn write(files: &[SiteFile], site: &Path) {
    for file in files {
        let path = site.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.content).unwrap();
    }
}

/// Versions with a change in 17.7, base against itself with a later version, a pass without verdicts.
fn some_runs(results: &Path) -> Vec<PathBuf> {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    let effects =
        vec![(2, "hot-points", 0.90, 1.06), (3, "hot-points", 0.90, 1.06), (3, "insert", 1.08, 0.96)];
    let series = Spec { arms, effects, blocks: 8, ..Spec::default() };
    let two =
        Spec { name: "nightly", arms: vec![("release", "18.1"), ("master", "19devel")], ..Spec::default() };
    vec![
        write_run(results, &series).unwrap(),
        write_run(results, &two).unwrap(),
        runs::write(results, &LongRun { arms: 3, tests: 5, seconds: 5, suffix: "", functions: 0 }),
    ]
}

#[test]
fn a_site_has_no_errors_requests_or_accessibility_violations_and_every_link_works() {
    let results = tempfile::tempdir().unwrap();
    let site = results.path().join("site");
    let files = files(&some_runs(results.path()));
    write(&files, &site);
    let paths: BTreeSet<PathBuf> = files.iter().map(|file| site.join(&file.path)).collect();
    let pages: Vec<&PathBuf> =
        paths.iter().filter(|path| path.extension().is_some_and(|it| it == "html")).collect();
    assert!(pages.len() > 10 && paths.contains(&site.join("feed.xml")), "{paths:?}");
    let in_browser = |part: &str, count: usize| {
        pages
            .iter()
            .filter(|page| page.display().to_string().contains(part))
            .take(count)
            .copied()
            .collect::<Vec<_>>()
    };
    let mut browser = Chromium::start();
    for file in [in_browser("index", 1), in_browser("/runs/", 3), in_browser("hot-points", 9)].concat() {
        for (width, theme) in [(1280, "light"), (390, "dark")] {
            browser.set_display(width, theme);
            browser.open(file);
            browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
            let overflow =
                browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            let wide = browser.value(crate::TOO_WIDE);
            assert_eq!(overflow, json!(0), "{} scrolls horizontally at {width}: {wide}", file.display());
            let hidden = browser.value(
                "[...document.querySelectorAll('.names td')].filter((one) => one.getBoundingClientRect().right > innerWidth).length",
            );
            assert!(width > 390 || hidden == json!(0), "{hidden} cells of {} lie outside", file.display());
            // A note has room beside the column that stays in place.
            let notes = browser.value(
                "[...document.querySelectorAll('td.why')].filter((one) => one.getBoundingClientRect().width + one.parentNode
                 .firstElementChild.getBoundingClientRect().width > one.closest('.scroll').clientWidth).length",
            );
            assert!(width > 390 || notes == json!(0), "{notes} notes of {} are cut", file.display());
            let cut = browser.value(
                "[...document.querySelectorAll('figure:not(.flame)')].filter((one) => one.scrollWidth > one.clientWidth).length",
            );
            assert_eq!(cut, json!(0), "charts of {} are cut at {width}", file.display());
            assert_eq!(
                axe::findings(&mut browser),
                Vec::<String>::new(),
                "{} {width} {theme}",
                file.display()
            );
            assert_eq!(browser.messages(), Vec::<String>::new(), "{}", file.display());
        }
        let own = format!("file://{}", site.display());
        let outside: Vec<String> = browser
            .requests()
            .into_iter()
            .filter(|url| !url.starts_with(&own) && !url.starts_with("data:"))
            .collect();
        assert_eq!(outside, Vec::<String>::new());
    }
    for file in &files {
        for link in links(&file.content) {
            let base = Path::new(&file.path).parent().unwrap();
            let (path, id) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { site.join(&file.path) } else { plain(&site.join(base).join(path)) };
            assert!(paths.contains(&target), "{} links to {link}", file.path);
            let content = fs::read_to_string(&target).unwrap();
            assert!(
                id.is_empty() || content.contains(&format!("id=\"{id}\"")),
                "{} links to {link}",
                file.path
            );
        }
    }
}

/// The addresses of links.
fn links(html: &str) -> Vec<String> {
    let found = html.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    found.filter(|link| !link.starts_with("data:")).map(|link| link.replace("&amp;", "&")).collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            plain.pop()
        } else {
            plain.push(part);
            true
        };
    }
    plain
}

#[test]
fn the_search_finds_runs_by_test_and_version() {
    let results = tempfile::tempdir().unwrap();
    let site = results.path().join("site");
    write(&files(&some_runs(results.path())), &site);
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    browser.open(&site.join("index.html"));
    let mut found = |words: &str| {
        browser.value(&format!(
            "(() => {{ const field = document.getElementById('find-row'); field.value = '{words}';
             field.dispatchEvent(new Event('input')); }})()"
        ));
        browser.value(
            "[...document.querySelectorAll('#runs tbody tr:not([hidden]) th a, #tests tbody tr:not([hidden]) th a')]
             .map((one) => one.textContent.replace(/-[0-9]{8}-[0-9]{6}$/, ''))",
        )
    };
    let all = found("").as_array().unwrap().len();
    assert!(all > 8, "{all}");
    assert_eq!(found("19devel hot-points"), json!(["nightly", "hot-points"]));
    assert_eq!(found("test-03"), json!(["long", "test-03_range=30"]));
    assert_eq!(found("no-such-thing"), json!([]));
}

#[test]
fn a_test_s_page_says_where_its_change_arrived() {
    let results = tempfile::tempdir().unwrap();
    let files = files(&some_runs(results.path()));
    let page =
        files.iter().find(|file| file.path.starts_with("tests/") && file.path.ends_with(".hot-points.html"));
    let page = &page.unwrap().content;
    let arrived = page.split("Where changes arrived").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(arrived.contains("17.7: ") && arrived.contains("rate -10"), "{arrived}");
    assert!(page.contains("19devel") && page.contains("rate relative to PostgreSQL 16.11"), "{arrived}");
}

/// Runs of two versions each, of which the next one has the later: each has a base of its own.
fn nightly_runs(results: &Path) -> Vec<PathBuf> {
    let pair = |seed, arms: [(&'static str, &'static str); 2], factor| {
        let effects = vec![(1, "hot-points", factor, 1.0 / factor)];
        let spec = Spec { name: "night", arms: arms.to_vec(), effects, blocks: 8, seed, ..Spec::default() };
        write_run(results, &spec).unwrap()
    };
    vec![
        pair(1, [("old", "16.1"), ("new", "16.2")], 0.5),
        pair(2, [("old", "16.2"), ("new", "16.4")], 0.5),
        // The base is the later version, and of another branch of the chain.
        pair(3, [("old", "16.4"), ("new", "16.3")], 4.0),
        pair(4, [("alone", "9.1"), ("other", "9.2")], 1.0),
    ]
}

#[test]
fn runs_that_have_a_version_in_common_are_one_course() {
    let results = tempfile::tempdir().unwrap();
    let files = files(&nightly_runs(results.path()));
    let page = files.iter().find(|file| file.path.ends_with(".hot-points.html")).unwrap();
    let course =
        page.content.split("id=\"course\"").nth(1).unwrap().split("Where changes arrived").next().unwrap();
    assert!(course.contains("Rate relative to PostgreSQL 16.1, 3 runs joined"), "{course}");
    assert!(course.contains("2 of them were not measured against PostgreSQL 16.1"), "{course}");
    assert!(!course.contains("No 3 versions") && !course.contains("9.1"), "{course}");
    let points = course.split("all runs, 16.").skip(1).take(4).map(|rest| rest.split_once(": ").unwrap());
    let points: Vec<(&str, f64)> =
        points.map(|(at, rest)| (at, rest.split([',', ' ']).next().unwrap().parse().unwrap())).collect();
    for ((at, ratio), expected) in points.iter().zip([("1", 1.0), ("2", 0.5), ("3", 1.0), ("4", 0.25)]) {
        assert!(*at == expected.0 && (ratio / expected.1 - 1.0).abs() < 0.1, "{points:?}");
    }
    // Costs have charts of their own, and levels are named.
    let (of_rates, of_costs) =
        course.split_once("Cost per operation (instructions) relative to PostgreSQL 16.1, 3 runs").unwrap();
    assert!(of_costs.contains("cost relative to PostgreSQL 16.1") && !of_costs.contains("rate relative"));
    assert!(of_costs.contains("1.00 in 16.1, 2.0001 in 16.2, 1.00 in 16.3, 4.00 in 16.4"), "{of_costs}");
    assert!(of_rates.contains("Whiskers: 95 % confidence intervals"), "{of_rates}");
    // Each version with what it was measured against.
    let row = course.split("<tr>").find(|row| row.contains(">16.3</th>")).unwrap();
    assert!(row.contains("<td>16.4</td>"), "{row}");
    // The line goes over all of them.
    let line = course
        .split("class=\"line\"")
        .nth(1)
        .unwrap()
        .split(" d=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert_eq!((line.matches('M').count(), line.matches('L').count()), (1, 3), "{line}");
}

/// Rates of other tables are other rates: a change of these is none of the version.
#[test]
fn runs_of_tables_of_other_sizes_are_not_one_course() {
    let results = tempfile::tempdir().unwrap();
    let course = |rows: u64| {
        let run = |seed, rows, arms: [(&'static str, &'static str); 2]| {
            let effects = vec![(1, "hot-points", 0.5, 1.0)];
            let spec =
                Spec { name: "r", arms: arms.to_vec(), effects, rows, blocks: 8, seed, ..Spec::default() };
            write_run(results.path(), &spec).unwrap()
        };
        let runs = [
            run(1, 100_000, [("old", "16.1"), ("new", "16.2")]),
            run(2, rows, [("old", "16.2"), ("new", "16.4")]),
        ];
        let files = files(&runs);
        let page = files.iter().find(|file| file.path.ends_with(".hot-points.html")).unwrap();
        page.content.split("id=\"course\"").nth(1).unwrap().to_owned()
    };
    assert!(course(100_000).contains("2 runs joined"));
    let apart = course(1_000_000);
    assert!(!apart.contains("runs joined"), "{apart}");
    // Each verdict between two versions still is one.
    let arrived = apart.split("Where changes arrived").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(arrived.contains("16.2: ") && arrived.contains("16.4: "), "{arrived}");
}

/// A run that skips a version that another run has is a line, not dots.
#[test]
fn lines_connect_neighbours_that_were_measured() {
    let results = tempfile::tempdir().unwrap();
    let run = |seed, arms: [(&'static str, &'static str); 3]| {
        write_run(results.path(), &Spec { name: "r", arms: arms.to_vec(), seed, ..Spec::default() }).unwrap()
    };
    let runs = [
        run(1, [("base", "16.1"), ("b", "16.3"), ("c", "16.5")]),
        run(2, [("base", "16.1"), ("b", "16.2"), ("c", "16.4")]),
    ];
    let files = files(&runs);
    let page = files.iter().find(|file| file.path.ends_with(".hot-points.html")).unwrap();
    let lines: Vec<&str> =
        page.content.split("class=\"line\"").skip(1).map(|rest| rest.split('>').next().unwrap()).collect();
    assert!(lines.len() >= 2 && lines.iter().all(|line| line.matches('M').count() == 1), "{lines:?}");
}

/// An interrupted run is in the lists, and says so; badge and feed stay those of the last complete run.
#[test]
fn an_unfinished_run_says_so_and_is_no_news() {
    let results = tempfile::tempdir().unwrap();
    let nightly = |seed| Spec { name: "nightly", seed, ..Spec::default() };
    let complete = write_run(results.path(), &nightly(1)).unwrap();
    let unfinished = write_run(results.path(), &nightly(2)).unwrap();
    let only =
        runs::write(results.path(), &LongRun { arms: 1, tests: 1, seconds: 1, suffix: "", functions: 0 });
    for (run, status) in [(&unfinished, Status::Interrupted), (&only, Status::Running)] {
        RunFolder::open_for_writing(run).unwrap().set_status(status, None).unwrap();
    }
    let files = files(&[complete.clone(), unfinished, only]);
    let content = |path: &str| &files.iter().find(|file| file.path == path).unwrap().content;
    let index = content("index.html");
    assert!(index.contains("3 runs of 7 tests") && index.contains("; 2 of them unfinished"), "{index}");
    assert_eq!(index.matches(">interrupted</strong>").count(), 3, "two runs, and the only rate of a test");
    let name = complete.file_name().unwrap().to_str().unwrap();
    let feed = content("feed.xml");
    assert!(feed.matches("<entry>").count() == 1 && feed.contains(name), "{feed}");
    assert!(!content("badges/nightly.svg").contains("interrupted"));
    assert!(content("badges/long.svg").contains("interrupted"));
    let test = files.iter().find(|file| file.path.ends_with(".point-query.html")).unwrap();
    assert_eq!(test.content.matches(">interrupted</strong>").count(), 1, "{}", test.content);
    // A run of one arm has rates, and a version.
    let tests = index.split("id=\"tests\"").nth(1).unwrap();
    let row = tests.split("<tr ").find(|row| row.contains("queries per second")).unwrap();
    assert!(row.contains("PostgreSQL 9.1") && row.contains(">pg9 <strong"), "{row}");
}

#[test]
fn the_same_runs_make_the_same_bytes_and_hostile_names_do_nothing() {
    let results = tempfile::tempdir().unwrap();
    let suffix = "\"><script>document.title='taken'</script>'&/../\u{1}";
    let runs =
        [runs::write(results.path(), &LongRun { arms: 3, tests: 2, seconds: 5, suffix, functions: 0 })];
    let all = files(&runs);
    assert_eq!(all, files(&runs));
    let site = results.path().join("site");
    write(&all, &site);
    let mut browser = Chromium::start();
    browser.set_display(1280, "light");
    for file in all.iter().filter(|file| file.path.ends_with(".html")) {
        browser.open(&site.join(&file.path));
        assert_ne!(browser.value("document.title"), json!("taken"), "{}", file.path);
        assert_eq!(browser.value("document.scripts.length"), json!(1), "{}", file.path);
    }
    let feed = all.iter().find(|file| file.path == "feed.xml").unwrap();
    assert!(!feed.content.contains("<script"), "{}", feed.content);
}

#[test]
fn no_page_is_too_large_for_a_phone() {
    let results = tempfile::tempdir().unwrap();
    let run =
        runs::write(results.path(), &LongRun { arms: 64, tests: 40, seconds: 1, suffix: "", functions: 0 });
    let files = files(&[run]);
    for file in &files {
        assert!(file.content.len() <= BYTES_MAX, "{} has {} bytes", file.path, file.content.len());
    }
    let page = files.iter().find(|file| file.path.starts_with("runs/")).unwrap();
    println!("{} bytes", page.content.len());
}

#[test]
fn more_runs_than_a_page_can_hold_have_several_pages() {
    let results = tempfile::tempdir().unwrap();
    let run =
        runs::write(results.path(), &LongRun { arms: 2, tests: 2, seconds: 1, suffix: "", functions: 0 });
    let (_, facts) = site_run(&RunFolder::open(&run).unwrap(), "long").unwrap();
    let files = site_pages(vec![facts; 6000]).unwrap();
    let pages: Vec<&SiteFile> = files.iter().filter(|file| file.path.starts_with("index")).collect();
    assert!(pages.len() > 1, "{} pages", pages.len());
    let rows: usize = pages.iter().map(|page| page.content.matches("href=\"runs/").count()).sum();
    assert_eq!(rows, 6000, "each run is on one page");
    for page in &pages {
        let others = pages.iter().filter(|other| page.content.contains(&format!("href=\"{}\"", other.path)));
        assert_eq!(others.count(), pages.len() - 1, "{} links to all others", page.path);
    }
    for file in &files {
        assert!(file.content.len() <= BYTES_MAX, "{} has {} bytes", file.path, file.content.len());
    }
}
