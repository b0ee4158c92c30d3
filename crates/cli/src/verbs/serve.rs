//! `serve`: a temporary server for as long as a command runs, with tables if requested.

use crate::args::ServeArgs;
use crate::build_progress::get_build;
use crate::context::Context;
use crate::progress::with_spinner;
use crate::server_address::{environment, require_sql};
use crate::{EXIT_FAILED, EXIT_INTERRUPTED, Usage, out};
use anyhow::Context as _;
use rqps_builds::Build;
use rqps_executor::server::{Tables, load};
use rqps_model::{BuildError, BuildSpec, Dbms, did_you_mean};
use rqps_servers::{Server, ServerSpec, remove_data_dir};
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Lines of the server's log shown when it ends unexpectedly.
const LOG_LINES: usize = 10;

pub fn run(context: &Context, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    context.dirs.create_work()?;
    let build: BuildSpec =
        args.build.parse().map_err(|error: BuildError| Usage(not_a_build(context, &args.build, &error)))?;
    require_sql(build.dbms)?;
    let build = get_build(context, &build)?;
    let place = rqps_executor::serve_dir(&context.dirs);
    let spec = ServerSpec {
        config: rqps_servers::load_config(build.dbms, &build.version, &args.config)?,
        build,
        data_dir: place.join("data"),
        log_dir: place.join("logs"),
        clients_max: args.clients,
        tcp: args.tcp,
        env: std::collections::BTreeMap::new(),
        cpus: None,
        instrument: None,
        memory_bytes_max: None,
    };
    context.catch_signals();
    let outcome = serve(context, args, &spec);
    remove_data_dir(&spec.data_dir)?;
    std::fs::remove_dir_all(&place)?;
    outcome
}

/// What is wrong with a build's name, and which of the cached ones may be meant.
fn not_a_build(context: &Context, name: &str, error: &BuildError) -> String {
    let cached = rqps_builds::list_builds(&context.dirs).unwrap_or_default();
    let labels: Vec<String> = cached.iter().map(Build::label).collect();
    let meant = did_you_mean(name, labels.iter().map(String::as_str));
    match meant.filter(|_| matches!(error, BuildError::NotABuild(_))) {
        Some(meant) => format!("\"{name}\" is not a build. {meant}"),
        None => error.to_string(),
    }
}

fn serve(context: &Context, args: &ServeArgs, spec: &ServerSpec) -> anyhow::Result<ExitCode> {
    Server::init_unless(spec, &context.stop)?;
    let mut server = Server::start_unless(spec, &context.stop)?;
    for left in &server.applied().left_out {
        let what = if left.taken.is_some() { "adjusted" } else { "left out" };
        out::message(&format!("{what}: {} = {} ({})", left.option, left.value, left.reason));
    }
    if args.tables > 0 {
        let tables = Tables { tables: args.tables, rows: args.rows, seed: args.seed };
        let endpoint = rqps_executor::server::endpoint(&server);
        let loaded = with_spinner("loading", || {
            load(spec.build.dbms, &endpoint, tables, |_, _| !context.stop.load(Ordering::Relaxed))
        });
        // The log is deleted with the server's data.
        let loaded =
            loaded.with_context(|| format!("the server's log ends:\n{}", server.log_tail(LOG_LINES)))?;
        if let Some(times) = loaded {
            let seconds = times.rows.as_secs_f64() + times.indexes.as_secs_f64();
            let tables = rqps_model::counted(args.tables as usize, "table");
            out::message(&format!("loaded {tables} of {} rows in {seconds:.3} s", args.rows));
        }
    }
    let code = match args.command.split_first() {
        Some((program, rest)) => with_command(context, (spec.build.dbms, &mut server), program, rest)?,
        None => {
            wait_for_signal(context, spec.build.dbms, &server);
            ExitCode::SUCCESS
        }
    };
    // No checkpoint is needed, since its data are deleted.
    server.stop_immediately();
    Ok(code)
}

fn with_command(
    context: &Context,
    (dbms, server): (Dbms, &mut Server),
    program: &str,
    rest: &[String],
) -> anyhow::Result<ExitCode> {
    let mut child = Command::new(program)
        .args(rest)
        .envs(environment(dbms, &rqps_executor::server::endpoint(server), server.pid()))
        .spawn()
        .map_err(|e| Usage(format!("can't run {program}: {e}")))?;
    loop {
        if let Some(status) = child.try_wait()? {
            let interrupted = context.stop.load(Ordering::Relaxed);
            if !interrupted && let Some(how) = server.exit_text() {
                anyhow::bail!(
                    "the server ended ({how}) while {program} ran:\n{}",
                    server.log_tail(LOG_LINES)
                );
            }
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            let default = if interrupted { EXIT_INTERRUPTED } else { EXIT_FAILED };
            return Ok(ExitCode::from(code.unwrap_or(default)));
        }
        if context.stop.load(Ordering::Relaxed) {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_for_signal(context: &Context, dbms: Dbms, server: &Server) {
    for (name, value) in environment(dbms, &rqps_executor::server::endpoint(server), server.pid()) {
        out::commands(&format!("export {name}={value}"));
    }
    out::message("Ctrl-C stops the server and removes its data");
    while !context.stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
}
