//! Runs axe-core, an accessibility checker. It is installed from the npm registry, pinned by
//! `package-lock.json`, once per target directory.

use std::path::{Path, PathBuf};
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

fn script() -> String {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    std::fs::create_dir_all(&home).unwrap();
    let lock = std::fs::read(here.join("package-lock.json")).unwrap();
    let script = home.join("node_modules/axe-core/axe.min.js");
    let is_pinned = std::fs::read(home.join("package-lock.json")).is_ok_and(|known| known == lock);
    if !is_pinned || !script.exists() {
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(here.join(file), home.join(file)).unwrap();
        }
        let npm = Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&home)
            .output()
            .expect("npm is here: tools/debian-packages installs it");
        assert!(npm.status.success(), "npm ci: {}", String::from_utf8_lossy(&npm.stderr));
    }
    std::fs::read_to_string(script).unwrap()
}
