//! `fleet collect`: the joint comparison as tables.

use super::shown;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::out;
use crate::verbs::run::PAGE_FILE;
use rqps_fleet::{Collected, Fleet, HostResult, MeasuredArm, Split, collect};
use rqps_model::sample::median;
use rqps_model::{Digits, counted, part_of, short_hash};
use rqps_report::{Format, JointPage, JointRow, joint_levels};
use rqps_stats::{Class, Detector, HOSTS_MIN, Joint, OnHost, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// The verdict when hosts disagree.
const DIFFERS: &str = "differs";
/// The words for what each host shows by itself and too few hosts show together.
const WORSE_ON_EACH: &str = "regression on each";
const BETTER_ON_EACH: &str = "improvement on each";
/// A control whose interval is further than this factor from base is named, also if it is inconclusive.
const CLEAR_FACTOR: f64 = 1.25;
/// A host's own verdict if a change is likely and not established.
const LIKELY: &str = "likely";
/// The column of the hosts' own verdicts.
const ON_HOSTS: &str = "on hosts";
/// Hosts that are named with their figures: of more, a line has no room.
const RATIOS_MAX: usize = 6;
/// What is known of arms.
const FACTS_OF_ARMS: [&str; 3] = ["build", "hash", "config"];
/// Facts that a remark names: of hosts that differ in everything, more say no more.
const FACTS_MAX: usize = 3;

/// Prints the comparison, and writes it as a page if `html` names a file, or none for the default.
pub fn run(context: &Context, fleet: &Fleet, html: Option<&Option<PathBuf>>) -> anyhow::Result<ExitCode> {
    let collected = collect(fleet)?;
    let rows: Vec<&Joint> = collected.judged.joint.iter().filter(|joint| is_shown(joint)).collect();
    let listing = table(&collected, &rows);
    let warnings = warnings(fleet, &collected, &rows);
    match context.format {
        Format::Text | Format::Markdown => {
            let is_text = context.format == Format::Text;
            out::print_line(&header(fleet, &collected))?;
            if !is_text {
                out::print_line("")?;
            }
            arms(&collected).print(context, || Ok(Value::Null))?;
            out::print_line("")?;
            hosts(&collected).print(context, || Ok(Value::Null))?;
            if !(is_text || warnings.is_empty()) {
                out::print_line("")?;
            }
            let bullet = if is_text { "" } else { "- " };
            let width = context.width.filter(|_| is_text);
            for warning in &warnings {
                out::print_line(&rqps_report::wrapped(&format!("{bullet}warning: {warning}"), width))?;
            }
            out::print_line("")?;
        }
        // What reads the rows takes all of them for rows.
        Format::Csv => {
            out::message(&header(fleet, &collected));
            warnings.iter().for_each(|warning| out::message(&format!("warning: {warning}")));
        }
        Format::Json => {}
    }
    listing.print(context, || Ok(as_json(fleet, &collected, &warnings)))?;
    // On a terminal, the table has no room for all that there is to say of these.
    if let Some(width) = context.width.filter(|_| context.format == Format::Text) {
        for joint in rows.iter().filter(|joint| joint.agreement.is_broken()) {
            let (test, arm) = (&joint.verdict.test, arm_name(&collected, joint));
            let text = format!("{test}, {arm}, {}: {}", joint.verdict.metric, on_hosts(&collected, joint));
            out::print_line("")?;
            out::print_line(&rqps_report::wrapped(&text, Some(width)))?;
        }
    }
    let about =
        [joint_levels(|| rows.iter().copied()), where_ratios_are(context, &collected, &listing, &rows)];
    for text in about.iter().filter(|text| !text.is_empty()) {
        match context.format {
            Format::Text | Format::Markdown => {
                out::print_line("")?;
                let width = context.width.filter(|_| context.format == Format::Text);
                out::print_line(&rqps_report::wrapped(text, width))?;
            }
            Format::Csv => out::message(text),
            Format::Json => {}
        }
    }
    if context.format == Format::Text && rows.is_empty() {
        let runs = shown(&fleet.folder.join("tasks"));
        let why = match collected.hosts.iter().filter(|host| host.is_left_out).count() {
            0 => "nothing was measured on two hosts",
            _ => "nothing was measured on two hosts that are not left out",
        };
        out::message(&format!(
            "{why}, so there is nothing to join; each run has its own tables: \
             `rqps --results {runs}/TASK show last`{}",
            first_done(fleet).map(|task| format!(", with TASK such as {task}")).unwrap_or_default()
        ));
    }
    if let Some(file) = html {
        let file = file.clone().unwrap_or_else(|| fleet.folder.join(PAGE_FILE));
        out::write_file(&file, page(fleet, &collected, &rows, warnings))?;
        out::message(&format!("page        {}", shown(&file)));
    }
    Ok(ExitCode::SUCCESS)
}

fn first_done(fleet: &Fleet) -> Option<&str> {
    fleet.spec.tasks.iter().find(|task| fleet.is_done(task)).map(|task| task.id.as_str())
}

/// Where each host's ratio in rows that are inconclusive is, if the table has no room for it.
fn where_ratios_are(context: &Context, collected: &Collected, listing: &Listing, rows: &[&Joint]) -> String {
    let is_open = |joint: &&Joint| joint.verdict.class == Class::Inconclusive && !joint.agreement.is_broken();
    let open: Vec<&Joint> = rows.iter().copied().filter(is_open).collect();
    let is_wide = open.iter().any(|joint| joint.hosts.len() > RATIOS_MAX);
    let shown = listing.text(context.width, false);
    let is_cut = context.format == Format::Text
        && open.iter().any(|joint| !shown.contains(&on_hosts(collected, joint)));
    match !open.is_empty() && (is_wide || is_cut) {
        true => "Each host's ratio in every row: --json, or the charts of --html for few hosts.".to_owned(),
        false => String::new(),
    }
}

/// Rates and costs; of resources, changes and disagreements.
fn is_shown(joint: &Joint) -> bool {
    joint.verdict.detector.is_rate_or_cost() || joint.verdict.class.is_change() || joint.agreement.is_broken()
}

fn header(fleet: &Fleet, collected: &Collected) -> String {
    let (done, all) = (collected.tasks_done, fleet.spec.tasks.len());
    let open = if done < all { "; more will change what follows" } else { "" };
    format!(
        "{}: {done} of {} done, {}, relative to {}{open}",
        shown(&fleet.folder),
        counted(all, "task"),
        counted(collected.hosts.len(), "host"),
        collected.base
    )
}

/// What the arms ran.
fn arms(collected: &Collected) -> Listing {
    let [build, hash, config] = FACTS_OF_ARMS;
    let columns = [Column::text("arm"), Column::text(build), Column::text(hash), Column::elastic(config)];
    let mut listing = Listing::new(columns.into());
    for arm in &collected.arms {
        listing.row(vec![
            arm.name.as_str().into(),
            arm.build.as_str().into(),
            Cell::with_exact(short_hash(&arm.hash), &arm.hash),
            arm.config.as_str().into(),
        ]);
    }
    listing
}

fn hosts(collected: &Collected) -> Listing {
    let mut listing = Listing::new(vec![
        Column::text("host"),
        Column::number("tasks"),
        Column::text("base against itself"),
        Column::text("kernel"),
        Column::elastic("CPU"),
    ]);
    for (host, judged) in collected.hosts.iter().zip(&collected.judged.each) {
        let check = check(host, judged);
        let tint = host.is_left_out.then_some(Tint::Red);
        let fact = |key: &str| host.facts.get(key).cloned().unwrap_or_default();
        listing.row(vec![
            host.name.as_str().into(),
            host.tasks.to_string().into(),
            Cell::from(check).tinted(tint),
            fact("kernel").into(),
            fact("cpu_model").into(),
        ]);
    }
    listing
}

/// `none of 64 verdicts false`.
fn check(host: &HostResult, judged: &OnHost) -> String {
    let left_out = if host.is_left_out { ": LEFT OUT" } else { "" };
    match judged.checked {
        0 => "no verdict yet".to_owned(),
        checked => format!("{} verdicts false{left_out}", part_of(judged.alarms, checked)),
    }
}

/// What the runs' own reports warn of, a sentence for each kind, and rows of too few hosts.
fn warnings(fleet: &Fleet, collected: &Collected, rows: &[&Joint]) -> Vec<String> {
    let mut warnings = Vec::new();
    let few = rows.iter().filter(|joint| joint.hosts.len() < HOSTS_MIN).count();
    if few > 0 {
        warnings.push(format!(
            "{few} of {} are from fewer than {HOSTS_MIN} hosts{}, too few for a verdict over hosts and for an interval; \
             `{ON_HOSTS}` has each host's own verdict",
            counted(rows.len(), "row"),
            if collected.tasks_done < fleet.spec.tasks.len() { " so far" } else { "" }
        ));
    }
    warnings.extend(on_each(rows));
    for (host, judged) in
        collected.hosts.iter().zip(&collected.judged.each).filter(|(host, _)| host.is_left_out)
    {
        warnings.push(format!(
            "{} is left out: base differs from itself there in {} of {}, more than errors explain",
            host.name,
            judged.alarms,
            counted(judged.checked, "verdict")
        ));
    }
    let good = collected.hosts.iter().zip(&collected.judged.each).filter(|(host, _)| !host.is_left_out);
    warnings.extend(good.filter_map(|(host, judged)| odd_control(host, judged)));
    warnings.extend(furthest_host(collected, rows));
    warnings.extend(doubts(fleet, collected));
    warnings
}

/// Rows that every host decides for itself and all together do not.
fn on_each(rows: &[&Joint]) -> Option<String> {
    let found: Vec<&Joint> = rows
        .iter()
        .copied()
        .filter(|joint| joint.hosts.len() >= HOSTS_MIN && joint.on_each().is_some())
        .collect();
    let hosts = found.iter().map(|joint| joint.hosts.len()).max()?;
    let (rows, show, words) = match found.as_slice() {
        [one] => ("1 row".to_owned(), "is", word(one)),
        all => (counted(all.len(), "row"), "are", word(all[0])),
    };
    Some(format!(
        "{rows} {show} decided on each host by its own blocks (`{words}`) and not over hosts: how much {hosts} hosts differ is \
         hardly known, so they say little of others; more hosts would tell"
    ))
}

/// The host that most of the rows differ by, if one stands out.
fn furthest_host(collected: &Collected, rows: &[&Joint]) -> Option<String> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let differ = rows.iter().filter(|joint| joint.agreement.is_broken() && joint.hosts.len() >= HOSTS_MIN);
    let furthest: Vec<usize> = differ.filter_map(|joint| furthest(joint)).collect();
    furthest.iter().for_each(|host| *counts.entry(*host).or_default() += 1);
    let (host, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let name = &collected.hosts.get(host)?.name;
    (count > 1 && 2 * count > furthest.len()).then(|| {
        format!(
            "{name} is furthest from the other hosts in {count} of {} that differ",
            counted(furthest.len(), "row")
        )
    })
}

/// The host whose ratio is furthest from the median of all.
fn furthest(joint: &Joint) -> Option<usize> {
    let logs: Vec<f64> = joint.hosts.iter().map(|(_, own)| own.ratio.ln()).collect();
    let median = median(&logs)?;
    let distance = |own: &Verdict| (own.ratio.ln() - median).abs();
    joint.hosts.iter().max_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b))).map(|(host, _)| *host)
}

/// What the runs' reports doubt, a sentence for each kind.
fn doubts(fleet: &Fleet, collected: &Collected) -> Vec<String> {
    let mut warnings = Vec::new();
    let of_tasks = |host: &HostResult, count: usize| match host.tasks {
        1 => host.name.clone(),
        tasks => format!("{} in {count} of {tasks} tasks", host.name),
    };
    let short = collected.hosts.iter().filter(|host| !host.doubts.short.is_empty());
    let short: Vec<String> = short.map(|host| of_tasks(host, host.doubts.short.len())).collect();
    let all_short = collected.hosts.iter().flat_map(|host| &host.doubts.short);
    if let Some(fewest) = all_short.map(|(_, blocks)| blocks).min() {
        warnings.push(format!(
            "tasks ended before the third block, the first for verdicts (the shortest with {}): {}; a larger budget gives \
             them, or `rqps resume RUN --more 30m` on that host (`rqps fleet status --json` names runs)",
            counted(*fewest, "block"),
            first_of(&short)
        ));
    }
    let disturbed = collected.hosts.iter().filter(|host| !host.doubts.disturbed.is_empty());
    let disturbed: Vec<String> = disturbed
        .map(|host| {
            let each = host.doubts.disturbed.iter();
            let (windows, all) =
                each.fold((0, 0), |(windows, all), (_, disturbed, of)| (windows + disturbed, all + of));
            format!("{} ({windows} of {all} windows there)", of_tasks(host, host.doubts.disturbed.len()))
        })
        .collect();
    if !disturbed.is_empty() {
        warnings.push(format!("DISTURBED by other programs or guests: {}", first_of(&disturbed)));
    }
    let noisy: Vec<&HostResult> =
        collected.hosts.iter().filter(|host| !host.doubts.noisy.is_empty()).collect();
    if let Some((first, (task, remarks))) =
        noisy.first().and_then(|host| Some((host, host.doubts.noisy.first()?)))
    {
        let names: Vec<String> = noisy.iter().map(|host| of_tasks(host, host.doubts.noisy.len())).collect();
        let place = shown(&fleet.folder.join("tasks").join(task));
        warnings.push(format!(
            "noise of the host itself: {}. Of {}: {} (task {task}: `rqps --results {place} show last --section blocks`)",
            first_of(&names),
            first.name,
            rqps_report::host_remarks(remarks, false).join(". ")
        ));
    }
    let doubted: Vec<(&String, &String)> = collected
        .hosts
        .iter()
        .filter_map(|host| Some((&host.name, host.doubts.certificate.as_ref()?)))
        .collect();
    match doubted.as_slice() {
        [] => {}
        [(name, doubt)] => warnings.push(format!("{name}: {doubt}")),
        [(name, doubt), others @ ..] => {
            let others: Vec<String> = others.iter().map(|(name, _)| (*name).clone()).collect();
            warnings.push(format!("{name}: {doubt}. In doubt, too: {}", first_of(&others)));
        }
    }
    warnings
}

/// The first of these, and how many more there are.
fn first_of(texts: &[String]) -> String {
    let shown = texts.iter().take(RATIOS_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match texts.len().saturating_sub(RATIOS_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The inconclusive verdict on a host's control that is furthest from base, if its interval keeps a distance.
fn odd_control(host: &HostResult, judged: &OnHost) -> Option<String> {
    let verdicts = judged.judgement.verdicts.iter();
    let controls: Vec<&Verdict> =
        verdicts.filter(|one| one.is_control && one.detector != Detector::Stalls).collect();
    let is_odd =
        |one: &&&Verdict| one.class == Class::Inconclusive && one.low.max(1.0 / one.high) >= CLEAR_FACTOR;
    let size = |one: &Verdict| one.ratio.ln().abs();
    let all: Vec<&Verdict> = controls.iter().filter(is_odd).copied().collect();
    let odd = *all.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let others = match all.len() {
        1 => String::new(),
        count => format!(", and far from it in {count} of {} verdicts", controls.len()),
    };
    let [ratio, low, high] = Digits::of_ratio((odd.low, odd.high), 2).all(odd.ratio);
    Some(format!(
        "{}: base measured again is at {ratio} ({low} to {high}) times its own {} in {}{others}: too much for noise, and in too \
         few blocks ({}) to leave the host out",
        host.name,
        odd.metric.measure().label,
        odd.test,
        odd.blocks
    ))
}

/// The same as one HTML file.
fn page(fleet: &Fleet, collected: &Collected, rows: &[&Joint], warnings: Vec<String>) -> String {
    let facts = |(host, judged): (&HostResult, &OnHost)| {
        let fact = |key: &str| host.facts.get(key).cloned().unwrap_or_default();
        let facts = vec![host.tasks.to_string(), check(host, judged), fact("kernel"), fact("cpu_model")];
        (host.name.clone(), facts)
    };
    let arm = |arm: &MeasuredArm| {
        let facts = vec![arm.build.clone(), short_hash(&arm.hash).to_owned(), arm.config.clone()];
        (arm.name.clone(), facts)
    };
    let row = |joint| JointRow { joint, verdict: word(joint), on_hosts: on_hosts(collected, joint) };
    rqps_report::joint_page(&JointPage {
        title: format!("{} on {}", fleet.spec.plan, counted(collected.hosts.len(), "host")),
        about: header(fleet, collected),
        warnings,
        program_version: env!("CARGO_PKG_VERSION"),
        arms: collected.arms.iter().map(arm).collect(),
        facts_of_arms: FACTS_OF_ARMS.to_vec(),
        hosts: collected.hosts.iter().zip(&collected.judged.each).map(facts).collect(),
        facts: vec!["tasks", "base against itself", "kernel", "CPU"],
        rows: rows.iter().copied().map(row).collect(),
        levels: joint_levels(|| rows.iter().copied()),
    })
}

fn table(collected: &Collected, rows: &[&Joint]) -> Listing {
    let mut listing = Listing::new(vec![
        Column::text("test"),
        Column::text("arm"),
        Column::text("of"),
        Column::text("verdict"),
        Column::number("ratio"),
        Column::number("from").optional(2),
        Column::number("to").optional(3),
        Column::number("hosts").optional(1),
        Column::elastic(ON_HOSTS),
    ]);
    for joint in rows {
        let verdict = &joint.verdict;
        let arm = arm_name(collected, joint);
        let decimals = if verdict.low.is_finite() { 4 } else { 2 };
        let figures = Digits::of_ratio((verdict.low, verdict.high), decimals).all(verdict.ratio);
        let mut values = [verdict.ratio, verdict.low, verdict.high].into_iter();
        let [ratio, low, high] = figures.map(|text| match values.next().filter(|value| value.is_finite()) {
            Some(value) if joint.has_average() => Cell::with_exact(text, value),
            _ => Cell::from(""),
        });
        listing.row(vec![
            verdict.test.as_str().into(),
            arm.into(),
            verdict.metric.to_string().into(),
            Cell::from(word(joint)).tinted(tint(joint)),
            ratio,
            low,
            high,
            joint.hosts.len().to_string().into(),
            on_hosts(collected, joint).into(),
        ]);
    }
    listing
}

fn arm_name<'c>(collected: &'c Collected, joint: &Joint) -> &'c str {
    collected.arms.get(joint.verdict.arm).map(|arm| arm.name.as_str()).unwrap_or_default()
}

fn word(joint: &Joint) -> &'static str {
    match joint.on_each() {
        Some(class) if class.is_regression() => WORSE_ON_EACH,
        Some(_) => BETTER_ON_EACH,
        None => key(joint),
    }
}

/// The word for programs.
fn key(joint: &Joint) -> &'static str {
    if joint.agreement.is_broken() { DIFFERS } else { joint.verdict.class.key() }
}

fn tint(joint: &Joint) -> Option<Tint> {
    match (joint.agreement.is_broken(), joint.on_each().unwrap_or(joint.verdict.class)) {
        (true, _) => Some(Tint::Yellow),
        (false, class) if class.is_regression() => Some(Tint::Red),
        (false, class) if class.is_change() => Some(Tint::Green),
        _ => None,
    }
}

/// `regression on a, b; same on c`, with the ratios if they disagree or if nothing follows from all of them, and what
/// tells apart hosts that disagree.
fn on_hosts(collected: &Collected, joint: &Joint) -> String {
    let name = |host: usize| collected.hosts.get(host).map(|host| host.name.as_str()).unwrap_or_default();
    let disagree = joint.agreement.is_broken();
    let is_open = joint.verdict.class == Class::Inconclusive && joint.hosts.len() <= RATIOS_MAX;
    let mut classes: Vec<(&str, Vec<String>)> = Vec::new();
    for (host, own) in &joint.hosts {
        let text = match disagree || is_open {
            true => format!("{} ({})", name(*host), percent(own)),
            false => name(*host).to_owned(),
        };
        let class = if own.is_likely() { LIKELY } else { own.class.key() };
        match classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, hosts)) => hosts.push(text),
            None => classes.push((class, vec![text])),
        }
    }
    let classes = classes.iter().map(|(class, hosts)| format!("{class} on {}", hosts.join(", ")));
    let mut text = classes.collect::<Vec<_>>().join("; ");
    if joint.may_differ() {
        text.push_str(". They may differ: these blocks are too few to tell");
    }
    if disagree {
        let splits = collected.splits(joint);
        let split = |split: &Split| {
            let groups = split.groups.iter().map(|(value, hosts)| {
                let hosts: Vec<&str> = hosts.iter().map(|host| name(*host)).collect();
                format!("{value} on {}", hosts.join(", "))
            });
            format!("{}: {}", split.fact, groups.collect::<Vec<_>>().join("; "))
        };
        let named: Vec<String> = splits.iter().take(FACTS_MAX).map(split).collect();
        text.push_str(&match named.is_empty() {
            true => ". No fact tells these hosts apart".to_owned(),
            false => format!(". By {}", named.join(". By ")),
        });
    }
    text
}

/// `-6.1 %`.
fn percent(verdict: &Verdict) -> String {
    // Rounded first: there is no -0.0 %.
    let tenths = (1000.0 * (verdict.ratio - 1.0)).round() + 0.0;
    format!("{:+.1} %", tenths / 10.0)
}

fn as_json(fleet: &Fleet, collected: &Collected, warnings: &[String]) -> Value {
    let hosts: Vec<Value> = collected
        .hosts
        .iter()
        .zip(&collected.judged.each)
        .map(|(host, judged)| {
            json!({
                "name": host.name, "tasks": host.tasks, "facts": host.facts, "left_out": host.is_left_out,
                "control_verdicts": judged.checked, "false_alarms": judged.alarms,
                "tasks_without_verdicts": host.doubts.short.len(), "tasks_disturbed": host.doubts.disturbed.len(),
                "tasks_on_noisy_machine": host.doubts.noisy.len(), "certificate_doubt": host.doubts.certificate,
            })
        })
        .collect();
    let finite = |value: f64| value.is_finite().then_some(value);
    let own = |host: usize, verdict: &Verdict| {
        json!({
            "host": collected.hosts.get(host).map(|host| &host.name), "class": verdict.class.key(),
            "likely": verdict.is_likely(),
            "ratio": finite(verdict.ratio), "low": finite(verdict.low), "high": finite(verdict.high),
            "confidence": finite(verdict.confidence), "blocks": verdict.blocks,
        })
    };
    let row = |joint: &Joint| {
        let verdict = &joint.verdict;
        let average = |value: f64| finite(value).filter(|_| joint.has_average());
        let splits: Vec<Value> = match joint.agreement.is_broken() {
            true => collected
                .splits(joint)
                .iter()
                .map(|split| json!({ "fact": split.fact, "values": split.groups.iter().map(|one| &one.0).collect::<Vec<_>>() }))
                .collect(),
            false => Vec::new(),
        };
        json!({
            "test": verdict.test, "arm": collected.arms.get(verdict.arm).map(|arm| &arm.name), "metric": verdict.metric.key(),
            "detector": verdict.detector.key(), "verdict": key(joint),
            "on_each_host": joint.on_each().map(Class::key),
            "ratio": average(verdict.ratio), "low": average(verdict.low), "high": average(verdict.high),
            "confidence": average(verdict.confidence), "p_hosts_alike": joint.agreement.p, "split_by": splits,
            "hosts": joint.hosts.iter().map(|(host, verdict)| own(*host, verdict)).collect::<Vec<_>>(),
        })
    };
    json!({
        "fleet": fleet.folder, "tasks": fleet.spec.tasks.len(), "tasks_done": collected.tasks_done,
        "base": collected.base, "arms": collected.arms, "hosts": hosts, "warnings": warnings,
        "verdicts": collected.judged.joint.iter().map(row).collect::<Vec<_>>(),
    })
}
