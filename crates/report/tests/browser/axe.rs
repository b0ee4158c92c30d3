//! Runs axe-core, an accessibility checker. It is installed from the npm registry, pinned by
//! `package-lock.json`, once per target directory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::chromium::Chromium;

/// Returns axe's findings on the current page.
pub fn findings(browser: &mut Chromium) -> Vec<String> {
    browser.value(&format!("{};undefined", script()));
    let found = browser.value(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map((one) => ({
            id: one.id, help: one.help, where: one.nodes.slice(0, 3).map((node) => node.target.join(' ') + ': ' +
            node.failureSummary)})))",
    );
    let describe = |one: &Value| format!("{}: {} {}", one["id"], one["help"], one["where"]);
    found.as_array().expect("axe returns a list").iter().map(describe).collect()
}

/// Tests are processes that run at the same time: each sees a whole installation, or none and makes its own, of which
/// the first stays.
fn script() -> String {
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let mut pinned = DefaultHasher::new();
    std::fs::read(here.join("package-lock.json")).unwrap().hash(&mut pinned);
    let home = shared.join(format!("axe-{:016x}", pinned.finish()));
    if !home.exists() {
        let own = tempfile::tempdir_in(shared).unwrap();
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(here.join(file), own.path().join(file)).unwrap();
        }
        let npm = Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(own.path())
            .output()
            .expect("npm is here: tools/debian-packages installs it");
        assert!(npm.status.success(), "npm ci: {}", String::from_utf8_lossy(&npm.stderr));
        let installed = std::fs::rename(own.path(), &home);
        assert!(installed.is_ok() || home.exists(), "{}: {installed:?}", home.display());
    }
    std::fs::read_to_string(home.join("node_modules/axe-core/axe.min.js")).unwrap()
}
