//! The engine process alone, for `tools/rocksdb-loop-cost`: a program that is compiled quickly.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(rqps_rocksdb_engine::run_if_asked("engine").unwrap_or(2))
}
