//! Build families: what affects a program's cost besides its version. Builds of one source with different
//! compilers, flags or C libraries differ by more than releases do, so each build records these as far as
//! they can be found.
//!
//! Sources: the ELF section `.comment` (each compiler leaves its name there unless it was stripped), the
//! constants in which Postgres keeps its compile flags, the loader that the program names and the C library
//! next to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use memchr::memmem;
use object::{Object, ObjectSection};
use rqps_model::Family;

/// Names of server programs; the first that exists is examined.
const SERVER_PROGRAMS: [&str; 3] = ["postgres", "mysqld", "mariadbd"];

/// The family of the build at `root`, according to its server program in `bin_dir` and its version text.
pub(crate) fn detect(bin_dir: &Path, root: &Path, version_text: &str) -> Family {
    let program = SERVER_PROGRAMS.iter().map(|name| bin_dir.join(name)).find(|path| path.is_file());
    let Some(content) = program.and_then(|path| fs::read(path).ok()) else {
        return Family::default();
    };
    let unknown = || Family::UNKNOWN.to_owned();
    let compiler = compiler_in_elf(&content).or_else(|| parse_compiler(version_text));
    Family {
        compiler: compiler.unwrap_or_else(unknown),
        flags: flags_in_postgres(&content).map_or_else(unknown, |flags| flags_that_matter(&flags)),
        libc: libc_of(&content, root).unwrap_or_else(unknown),
    }
}

/// The name that an assertion in RocksDB prints of the function in which it failed. Nothing else has it.
const ASSERTION_OF_ROCKSDB: &[u8] = b"rocksdb::Status rocksdb::DBImpl::";

/// The family of a library of RocksDB, which uses the C library of the program that loads it. Of its flags only
/// assertions leave a trace.
pub(crate) fn of_library(library: &Path) -> Family {
    let unknown = || Family::UNKNOWN.to_owned();
    let content = fs::read(library).unwrap_or_default();
    let has_assertions = memmem::find(&content, ASSERTION_OF_ROCKSDB).is_some();
    let flags = if has_assertions { Family::CHECKED.to_owned() } else { unknown() };
    Family { compiler: compiler_in_elf(&content).unwrap_or_else(unknown), flags, libc: system_libc() }
}

/// Replaces the flags by those found in the text of a recipe or flavour.
pub(crate) fn with_flags(family: Family, text: &str) -> Family {
    Family { flags: flags_that_matter(text), ..family }
}

/// The flags that affect the speed of the code, each once, in a fixed order. Of conflicting flags the last
/// one wins, as in the compiler. `-O0` if there is no level.
fn flags_that_matter(text: &str) -> String {
    let mut level = "-O0".to_owned();
    let (mut frame_pointers, mut lto, mut march, mut mtune) = (None, None, None, None);
    let mut others = BTreeSet::new();
    for word in text.split_whitespace().map(|word| word.trim_matches(['\'', '"'])) {
        // configure quotes whole arguments: 'CFLAGS=-Os -DX'.
        let word = word.split_once("FLAGS=").map_or(word, |(_, first)| first);
        match word {
            "-O" => level = "-O1".to_owned(),
            _ if word.starts_with("-O") && word.len() <= 6 => level = word.to_owned(),
            "-fno-omit-frame-pointer" | "-fomit-frame-pointer" => frame_pointers = Some(word.to_owned()),
            "-fno-lto" => lto = None,
            _ if word.starts_with("-flto") => {
                // The number of link jobs does not change the code.
                lto = Some(if word == "-flto=thin" { word } else { "-flto" }.to_owned());
            }
            // The compilers' defaults.
            "-march=x86-64" => march = None,
            "-mtune=generic" => mtune = None,
            _ if word.starts_with("-march=") => march = Some(word.to_owned()),
            _ if word.starts_with("-mtune=") => mtune = Some(word.to_owned()),
            _ if word.starts_with("-fprofile-use") => {
                others.insert("-fprofile-use".to_owned());
            }
            "--enable-cassert" | "-DUSE_ASSERT_CHECKING" => {
                others.insert(Family::ASSERTIONS.to_owned());
            }
            _ if word.starts_with("-fsanitize")
                || word.starts_with("-fstack-protector")
                || word == "--coverage" =>
            {
                others.insert(word.to_owned());
            }
            _ => {}
        }
    }
    let parts = [Some(level), frame_pointers, lto, march, mtune];
    parts.into_iter().flatten().chain(others).collect::<Vec<_>>().join(" ")
}

/// The constants in which Postgres keeps its compiler flags and `configure`'s arguments. Of the latter only
/// assertions matter.
fn flags_in_postgres(content: &[u8]) -> Option<String> {
    let strings = || content.split(|byte| *byte == 0).filter(|text| (16..8192).contains(&text.len()));
    let as_text = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned).ok();
    let flags = strings().find(|text| text.starts_with(b"-Wall -W")).and_then(as_text)?;
    let is_argument = |bytes: &&[u8]| bytes.trim_ascii_start().starts_with(b"'") && bytes.ends_with(b"'");
    let mut arguments = strings().filter(is_argument).filter_map(as_text);
    let asserts = arguments.any(|text| text.contains("'--enable-cassert'"));
    Some(if asserts { format!("{flags} {}", Family::ASSERTIONS) } else { flags })
}

/// The compiler in `.comment`. The C library's start files have theirs in it, too: another one, often an
/// older one. So the newest counts, and others come before gcc.
fn compiler_in_elf(content: &[u8]) -> Option<String> {
    let file = object::File::parse(content).ok()?;
    let comment = file.section_by_name(".comment")?.uncompressed_data().ok()?;
    let comment = String::from_utf8_lossy(&comment).into_owned();
    let compilers = comment.split('\0').filter_map(parse_compiler);
    compilers.max_by_key(|compiler| {
        let (name, version) = compiler.split_once(' ').unwrap_or((compiler, ""));
        let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
        (name != "gcc", numbers)
    })
}

/// Parses `gcc 12.2.0` from a compiler's name for itself, `GCC: (Debian 12.2.0-14) 12.2.0`, or from a version
/// text,
/// `…, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit`.
fn parse_compiler(text: &str) -> Option<String> {
    let text = text.split_once("compiled by ").map_or(text, |(_, rest)| rest);
    let lower = text.to_lowercase();
    if lower.starts_with("linker:") {
        return None;
    }
    let name = if lower.contains("clang") {
        "clang"
    } else if lower.contains("gcc") || lower.contains("g++") {
        "gcc"
    } else {
        return None;
    };
    // Distributions put their package version, with numbers of its own, in parentheses.
    let mut depth = 0_usize;
    let outside: String = text
        .chars()
        .filter(|c| {
            depth += usize::from(*c == '(');
            let keep = depth == 0;
            depth -= usize::from(*c == ')' && depth > 0);
            keep
        })
        .collect();
    let is_version = |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let version = outside.split([' ', ',', '-']).find(is_version)?;
    Some(format!("{name} {version}"))
}

/// The C library next to the program's loader.
fn libc_of(content: &[u8], root: &Path) -> Option<String> {
    let file = object::File::parse(content).ok()?;
    let Some(section) = file.section_by_name(".interp") else {
        return Some("linked statically".to_owned());
    };
    let interpreter = String::from_utf8_lossy(section.data().ok()?).trim_end_matches('\0').to_owned();
    if interpreter.contains("ld-musl") {
        return Some("musl".to_owned());
    }
    let interpreter = Path::new(&interpreter);
    let real = fs::canonicalize(interpreter).ok();
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let owner = if interpreter.starts_with(&root) || real.as_ref().is_some_and(|real| real.starts_with(&root))
    {
        "its own"
    } else {
        "system"
    };
    let library = real?.with_file_name("libc.so.6");
    let version = glibc_version(&fs::read(library).ok()?)?;
    Some(format!("{owner} glibc {version}"))
}

/// The C library of programs built on this system.
pub(crate) fn system_libc() -> String {
    let own = fs::read("/proc/self/exe").ok();
    own.and_then(|program| libc_of(&program, Path::new("/nowhere")))
        .unwrap_or_else(|| Family::UNKNOWN.to_owned())
}

/// Parses the banner that the library prints when run as a program.
fn glibc_version(library: &[u8]) -> Option<String> {
    let banner = library.split(|byte| *byte == 0).find(|text| text.starts_with(b"GNU C Library"))?;
    let banner = String::from_utf8_lossy(banner).into_owned();
    let (_, rest) = banner.split_once("release version ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_a_fixed_order_and_the_last_of_conflicting_ones_counts() {
        let flags = flags_that_matter;
        assert_eq!(flags("-Wall -Wno-x -fwrapv -g -O2 -DMAP_HUGETLB=0x40000"), "-O2");
        assert_eq!(flags("-fno-omit-frame-pointer -O0 -O2"), "-O2 -fno-omit-frame-pointer");
        assert_eq!(flags("'CFLAGS=-Os -DX' '--enable-cassert'"), "-Os --enable-cassert");
        assert_eq!(flags("-march=native -O3 -flto=auto"), "-O3 -flto -march=native");
        assert_eq!(flags("-flto -fno-lto -g"), "-O0");
    }

    #[test]
    fn compiler_names_do_not_depend_on_the_packager() {
        let compiler = |text: &str| parse_compiler(text).unwrap();
        assert_eq!(compiler("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"), "gcc 12.2.0");
        assert_eq!(compiler("GCC: (GNU) 4.4.7 20120313 (Red Hat 4.4.7-23)"), "gcc 4.4.7");
        assert_eq!(compiler("Debian clang version 14.0.6"), "clang 14.0.6");
        let text = "PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by x86_64-linux-gnu-gcc (Debian 15.2.0-9) 15.2.0, 64-bit";
        assert_eq!(compiler(text), "gcc 15.2.0");
        assert_eq!(parse_compiler("Linker: LLD 14.0.6"), None);
    }
}
