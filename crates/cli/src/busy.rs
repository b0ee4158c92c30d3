//! Says beside an estimate of time that others use the CPUs: it is one of a quiet host.

use std::time::Duration;

/// From this share of all CPUs on.
const BUSY_SHARE: f64 = 0.25;
/// Clocks of the kernel have ticks of 10 ms.
const LOOK: Duration = Duration::from_millis(400);

/// `, longer while others use 1.9 of 2 CPUs, as now`; empty on a quiet host. Call it before anything is started.
pub fn note() -> String {
    rqps_probe::cpus_in_use(LOOK).map_or_else(|_| String::new(), |(used, cpus)| text(used, cpus))
}

fn text(used: f64, cpus: usize) -> String {
    match used >= BUSY_SHARE * cpus as f64 {
        true => format!(", longer while others use {used:.1} of {cpus} CPUs, as now"),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_host_is_told_of_and_a_quiet_one_is_not() {
        assert_eq!(text(1.94, 2), ", longer while others use 1.9 of 2 CPUs, as now");
        assert_eq!(text(0.3, 2), "");
        assert_eq!(text(2.0, 64), "");
    }
}
