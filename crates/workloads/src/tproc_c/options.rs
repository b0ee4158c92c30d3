//! The options of `[tproc-c]`: how many warehouses and virtual users, how long, and how the transactions are sent.

use std::ops::RangeInclusive;
use std::time::Duration;

use rqps_plan::reader::{Found, Section};
use rqps_plan::{Problems, Protocol, limits, shared};
use toml::Table;
use toml::de::DeValue;

pub(super) const TPROC_C_KEYS: [&str; 8] = [
    "warehouses",
    "virtual_users",
    "rampup",
    "duration",
    "stored_procedures",
    "all_warehouses",
    "keying_and_think_time",
    "partitions",
];
/// A warehouse takes about 100 MB.
const WAREHOUSES: RangeInclusive<u64> = 1..=100_000;
const PARTITIONS: RangeInclusive<u64> = 1..=1_000;
const WAREHOUSES_DEFAULT: u32 = 10;
const RAMPUP_DEFAULT: Duration = Duration::from_secs(120);
const DURATION_DEFAULT: Duration = Duration::from_secs(300);
/// From so many warehouses on, `order_line` is partitioned, each partition with a hundred warehouses.
const PARTITIONED_FROM: u32 = 200;
const WAREHOUSES_PER_PARTITION: u32 = 100;

/// The options of TPROC-C.
#[derive(Debug, Clone, PartialEq)]
pub struct TprocCOptions {
    /// Each number of warehouses is measured with each number of virtual users.
    pub warehouses: Vec<u32>,
    pub virtual_users: Vec<u32>,
    /// Unmeasured time before the window.
    pub rampup: Duration,
    /// Length of the window.
    pub duration: Duration,
    /// Whether a transaction is one call of a stored procedure; else the client sends each of its statements.
    pub stored_procedures: bool,
    /// Whether a virtual user draws a warehouse for each transaction, from its share of all; else it stays with one.
    pub all_warehouses: bool,
    /// Whether virtual users wait before and after each transaction, as TPC-C has it.
    pub keying_and_think_time: bool,
    /// Partitions of `order_line` that the plan gives.
    pub partitions: Option<u32>,
}

impl TprocCOptions {
    /// Partitions of `order_line`; 1: it is not partitioned.
    pub fn partitions_of(&self, warehouses: u32) -> u32 {
        let usual = match warehouses {
            PARTITIONED_FROM.. => (warehouses + WAREHOUSES_PER_PARTITION / 2) / WAREHOUSES_PER_PARTITION,
            _ => 1,
        };
        self.partitions.unwrap_or(usual)
    }

    /// As a table of a plan. Blocks have no times of their own.
    pub(super) fn to_table(&self, protocol: Protocol) -> Table {
        let numbers = |numbers: &[u32]| -> toml::Value {
            let values: Vec<toml::Value> = numbers.iter().map(|number| i64::from(*number).into()).collect();
            match values.as_slice() {
                [only] => only.clone(),
                _ => values.into(),
            }
        };
        let time = |time: Duration| toml::Value::from(humantime::format_duration(time).to_string());
        let times = match protocol {
            Protocol::Sequence => vec![("rampup", time(self.rampup)), ("duration", time(self.duration))],
            Protocol::Isolated => Vec::new(),
        };
        let partitions = self.partitions.map(|count| ("partitions", i64::from(count).into()));
        let always = [
            ("warehouses", numbers(&self.warehouses)),
            ("virtual_users", numbers(&self.virtual_users)),
            ("stored_procedures", self.stored_procedures.into()),
            ("all_warehouses", self.all_warehouses.into()),
            ("keying_and_think_time", self.keying_and_think_time.into()),
        ];
        let all = always.into_iter().chain(times).chain(partitions);
        all.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Reads `[tproc-c]`; returns the defaults if there is none.
pub(super) fn read(
    section: Option<&Section<'_>>,
    problems: &Problems<'_>,
    protocol: Protocol,
) -> TprocCOptions {
    let defaults = TprocCOptions {
        warehouses: vec![WAREHOUSES_DEFAULT],
        virtual_users: vec![1],
        rampup: RAMPUP_DEFAULT,
        duration: DURATION_DEFAULT,
        stored_procedures: true,
        all_warehouses: true,
        keying_and_think_time: false,
        partitions: None,
    };
    let Some(section) = section else {
        return defaults;
    };
    section.check_keys(&TPROC_C_KEYS, |key| match key {
        "driver" | "transport" | "steps" | "settle_seconds_max" => Some("[workload]".to_owned()),
        "clients" => Some("[tproc-c], as `virtual_users`".to_owned()),
        _ => None,
    });
    let mut warehouses = numbers(section, problems, "warehouses", WAREHOUSES);
    if let ([_, second, ..], Protocol::Isolated) = (warehouses.as_slice(), protocol) {
        let remedy = "Write one number, or protocol = \"sequence\".";
        let what = "blocks measure one number of warehouses: all tests of a block start from the same data";
        problems.error(&second.at, section.place_of("warehouses"), what, remedy);
        warehouses.truncate(1);
    }
    let values = |found: Vec<Found<u64>>, default: Vec<u32>| -> Vec<u32> {
        if found.is_empty() { default } else { found.into_iter().map(|found| found.value as u32).collect() }
    };
    let users = numbers(section, problems, "virtual_users", limits::CLIENTS);
    let flag = |key: &str, default: bool| section.boolean(key).map_or(default, |found| found.value);
    if protocol == Protocol::Isolated && flag("keying_and_think_time", false) {
        let remedy = "Remove it, or write protocol = \"sequence\".";
        let what = "blocks do their work as fast as they can";
        let key = "keying_and_think_time";
        problems.error(&section.key_at(key), section.place_of(key), what, remedy);
    }
    let time = |key: &str, default: Duration| read_time(section, problems, key, protocol).unwrap_or(default);
    TprocCOptions {
        warehouses: values(warehouses, defaults.warehouses),
        virtual_users: values(users, defaults.virtual_users),
        rampup: time("rampup", defaults.rampup),
        duration: time("duration", defaults.duration),
        stored_procedures: flag("stored_procedures", defaults.stored_procedures),
        all_warehouses: flag("all_warehouses", defaults.all_warehouses),
        keying_and_think_time: flag("keying_and_think_time", defaults.keying_and_think_time),
        partitions: section.integer("partitions", PARTITIONS).map(|found| found.value as u32),
    }
}

/// A number or a list of several, each once.
fn numbers(
    section: &Section<'_>,
    problems: &Problems<'_>,
    key: &str,
    range: RangeInclusive<u64>,
) -> Vec<Found<u64>> {
    let mut each: Vec<Found<u64>> = Vec::new();
    for found in section.integers(key, range) {
        if each.iter().any(|earlier| earlier.value == found.value) {
            let what = format!("{} is listed twice", found.value);
            problems.error(&found.at, section.place_of(key), what, shared::KEEP_ONE);
            continue;
        }
        each.push(found);
    }
    each
}

/// A duration such as `5m`.
fn read_time(
    section: &Section<'_>,
    problems: &Problems<'_>,
    key: &str,
    protocol: Protocol,
) -> Option<Duration> {
    let (key_at, node) = section.node(key)?;
    if protocol == Protocol::Isolated {
        let remedy = "Remove it; `window_seconds` in [isolated] sets the length of windows.";
        let what = "blocks find their warm-up and do fixed work";
        problems.error(&key_at, section.place_of(key), what, remedy);
        return None;
    }
    let example = match node.get_ref() {
        DeValue::Integer(number) => format!("{}s", number.as_str()),
        DeValue::String(text) if text.parse::<u64>().is_ok() => format!("{text}s"),
        _ => "90s".to_owned(),
    };
    let Found { value, at } =
        section.text_expecting(key, &format!("a time such as \"{example}\", in quotes"))?;
    let seconds_max =
        if key == "rampup" { *limits::WARMUP_SECONDS.end() as u64 } else { *limits::WINDOW_SECONDS.end() };
    let parsed = match value {
        "0" if key == "rampup" => Ok(Duration::ZERO),
        _ => humantime::parse_duration(value),
    };
    match parsed {
        Ok(time) if time.subsec_nanos() > 0 => {
            let what = format!("\"{value}\" is no whole number of seconds");
            problems.error(
                &at,
                section.place_of(key),
                what,
                "Write whole seconds, for example \"1s\" or \"90s\".",
            );
        }
        Ok(time) if (time.is_zero() && key == "rampup") || (1..=seconds_max).contains(&time.as_secs()) => {
            return Some(Duration::from_secs(time.as_secs()));
        }
        Ok(_) => {
            let what = format!("\"{value}\" is out of range");
            let longest = match (seconds_max / 86_400, seconds_max / 3_600) {
                (0, hours) => format!("{hours}h"),
                (days, _) => format!("{days}d"),
            };
            let shortest = if key == "rampup" { "0s" } else { "1s" };
            let remedy = format!("Write a time from \"{shortest}\" to \"{longest}\".");
            problems.error(&at, section.place_of(key), what, remedy);
        }
        Err(_) => {
            let what = format!("\"{value}\" is no time");
            let remedy = format!("Write for example \"{example}\" or \"5m\".");
            problems.error(&at, section.place_of(key), what, remedy);
        }
    }
    None
}
