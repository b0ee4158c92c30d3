//! C programs that use the header and the libraries: the examples, and a check of every function. Each is compiled as C
//! with the static library and as C++ with the shared one, with warnings as errors.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const WARNINGS: [&str; 6] = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];
/// What Rust's standard library needs of the system where it is linked statically.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

#[derive(Clone, Copy)]
enum Language {
    C,
    CPlusPlus,
}

const BOTH: [Language; 2] = [Language::C, Language::CPlusPlus];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    output
}

/// The directory with `liborasort.a` and `liborasort.so`. A test of Cargo's does not build them by itself.
fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("a test has a program");
        // target/debug/deps/from_c-…
        let target = test.ancestors().nth(3).expect("Cargo's target directory");
        run(Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--package", env!("CARGO_PKG_NAME"), "--profile", "dev"])
            .arg("--target-dir")
            .arg(target)
            .current_dir(here()));
        let built = target.join("debug");
        assert!(built.join("liborasort.a").exists(), "{} has no liborasort.a", built.display());
        built
    })
}

/// Compiles a program, runs it, and gives what it printed.
#[track_caller]
fn printed_by(source: &str, language: Language) -> String {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let program = scratch.path().join("program");
    let libraries = libraries();
    let mut compile = match language {
        Language::C => Command::new("cc"),
        Language::CPlusPlus => Command::new("c++"),
    };
    compile.args(WARNINGS).arg("-I").arg(here().join("include")).arg("-o").arg(&program);
    match language {
        Language::C => {
            compile.arg("-std=c99").arg(here().join(source));
            compile.arg(libraries.join("liborasort.a")).args(SYSTEM);
        }
        Language::CPlusPlus => {
            compile.args(["-std=c++11", "-x", "c++"]).arg(here().join(source));
            compile.arg("-L").arg(libraries).arg("-lorasort");
        }
    }
    run(&mut compile);
    let output = run(Command::new(&program).env("LD_LIBRARY_PATH", libraries));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_function_agrees_with_qsort_and_refuses_wrong_calls() {
    for language in BOTH {
        assert_eq!(printed_by("tests/check.c", language), "480 lists checked\n");
    }
}

#[test]
fn keys_are_sorted_from_wherever_they_lie() {
    let expected = "\
        pointers: 3:\"\" 2:\"apple\" 1:\"fig\" 4:\"fig\" 0:\"pear\"\n\
        offsets, descending: 0 1 4 2 3\n\
        the least two: 0 200\n\
        wrong offsets: offsets go down, or beyond the end of the arena\n";
    for language in BOTH {
        assert_eq!(printed_by("examples/argsort.c", language), expected);
    }
}

#[test]
fn first_rows_are_pulled_and_the_rest_dropped() {
    for language in BOTH {
        let printed = printed_by("examples/first_rows.c", language);
        let keys: Vec<&str> = printed.lines().collect();
        assert_eq!(keys.len(), 10, "{printed}");
        assert!(keys.is_sorted(), "{printed}");
        // Of a million numbers below 2^32, the least ten lie far below a thousandth of it.
        assert!(keys.iter().all(|key| *key < "order-0000400000"), "{printed}");
    }
}

/// A function that C cannot find would only be noticed by whoever calls it.
#[test]
fn the_shared_library_exports_what_the_header_declares_and_nothing_else() {
    let header = std::fs::read_to_string(here().join("include/orasort.h")).unwrap();
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| {
            !line.starts_with(['/', ' ', '#']) && !line.starts_with("static") && line.contains('(')
        })
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .collect();
    declared.sort_unstable();
    let symbols =
        run(Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("liborasort.so")));
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    exported.sort_unstable();
    assert!(declared.len() > 10, "{declared:?}");
    assert_eq!(exported, declared);
}
