//! Build families: what beside its version decides what a program costs. Two builds of one source by other compilers,
//! flags or C libraries differ by more than releases do, so every build says how it was made, as far as it tells.
//!
//! Sources: the ELF section `.comment` (each compiler leaves its name there unless it was stripped), the constants
//! that Postgres keeps its own compile flags in, the loader that the program asks for and the C library beside that.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSection};
use rqps_model::Family;

/// The names of server programs: the first that a build has is asked.
const SERVER_PROGRAMS: [&str; 3] = ["postgres", "mysqld", "mariadbd"];

/// The family of the build at `root`, as its server program in `bin_dir` and its version text tell.
pub(crate) fn of_build(bin_dir: &Path, root: &Path, version_text: &str) -> Family {
    let program = SERVER_PROGRAMS.iter().map(|name| bin_dir.join(name)).find(|path| path.is_file());
    let Some(content) = program.and_then(|path| fs::read(path).ok()) else {
        return Family::default();
    };
    let unknown = || Family::UNKNOWN.to_owned();
    let compiler = compiler_within(&content).or_else(|| compiler_named(version_text));
    Family {
        compiler: compiler.unwrap_or_else(unknown),
        flags: flags_within(&content).map_or_else(unknown, |flags| flags_that_matter(&flags)),
        libc: libc_of(&content, root).unwrap_or_else(unknown),
    }
}

/// The same with the flags that a recipe or a flavour tells: any text that has them in it.
pub(crate) fn with_flags(family: Family, text: &str) -> Family {
    Family { flags: flags_that_matter(text), ..family }
}

/// The flags that decide how fast the code is, each once, in a fixed order. Of flags that exclude each other the last
/// counts, as for the compiler. `-O0` where there is no level.
fn flags_that_matter(text: &str) -> String {
    let mut level = "-O0".to_owned();
    let (mut frame_pointers, mut lto, mut march, mut mtune) = (None, None, None, None);
    let mut others = BTreeSet::new();
    for word in text.split_whitespace().map(|word| word.trim_matches(['\'', '"'])) {
        // configure's arguments are quoted as a whole: 'CFLAGS=-Os -DX'.
        let word = word.split_once("FLAGS=").map_or(word, |(_, first)| first);
        match word {
            "-O" => level = "-O1".to_owned(),
            _ if word.starts_with("-O") && word.len() <= 6 => level = word.to_owned(),
            "-fno-omit-frame-pointer" | "-fomit-frame-pointer" => frame_pointers = Some(word.to_owned()),
            "-fno-lto" => lto = None,
            _ if word.starts_with("-flto") => {
                // How many jobs link changes nothing of the code.
                lto = Some(if word == "-flto=thin" { word } else { "-flto" }.to_owned());
            }
            // What compilers for this processor do when they are told nothing.
            "-march=x86-64" => march = None,
            "-mtune=generic" => mtune = None,
            _ if word.starts_with("-march=") => march = Some(word.to_owned()),
            _ if word.starts_with("-mtune=") => mtune = Some(word.to_owned()),
            _ if word.starts_with("-fprofile-use") => {
                others.insert("-fprofile-use".to_owned());
            }
            "--enable-cassert" | "-DUSE_ASSERT_CHECKING" => {
                others.insert("--enable-cassert".to_owned());
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

/// The flags that Postgres was compiled with and keeps as constants: those of the compiler, and `configure`'s
/// arguments, of which assertions matter.
fn flags_within(content: &[u8]) -> Option<String> {
    let strings = || content.split(|byte| *byte == 0).filter(|text| (16..8192).contains(&text.len()));
    let as_text = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned).ok();
    let flags = strings().find(|text| text.starts_with(b"-Wall -W")).and_then(as_text)?;
    let is_argument = |bytes: &&[u8]| bytes.trim_ascii_start().starts_with(b"'") && bytes.ends_with(b"'");
    let arguments = strings().filter(is_argument).filter_map(as_text);
    let asserts = arguments.filter(|text| text.contains("'--enable-cassert'")).count() > 0;
    Some(if asserts { format!("{flags} --enable-cassert") } else { flags })
}

/// The compiler that `.comment` names. Start files of the C library were compiled by another one, often an older one,
/// and leave their name too: so the newest counts, and one that is not gcc comes before gcc.
fn compiler_within(content: &[u8]) -> Option<String> {
    let file = object::File::parse(content).ok()?;
    let comment = file.section_by_name(".comment")?.uncompressed_data().ok()?;
    let comment = String::from_utf8_lossy(&comment).into_owned();
    let named = comment.split('\0').filter_map(compiler_named);
    named.max_by_key(|compiler| {
        let (name, version) = compiler.split_once(' ').unwrap_or((compiler, ""));
        let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
        (name != "gcc", numbers)
    })
}

/// `gcc 12.2.0` of `GCC: (Debian 12.2.0-14) 12.2.0` and of `…, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit`.
fn compiler_named(text: &str) -> Option<String> {
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
    // What a distribution calls its package is in parentheses and has numbers of its own.
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

/// The C library that the program's loader brings.
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
    let whose = if interpreter.starts_with(&root) || real.as_ref().is_some_and(|real| real.starts_with(&root))
    {
        "its own"
    } else {
        "system"
    };
    let library = real?.with_file_name("libc.so.6");
    let version = glibc_version(&fs::read(library).ok()?)?;
    Some(format!("{whose} glibc {version}"))
}

/// The C library that programs built here run with.
pub(crate) fn system_libc() -> String {
    let own = fs::read("/proc/self/exe").ok();
    own.and_then(|program| libc_of(&program, Path::new("/nowhere")))
        .unwrap_or_else(|| Family::UNKNOWN.to_owned())
}

/// From the banner that the library prints when it is run as a program.
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
    fn flags_are_told_in_one_order_and_the_last_of_rivals_counts() {
        let of = flags_that_matter;
        assert_eq!(of("-Wall -Wno-x -fwrapv -g -O2 -DMAP_HUGETLB=0x40000"), "-O2");
        assert_eq!(of("-fno-omit-frame-pointer -O0 -O2"), "-O2 -fno-omit-frame-pointer");
        assert_eq!(of("'CFLAGS=-Os -DX' '--enable-cassert'"), "-Os --enable-cassert");
        assert_eq!(of("-march=native -O3 -flto=auto"), "-O3 -flto -march=native");
        assert_eq!(of("-flto -fno-lto -g"), "-O0");
    }

    #[test]
    fn compilers_are_named_alike_whoever_packaged_them() {
        let of = |text: &str| compiler_named(text).unwrap();
        assert_eq!(of("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"), "gcc 12.2.0");
        assert_eq!(of("GCC: (GNU) 4.4.7 20120313 (Red Hat 4.4.7-23)"), "gcc 4.4.7");
        assert_eq!(of("Debian clang version 14.0.6"), "clang 14.0.6");
        let text = "PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by x86_64-linux-gnu-gcc (Debian 15.2.0-9) 15.2.0, 64-bit";
        assert_eq!(of(text), "gcc 15.2.0");
        assert_eq!(compiler_named("Linker: LLD 14.0.6"), None);
    }
}
