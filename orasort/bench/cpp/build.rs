//! Compiles the sorts in C++: always the one that is in this repository, those of tlx where its source is (`tools/tlx`
//! fetches it).

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=peers.cpp");
    println!("cargo:rerun-if-env-changed=ORASORT_TLX");
    println!("cargo:rustc-check-cfg=cfg(tlx)");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).warnings(false).file("peers.cpp");
    if let Some(tlx) = std::env::var_os("ORASORT_TLX").map(PathBuf::from) {
        println!("cargo:rustc-cfg=tlx");
        build.define("WITH_TLX", None).include(&tlx);
        for part in ["thread_pool", "multi_timer", "timestamp", "logger/core", "die/core"] {
            build.file(tlx.join("tlx").join(part).with_extension("cpp"));
        }
    }
    build.compile("peers");
}
