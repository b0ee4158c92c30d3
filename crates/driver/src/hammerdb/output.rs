//! What HammerDB prints, line by line. It exits with 0 whatever happened: only its lines tell.

/// A line, as far as it means something.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    /// The first line: HammerDB's version, without `v`.
    Version(String),
    /// A virtual user's session on the server; printed by our addition to the script.
    Session {
        user: u32,
        session: u32,
    },
    /// The monitor waits for the ramp-up to end.
    RampUp,
    /// The monitor has read the first counts.
    Window,
    /// The monitor is about to read the last counts.
    WindowEnd,
    /// New orders and transactions per minute.
    Result {
        nopm: f64,
        tpm: f64,
    },
    /// The transaction counter: transactions per minute since its last line.
    Counter {
        tpm: f64,
    },
    /// What the build is doing now.
    Loading(&'static str),
    /// The build is complete.
    Schema,
    /// All virtual users have ended, well or not.
    AllEnded,
    /// A transaction failed and the virtual user goes on.
    TransactionFailed {
        words: String,
    },
    /// A virtual user, the counter or the program failed.
    Failed {
        words: String,
    },
    Other,
}

/// Beginnings of a build's lines, and what it then does.
const LOADING: [(&str, &str); 9] = [
    ("CREATING TPCC TABLES", "tables"),
    ("Loading Item", "items"),
    ("Loading Stock", "stock"),
    ("Loading District", "districts"),
    ("Loading Customer", "customers"),
    ("Loading Orders", "orders"),
    ("CREATING TPCC INDEXES", INDEXES),
    ("CREATING TPCC STORED PROCEDURES", PROCEDURES),
    ("GATHERING SCHEMA STATISTICS", "statistics"),
];
pub(super) const INDEXES: &str = "indexes";
pub(super) const PROCEDURES: &str = "procedures";

impl Line {
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(version) = text.strip_prefix("HammerDB CLI v") {
            return Self::Version(version.to_owned());
        }
        if text == "ALL VIRTUAL USERS COMPLETE" {
            return Self::AllEnded;
        }
        if let Some((user, words)) = text.strip_prefix("Vuser ").and_then(|rest| rest.split_once(':'))
            && let Ok(user) = user.parse()
        {
            return of_user(user, words.trim());
        }
        if ["Error in Virtual User ", "Error:", "Transaction Counter Error"]
            .iter()
            .any(|begin| text.starts_with(begin))
        {
            return Self::Failed { words: text.to_owned() };
        }
        match text.strip_suffix(" tpm").and_then(|rest| rest.split_once(' ')) {
            Some((tpm, _system)) => tpm.parse().map_or(Self::Other, |tpm| Self::Counter { tpm }),
            None => Self::Other,
        }
    }
}

fn of_user(user: u32, words: &str) -> Line {
    if let Some(result) = words.strip_prefix("TEST RESULT : System achieved ") {
        return of_result(result);
    }
    if let Some(session) = words.strip_prefix("Session ").and_then(|id| id.parse().ok()) {
        return Line::Session { user, session };
    }
    if words.starts_with("Beginning rampup") {
        return Line::RampUp;
    }
    if words.starts_with("Timing test period") {
        return Line::Window;
    }
    if words.starts_with("Test complete, Taking end Transaction Count") {
        return Line::WindowEnd;
    }
    if words.ends_with(" SCHEMA COMPLETE") {
        return Line::Schema;
    }
    if let Some((_, doing)) = LOADING.iter().find(|(begin, _)| words.starts_with(begin)) {
        return Line::Loading(doing);
    }
    if words.ends_with("Procedure Error set RAISEERROR for Details") || words.contains("/db server: ") {
        return Line::TransactionFailed { words: words.to_owned() };
    }
    let fails = words == "FINISHED FAILED"
        || words.starts_with("error, ")
        || words.starts_with("Monitor failed to notify")
        || words.ends_with("specify a new or empty database name")
        || words.ends_with("could not be established");
    if fails { Line::Failed { words: format!("virtual user {user}: {words}") } } else { Line::Other }
}

/// `8295 NOPM from 19049 PostgreSQL TPM`, or the two numbers in the other order: `19049 PostgreSQL TPM at 8295 NOPM`.
fn of_result(words: &str) -> Line {
    let parts: Vec<&str> = words.split(' ').collect();
    let numbers = match parts.as_slice() {
        [nopm, "NOPM", "from", tpm, _, "TPM"] => (nopm.parse(), tpm.parse()),
        [tpm, _, "TPM", "at", nopm, "NOPM"] => (nopm.parse(), tpm.parse()),
        _ => return Line::Failed { words: format!("an unknown result: {words}") },
    };
    match numbers {
        (Ok(nopm), Ok(tpm)) => Line::Result { nopm, tpm },
        _ => Line::Failed { words: format!("an unknown result: {words}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<Line> {
        text.lines().map(Line::parse).filter(|line| *line != Line::Other).collect()
    }

    #[test]
    fn the_output_of_a_run_tells_its_phases_and_figures() {
        let output = "\
HammerDB CLI v5.0
Type \"help\" for a list of commands
Changed tpcc:pg_pass from tpcc to 1234 for PostgreSQL
Vuser 1 created MONITOR - WAIT IDLE
Vuser 1:RUNNING
0 PostgreSQL tpm
Vuser 1:DBVersion:18.6
Vuser 1:Beginning rampup time of 0.1 minutes
Vuser 3:Session 4711
Vuser 3:Processing 10000000 transactions with output suppressed...
Vuser 1:Rampup complete, Taking start Transaction Count.
Vuser 1:Timing test period of 0.2 in minutes
25260 PostgreSQL tpm
Vuser 1:1  ...,
Vuser 1:Test complete, Taking end Transaction Count.
Vuser 1:2 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 8293.333333333334 NOPM from 19049 PostgreSQL TPM
Vuser 3:FINISHED SUCCESS
ALL VIRTUAL USERS COMPLETE
";
        let expected = [
            Line::Version("5.0".to_owned()),
            Line::Counter { tpm: 0.0 },
            Line::RampUp,
            Line::Session { user: 3, session: 4711 },
            Line::Window,
            Line::Counter { tpm: 25260.0 },
            Line::WindowEnd,
            Line::Result { nopm: 8293.333333333334, tpm: 19049.0 },
            Line::AllEnded,
        ];
        assert_eq!(parsed(output), expected);
        let other_order = "Vuser 1:TEST RESULT : System achieved 19049 MySQL TPM at 8295 NOPM";
        assert_eq!(Line::parse(other_order), Line::Result { nopm: 8295.0, tpm: 19049.0 });
    }

    #[test]
    fn a_build_tells_what_it_does_and_when_it_is_complete() {
        let output = "\
Vuser 1:CREATING BENCH SCHEMA
Vuser 1:CREATING TPCC TABLES
Vuser 1:Loading Items - 10000
Vuser 2:Loading Stock Wid=1
Vuser 2:Customer Done
Vuser 1:CREATING TPCC INDEXES
Vuser 1:BENCH SCHEMA COMPLETE
";
        let expected = [
            Line::Loading("tables"),
            Line::Loading("items"),
            Line::Loading("stock"),
            Line::Loading(INDEXES),
            Line::Schema,
        ];
        assert_eq!(parsed(output), expected);
    }

    /// All of these were printed by runs that exited with 0.
    #[test]
    fn failures_are_seen() {
        for text in [
            "Error in Virtual User 1: connection to server on socket \"/tmp/.s.PGSQL.5432\" failed",
            "Vuser 2:FINISHED FAILED",
            "Error:Build virtual users must be less than or equal to number of warehouses",
            "Vuser 1:error, failed to query district table",
            "Vuser 1:Database bench exists but is not empty, specify a new or empty database name",
            "Transaction Counter Error: sql failed server closed the connection unexpectedly",
            "Vuser 1:TEST RESULT : System achieved many NOPM from 2 MySQL TPM",
        ] {
            assert!(matches!(Line::parse(text), Line::Failed { .. }), "{text}");
        }
        for text in [
            "Vuser 4:New Order Procedure Error set RAISEERROR for Details",
            "Vuser 4:mysqlexec/db server: Deadlock found when trying to get lock; try restarting transaction",
        ] {
            assert!(matches!(Line::parse(text), Line::TransactionFailed { .. }), "{text}");
        }
    }
}
