//! Detects programs and libraries without symbols.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSection, ReadCache};

/// Where distributions install separate debug symbols.
const DEBUG_DIR: &str = "/usr/lib/debug/.build-id";

/// Whether a program or library is stripped and its separate debug symbols are not installed. False for an unreadable
/// file.
pub(super) fn is_stripped(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else {
        return false;
    };
    let cache = ReadCache::new(file);
    let Ok(program) = object::File::parse(&cache) else {
        return false;
    };
    let has_table = program.sections().any(|section| section.name() == Ok(".symtab"));
    !has_table && !has_debug_file(program.build_id().ok().flatten())
}

fn has_debug_file(build_id: Option<&[u8]>) -> bool {
    let Some([first, rest @ ..]) = build_id else {
        return false;
    };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Path::new(DEBUG_DIR).join(format!("{first:02x}")).join(format!("{rest}.debug")).is_file()
}
