//! Runs one server until standard input ends: `cargo run -p rqps-servers --example serve -- postgres-18
//! x10a_c8r32 [tcp]`. Prints what a client needs. Keeps the data for the next run, unless the last argument
//! is `--remove`.

use std::error::Error;
use std::io::Read;
use std::process::ExitCode;

use rqps_builds::{Dirs, resolve};
use rqps_model::BuildSpec;
use rqps_servers::{Server, ServerSpec, load_config, remove_data_dir};

fn main() -> ExitCode {
    rqps_builds::run_shim_if_asked();
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [build, config, options @ ..] = arguments.as_slice() else {
        return Err("usage: serve BUILD CONFIG [tcp] [--remove]".into());
    };
    let build: BuildSpec = build.parse()?;
    let dirs = Dirs::from_env();
    dirs.create_work()?;
    let spec = ServerSpec {
        data_dir: dirs.work.join(format!("serve-{}", build.label())),
        log_dir: dirs.work.join("logs"),
        config: load_config(build.dbms, config)?,
        build: resolve(&dirs, &build)?,
        clients_max: 100,
        tcp: options.iter().any(|option| option == "tcp"),
        env: std::collections::BTreeMap::new(),
        cpus: None,
        instrument: None,
        memory_bytes_max: None,
    };
    println!("{:#?}", spec.build);
    if !spec.data_dir.exists() {
        Server::init(&spec)?;
    }
    let server = Server::start(&spec)?;
    for left_out in &server.applied().left_out {
        println!("left out: {} = {} ({})", left_out.option, left_out.value, left_out.reason);
    }
    let endpoint = server.endpoint();
    let host = endpoint.tcp.map_or_else(|| endpoint.socket_dir.display().to_string(), |ip| ip.to_string());
    println!(
        "pid {}: host {host}, port {}, user {}, password {}, database {}",
        server.pid(),
        endpoint.port,
        endpoint.user,
        endpoint.password,
        endpoint.database
    );
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop()?;
    if options.iter().any(|option| option == "--remove") {
        remove_data_dir(&spec.data_dir)?;
    }
    Ok(())
}
