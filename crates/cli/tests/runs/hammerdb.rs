//! The real HammerDB as the driver of a run: a warehouse on Postgres and one on MySQL, compared by their new orders.

use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_store::Status;

use crate::bench::{Bench, Running, exact_version};

/// HammerDB's directory; it is installed where it is missing. `None` where its archives are not beside the repository.
fn hammerdb() -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !repository.join("../shared/tools").is_dir() {
        println!("NOT RUN: HammerDB as a driver: ../shared/tools with its archives is not there");
        return None;
    }
    let tool = repository.join("tools/hammerdb-install");
    let output = Command::new(tool).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "this test needs HammerDB, and it could not be installed: {said}");
    Some(String::from_utf8_lossy(&output.stdout).trim().into())
}

#[test]
fn hammerdb_builds_and_runs_on_postgres_and_mysql_and_its_figures_are_those_of_the_tables() {
    let Some(home) = hammerdb() else { return };
    let bench = Bench::new();
    let plan = bench.plan_text(&format!(
        "base = \"a\"\n[workload]\nbenchmark = \"tproc-c\"\ndriver = \"hammerdb\"\nsteps = [\"w1-vu2\"]\n\
         [tproc-c]\nwarehouses = 1\nvirtual_users = 2\nrampup = \"6s\"\nduration = \"6s\"\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{}\"\nconfig = \"./small.conf\"\n\
         [[arm]]\nname = \"b\"\nbuild = \"mysql-8.0.31\"\nconfig = \"./small.cnf\"\n",
        exact_version("18")
    ));
    let elsewhere = bench.path().display().to_string();
    let run_by = |home: &str| {
        let mut command = bench.rqps(&["run", plan.to_str().unwrap()]);
        command.env("RQPS_HAMMERDB", home);
        Running::of(command).end()
    };
    let refused = run_by(&elsewhere).expect(2);
    assert!(
        refused.stderr.contains("hammerdbcli") && refused.stderr.contains(&elsewhere),
        "{}",
        refused.stderr
    );

    run_by(&home.display().to_string()).expect(0);
    let run = bench.run();
    assert_eq!(run.status.status, Status::Complete);
    let driver = run.meta.method.iter().find(|setting| setting.name == "driver").expect("it is recorded");
    assert_eq!(driver.value, "HammerDB 5.0");
    assert_eq!(run.windows.len(), 2);
    for window in &run.windows {
        let arm = &window.action.arm;
        assert!(window.valid(), "{arm}: {:?}", window.action.note);
        let (result, metric) = (&window.result, |name: &str| window.metrics[name]);
        // Its own figure, and what its virtual users counted in the same window.
        let new_orders = metric("transactions_new_order");
        assert!((result.operations - metric("hammerdb_nopm") / 10.0).abs() < 1.0, "{arm}: {result:?}");
        let ratio = result.operations / new_orders;
        assert!((0.6..1.6).contains(&ratio), "{arm}: {} new orders, {new_orders} counted", result.operations);
        let kinds = ["new_order", "payment", "delivery", "stock_level", "order_status"];
        let sum: f64 = kinds.iter().map(|kind| metric(&format!("transactions_{kind}"))).sum();
        assert_eq!(sum, result.events.unwrap() as f64, "{arm}");
        assert!(metric("client_cpu_us") > 0.0 && metric("server_cpu_us") > 0.0, "{arm}");
        let histograms = run.histograms(window.action.seq).unwrap();
        let payments = histograms.iter().find(|histogram| histogram.statement == "payment").unwrap();
        assert_eq!(payments.count as f64, metric("transactions_payment"), "{arm}");
        let series = run.series(window.action.seq).unwrap();
        let counter = series.iter().find(|series| series.name == "queries").unwrap();
        assert!(counter.values.iter().sum::<f64>() > 0.0, "{arm}: {counter:?}");
    }
    let shown = bench.call(&["show", "last", "--section", "transactions"]).expect(0).stdout;
    assert!(
        shown.contains("NOPM") && shown.contains("HammerDB's own TPM") && shown.contains("w1-vu2"),
        "{shown}"
    );
}
