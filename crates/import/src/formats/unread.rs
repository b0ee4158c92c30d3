//! Why no format recognises a file: what it is instead, as far as its beginning tells, and what to do.

use crate::formats::rates_csv::{self, HEADER};

const FIRST_LINE_SHOWN: usize = 60;
/// Separators in a line that may be a header of rates.
const CSV_MIN: usize = 2;

/// The reason, after "not understood: ".
pub fn why(head: &[u8]) -> String {
    if head.is_empty() {
        return "it is empty".to_owned();
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return "it is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`".to_owned();
    }
    if head.contains(&0) {
        return "it is not text".to_owned();
    }
    let text = String::from_utf8_lossy(head);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first_at = 1 + text.lines().take_while(|line| line.trim().is_empty()).count();
    let any = |start: &str| text.lines().any(|line| line.starts_with(start));
    if first.starts_with("Transaction Type Index") || first.starts_with("Time (seconds),") {
        return "it has benchbase's single requests or its rates over time: give its summary.json".to_owned();
    }
    if any("dbdirGB") || first.starts_with("i_sec\tt_sec\t") {
        return "it has what a step of the Insert Benchmark printed: give o.sum.t.* or mrg.*".to_owned();
    }
    if first.starts_with("starting vacuum") {
        return "it has only what pgbench prints before its results, which are on its standard output"
            .to_owned();
    }
    if let Some(column) = rates_csv::missing_column(first) {
        return format!("line {first_at} has no column {column}; {HEADER}");
    }
    let shown: String = first.chars().take(FIRST_LINE_SHOWN).collect();
    let is_csv = [',', ';', '\t'].iter().any(|sign| first.matches(*sign).count() >= CSV_MIN);
    let of_csv = if is_csv {
        format!("; if it is a CSV of rates, {HEADER}, in line {first_at}")
    } else {
        String::new()
    };
    format!("its first line is {shown:?}{of_csv}")
}

/// Whether there is no message in it: nothing, or that pgbench begins.
pub fn is_quiet(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.lines()
        .map(str::trim)
        .all(|line| ["", "starting vacuum...end.", "vacuuming...", "end."].contains(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_instead() {
        for (head, expected) in [
            (&b""[..], "it is empty"),
            (b"\xff\xfep\0g\0", "UTF-16"),
            (b"\x7fELF\0\0", "it is not text"),
            (b"Time (seconds),Throughput (requests/second),Average Latency (millisecond)\n", "summary.json"),
            (b"i_sec\tt_sec\ti_ips\n", "o.sum.t.*"),
            (
                b"\narm,test,repeat,tps\n",
                "line 2 has no column rate; the header is arm,test,repeat,rate[,unit]",
            ),
            (b"build,bench,run,qps\n", "if it is a CSV of rates, the header is arm,test,repeat,rate[,unit]"),
            (b"starting vacuum...end.\n", "standard output"),
            (b"\nhello,world\n", "its first line is \"hello,world\""),
        ] {
            assert!(why(head).contains(expected), "{}", why(head));
        }
    }
}
