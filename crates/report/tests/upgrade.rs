//! Reports of upgrades, on synthetic runs.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use rqps_model::Setting;
use rqps_report::{Format, Screen};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Spec, write_run};

fn run(results: &std::path::Path, spec: &Spec) -> Run {
    RunFolder::open(&write_run(results, spec).unwrap()).unwrap()
}

/// The page and the report of an upgrade have what its own report has.
#[test]
fn an_upgrade_is_on_every_page_of_its_run() {
    let results = tempfile::tempdir().unwrap();
    let folder = write_run(results.path(), &Spec::mixed()).unwrap();
    let both = || {
        let run = RunFolder::open(&folder).unwrap();
        [rqps_report::html_report(&run).unwrap(), rqps_report::markdown_report(&run).unwrap()]
    };
    let parts = ["Your config", "Defaults that changed", "Query plans that changed", "p95 new"];
    for text in both() {
        assert!(parts.iter().all(|part| !text.contains(part)), "it is none");
    }
    std::fs::write(folder.join(rqps_store::UPGRADE_FILE), "").unwrap();
    for text in both() {
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.contains("No query plans were read."), "{text}");
    }
    // Warnings of both versions are told, too, after the new ones.
    let mut run = RunFolder::open(&folder).unwrap();
    let warning = |text: &str| Setting { name: rqps_model::START_WARNING.to_owned(), value: text.to_owned() };
    run.arms[0].facts.push(warning("'symbolic-links' is deprecated"));
    run.arms[2]
        .facts
        .extend(["'symbolic-links' is deprecated", "'binlog_format' is deprecated"].map(warning));
    let whole = |run: &Run| rqps_report::upgrade(run, Format::Markdown, Screen::default()).unwrap();
    let text = whole(&run);
    let [new, known] = ["'binlog_format'", "'symbolic-links'"].map(|name| text.find(name).unwrap());
    assert!(new < known && text.contains("as PostgreSQL 17.7 does:"), "{text}");
    // An option without effect is neither unknown nor refused, and told also if both versions have it so.
    let reason = "'innodb-page-cleaners' was removed".to_owned();
    let removed = rqps_model::LeftOut {
        option: "innodb_page_cleaners".to_owned(),
        value: "2".to_owned(),
        reason: reason.clone(),
        without_effect: true,
        ..rqps_model::LeftOut::default()
    };
    for arm in [0, 2] {
        run.arms[arm].left_out.push(removed.clone());
    }
    let text = whole(&run);
    assert!(text.contains(&reason) && text.contains("nothing; remove it"), "{text}");
    assert!(!text.contains("does not start"), "{text}");
    // An option that the new version has under another name and still takes, and a switch that only it has.
    let setting = |name: &str, value: &str, default| rqps_model::ServerSetting {
        name: name.to_owned(),
        value: value.to_owned(),
        source: "configuration file".to_owned(),
        default,
    };
    run.arms[0]
        .settings
        .extend([setting("ssl_ecdh_curve", "X25519", false), setting("some", "a=on,b=on", true)]);
    run.arms[2]
        .settings
        .extend([setting("ssl_groups", "X25519", false), setting("some", "a=on,b=on,c=on", true)]);
    run.arms[0].config_text.push_str("\nssl_ecdh_curve = X25519\n");
    let text = whole(&run);
    assert!(text.contains("ssl_groups = X25519") && text.contains("some c=on"), "{text}");
    // What follows from an option whose value is refused is no changed default.
    for (arm, value) in [(0, "utf8mb3"), (2, "utf8mb4")] {
        let settings =
            ["character_set_server", "character_set_client"].map(|name| setting(name, value, true));
        run.arms[arm].settings.extend(settings);
        run.arms[arm].settings.extend(["back_log", "ssl_ca"].map(|name| setting(name, value, true)));
    }
    run.arms[2].left_out.push(rqps_model::LeftOut {
        option: "character_set_server".to_owned(),
        value: "utf8".to_owned(),
        reason: "refused: unknown character set".to_owned(),
        refused: true,
        ..rqps_model::LeftOut::default()
    });
    let text = whole(&run);
    assert!(text.contains("refused: unknown character set; utf8mb4 is in effect"), "{text}");
    assert!(text.contains("character_set_server = utf8mb3 (what utf8 meant; or utf8mb4)"), "{text}");
    assert!(!text.contains("character_set_client") && !text.contains("ssl_ca"), "{text}");
    assert!(text.contains("was measured without character_set_server of the config"), "{text}");
    run.arms[2].left_out.pop();
    run.arms[2].left_out.push(rqps_model::LeftOut {
        option: "innodb_other".to_owned(),
        reason: "unknown".to_owned(),
        without_effect: false,
        unknown: true,
        ..removed
    });
    let text = whole(&run);
    assert!(text.contains("it does not know 1 of its options"), "{text}");
    // Options need no block.
    let results = tempfile::tempdir().unwrap();
    let settings = vec![(0, "work_mem", "4MB"), (1, "work_mem", "4MB"), (2, "work_mem", "4MB")];
    let run = self::run(results.path(), &Spec { blocks: 0, settings, ..Spec::mixed() });
    let text = rqps_report::upgrade(&run, Format::Text, Screen::default()).unwrap();
    assert!(text.contains("Both versions accept every") && text.contains("has no complete block"), "{text}");
}

fn server_setting(name: &str, value: &str, default: bool) -> rqps_model::ServerSetting {
    let source = if default { "default" } else { "configuration file" }.to_owned();
    rqps_model::ServerSetting { name: name.to_owned(), value: value.to_owned(), source, default }
}

/// Until both versions have started for blocks, the entry of one of them is that of the test start.
#[test]
fn what_blocks_set_is_no_option_of_one_version() {
    let results = tempfile::tempdir().unwrap();
    let mut run = self::run(results.path(), &Spec { blocks: 0, ..Spec::mixed() });
    let option = "innodb_stats_auto_recalc";
    for (arm, value, default) in [(0, "OFF", false), (2, "ON", true)] {
        run.arms[arm].settings.push(server_setting(option, value, default));
    }
    run.arms[0].config_text.push_str("\ninnodb_stats_auto_recalc = OFF\n");
    let text = |run: &Run| rqps_report::upgrade(run, Format::Text, Screen::default()).unwrap();
    assert!(text(&run).contains("set for the old version only"), "{}", text(&run));
    let name = rqps_model::BLOCKS_SET.to_owned();
    run.arms[0].facts.push(Setting { name, value: option.to_owned() });
    assert!(!text(&run).contains(option), "{}", text(&run));
}

/// An option of the config that the old version does not know is in the report, and what can be a cause beside causes.
#[test]
fn options_that_only_one_version_had_are_told() {
    let results = tempfile::tempdir().unwrap();
    let mut run = self::run(results.path(), &Spec::mixed());
    let left = |option: &str, value: &str, reason: &str, unknown| rqps_model::LeftOut {
        option: option.to_owned(),
        value: value.to_owned(),
        reason: reason.to_owned(),
        unknown,
        ..rqps_model::LeftOut::default()
    };
    let (of_old, of_new) = ("vacuum_defer_cleanup_age", "vacuum_buffer_usage_limit");
    run.arms[0].settings.push(server_setting(of_old, "1000", false));
    run.arms[0].left_out.push(left(of_new, "4MB", "unknown", true));
    run.arms[2].settings.push(server_setting(of_new, "4MB", false));
    run.arms[2].settings.push(server_setting("debug_of_developers", "on", true));
    run.arms[2].settings.push(server_setting("io_method", "worker", true));
    run.arms[2].left_out.push(left(of_old, "1000", "unknown", true));
    let libraries = left("shared_preload_libraries", "a", "not available in this build: a; kept: b", false);
    for (arm, lines) in [(0, "vacuum_defer_cleanup_age = 1000"), (2, "vacuum_buffer_usage_limit = 4MB")] {
        run.arms[arm].left_out.push(libraries.clone());
        run.arms[arm].config_text.push_str(&format!("\nshared_preload_libraries = 'b'\n{lines}\n"));
    }
    let text = rqps_report::upgrade(&run, Format::Markdown, Screen::default()).unwrap();
    for told in [
        "| vacuum_buffer_usage_limit | 4MB | in effect; PostgreSQL 17.7 does not know it and was measured without | - |",
        "not checked: shared_preload_libraries = a (not available in this build: a; kept: b)",
        "Only PostgreSQL 18.1 has, first what can make a difference to tests: io_method = worker, debug_of_developers.",
        "Only PostgreSQL 17.7 was measured with vacuum_defer_cleanup_age = 1000, only PostgreSQL 18.1 was measured with \
         vacuum_buffer_usage_limit = 4MB of the config: these options can be a cause of differences, too.",
        "interruptions included, so that its ratio may differ from rQPS",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let short = rqps_report::upgrade(&run, Format::Text, Screen::default()).unwrap();
    assert!(short.contains("only PostgreSQL 18.1 was measured with"), "{short}");
}

/// What builds said of the config when they were asked is told before they were started, also that all is well.
#[test]
fn what_versions_answered_is_told_before_they_start() {
    let results = tempfile::tempdir().unwrap();
    let mut run = self::run(results.path(), &Spec { blocks: 0, ..Spec::mixed() });
    run.arms.iter_mut().for_each(|arm| arm.settings.clear());
    let text = |run: &Run| rqps_report::upgrade(run, Format::Text, Screen::default()).unwrap();
    assert!(text(&run).contains("Changed options and defaults are not known: "), "{}", text(&run));
    for (options, told) in [
        (vec![], "Asked for their options, PostgreSQL 17.7 and PostgreSQL 18.1 know every option of config"),
        (vec!["some: unknown; remove it".to_owned()], "- some: unknown; remove it"),
    ] {
        run.folder.keep_upgrade_options(&options).unwrap();
        let text = text(&run);
        assert!(text.contains(told) && text.contains("Changed defaults, and what servers say"), "{text}");
    }
}

/// What an upgrade brings of its own comes in order; what has a later name is not new.
#[test]
fn new_options_that_can_act_come_first_and_silent_deprecations_are_told() {
    let results = tempfile::tempdir().unwrap();
    let mut run = self::run(results.path(), &Spec::mixed());
    let setting = |(name, value): (&str, &str)| rqps_model::ServerSetting {
        name: name.to_owned(),
        value: value.to_owned(),
        source: "default".to_owned(),
        default: true,
    };
    run.arms[0].settings.push(setting(("ssl_ecdh_curve", "prime256v1")));
    run.arms[0].settings.push(setting(("password_encryption", "md5")));
    let new = [("aaa", "on"), ("io_aaa", "-1"), ("io_method", "worker"), ("ssl_groups", "X25519")];
    run.arms[2].settings.extend(new.map(setting));
    run.arms[2].settings.push(setting(("password_encryption", "md5")));
    run.arms[2].config_text.push_str("\npassword_encryption = md5\n");
    let text = rqps_report::upgrade(&run, Format::Markdown, Screen::default()).unwrap();
    let only = "has, first what can make a difference to tests: io_method = worker, io_aaa = -1, aaa";
    assert!(text.contains(only), "{text}");
    assert_eq!(text.matches("ssl_groups").count(), 1, "a changed default: {text}");
    let instead = "| password_encryption = scram-sha-256 |";
    assert!(text.contains("deprecated since PostgreSQL 18") && text.contains(instead), "{text}");
}

/// The old version's build has no plugins to ask, and no version minds what is written with `loose_`.
#[test]
fn an_upgrade_tells_an_option_that_only_plugins_know() {
    let results = tempfile::tempdir().unwrap();
    let mut run = self::run(results.path(), &Spec::mixed());
    let left = |option: &str, unknown, instead: Option<&str>| rqps_model::LeftOut {
        option: option.to_owned(),
        value: "1".to_owned(),
        reason: "unknown".to_owned(),
        unknown,
        instead: instead.map(str::to_owned),
        ..rqps_model::LeftOut::default()
    };
    run.arms[0].left_out.extend([left("of_plugin", false, None), left("of_both", true, None)]);
    run.arms[2].left_out.extend([
        left("of_plugin", true, Some("of_other = 1")),
        left("of_both", true, None),
        left("written_loosely", false, None),
    ]);
    for arm in [0, 2] {
        run.arms[arm].left_out.push(left("of_neither", true, None));
    }
    let text = rqps_report::upgrade(&run, Format::Text, Screen::default()).unwrap();
    assert!(text.contains("not checked: of_both, of_neither (unknown)"), "{text}");
    assert!(
        text.contains("it does not know 1 of its options. Before the upgrade, change of_plugin."),
        "{text}"
    );
    assert!(text.contains("- of_plugin = 1: use of_other = 1"), "{text}");
}

/// A switch may have become one of several words.
#[test]
fn a_switch_that_is_only_spelled_otherwise_is_not_told() {
    let results = tempfile::tempdir().unwrap();
    let settings =
        |new| vec![(0, "log_connections", "on"), (1, "log_connections", "on"), (2, "log_connections", new)];
    for (new, is_told) in [("yes", false), ("receipt", true)] {
        let results = results.path().join(new);
        let run = self::run(&results, &Spec { blocks: 0, settings: settings(new), ..Spec::mixed() });
        let text = rqps_report::upgrade(&run, Format::Markdown, Screen::default()).unwrap();
        assert_eq!(text.contains("log_connections"), is_told, "{text}");
    }
}

/// The answer and the tests come first; long lists are cut and say where they are whole.
#[test]
fn a_terminal_has_an_upgrade_in_short() {
    let results = tempfile::tempdir().unwrap();
    let folder = write_run(results.path(), &Spec::mixed()).unwrap();
    let mut run = RunFolder::open(&folder).unwrap();
    let setting = |name: String, value: &str| rqps_model::ServerSetting {
        name,
        value: value.to_owned(),
        source: "default".to_owned(),
        default: true,
    };
    for (arm, value) in [(0, "1"), (2, "2")] {
        let many = (0..40).map(|number| setting(format!("some_{number}"), value));
        run.arms[arm].settings.extend(many.chain([setting("work_mem".to_owned(), value)]));
    }
    for number in 0..15 {
        run.arms[2].left_out.push(rqps_model::LeftOut {
            option: format!("removed_in_the_new_version_{number}"),
            value: "1".to_owned(),
            reason: "unknown".to_owned(),
            unknown: true,
            ..rqps_model::LeftOut::default()
        });
    }
    let screen = Screen { width: Some(80), ..Screen::default() };
    let text = rqps_report::upgrade(&run, Format::Text, screen).unwrap();
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = unwrapped(&text);
    let at = |part: &str| words.find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
    let last = "removed_in_the_new_version_13, removed_in_the_new_version_14.";
    let parts =
        ["does not know 15 of its options", last, "p99 us", "Your config", "work_mem 1 → 2", "A/A check"];
    assert!(parts.map(at).is_sorted(), "{text}");
    assert!(
        words.contains("; 31 more. Options that only PostgreSQL 18.1 has: 0 (see `--format markdown`)."),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() < 80, "{text}");
    std::fs::write(folder.join(rqps_store::UPGRADE_FILE), "").unwrap();
    let text = rqps_report::upgrade(&run, Format::Text, screen).unwrap();
    assert!(unwrapped(&text).contains("(see upgrade.md)."), "{text}");
    let whole = rqps_report::upgrade(&run, Format::Markdown, Screen::default()).unwrap();
    assert!((0..40).all(|number| whole.contains(&format!("some_{number} "))), "{whole}");
}
