//! Compiles crates/dose into the library that is embedded here. Servers load it; rqps itself must not.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let sources = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../dose/src");
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-env-changed=RUSTC");
    let library = PathBuf::from(variable("OUT_DIR")).join("librqps_dose.so");
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args(["--crate-name", "rqps_dose", "--crate-type", "cdylib", "--edition", "2024"]);
    compiler.args(["-C", "opt-level=2", "-C", "panic=abort", "-C", "strip=symbols"]);
    // Fixed flags: a dose has to be the same instructions in every build of rqps.
    compiler.args(["--target", &variable("TARGET")]).arg("-o").arg(&library).arg(sources.join("lib.rs"));
    match compiler.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        outcome => {
            println!("cargo:warning=crates/dose cannot be compiled with {compiler:?}: {outcome:?}");
            ExitCode::FAILURE
        }
    }
}
