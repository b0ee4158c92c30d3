//! Building Postgres from source: by `configure` and make, or by meson from 16 on.

use std::path::Path;

use super::Postgres;
use crate::source::code::{Site, SourceCode, Step, path_text, read_file};
use crate::source::flavour::System;

/// Extensions to install that show the contents of tables, indexes and the buffer pool, if the release has
/// them.
const EXTENSIONS: [&str; 6] =
    ["amcheck", "pageinspect", "pg_buffercache", "pg_prewarm", "pg_stat_statements", "pgstattuple"];

/// What tells the version.
const CONFIGURE: &str = "configure";
const MESON: &str = "meson.build";

/// Output of bison and of perl.
const OUTPUT: [&str; 2] = ["src/backend/parser/gram.c", "src/backend/catalog/postgres.bki"];

/// A relative library path, so that the build can be moved. make turns `$$` into `$`, and the quotes protect
/// it from the shell.
const RPATH_FOR_MAKE: &str = "-Wl,-rpath,'$$ORIGIN/../lib'";

/// The same for meson, which quotes by itself.
const RPATH: &str = "-Wl,-rpath,$ORIGIN/../lib";

impl SourceCode for Postgres {
    fn systems(&self) -> &'static [System] {
        &[System::Configure, System::Meson]
    }

    fn version(&self, tree: &Path) -> Option<String> {
        let is_postgres = |text: &str| text.contains("PostgreSQL") || text.contains("postgresql");
        let configure = read_file(tree, CONFIGURE).unwrap_or_default();
        if let Some((_, rest)) = configure.split_once("PACKAGE_VERSION='")
            && is_postgres(&configure)
        {
            return rest.split('\'').next().map(str::to_owned);
        }
        let meson = read_file(tree, MESON)?;
        let (_, rest) = meson.split_once("version: '").filter(|_| is_postgres(&meson))?;
        rest.split('\'').next().map(str::to_owned)
    }

    fn identified_by(&self) -> &'static str {
        "`configure` or `meson.build` of Postgres"
    }

    fn telling_files(&self) -> &'static [&'static str] {
        &[CONFIGURE, MESON, OUTPUT[0], OUTPUT[1]]
    }

    fn programs(&self, site: &Site<'_>) -> Vec<&'static str> {
        let mut programs = match site.flavour.system {
            System::Meson => vec!["meson", "ninja"],
            _ => vec!["make"],
        };
        // Tarballs before 17 contain the output of bison and flex. Repositories only do if a tarball was committed, and
        // meson always regenerates it.
        let is_generated = |file: &str| site.tree.join(file).is_file();
        if site.flavour.system == System::Meson || !is_generated(OUTPUT[0]) {
            programs.extend(["bison", "flex"]);
        }
        if site.flavour.system == System::Meson || !is_generated(OUTPUT[1]) {
            programs.push("perl");
        }
        programs
    }

    fn has_output(&self, tree: &Path) -> bool {
        OUTPUT.iter().any(|file| tree.join(file).is_file())
    }

    fn steps(&self, site: &Site<'_>) -> Vec<Step> {
        match site.flavour.system {
            System::Meson => with_meson(site),
            _ => with_make(site),
        }
    }
}

fn with_make(site: &Site<'_>) -> Vec<Step> {
    let flavour = site.flavour;
    let configure = Step::new("configuring", path_text(&site.tree.join(CONFIGURE)), &["--disable-rpath"])
        .args(
            [format!("--prefix={}", path_text(&site.prefix))]
                .into_iter()
                .chain(site.options.iter().cloned())
                .chain([
                    format!("CC={}", flavour.cc),
                    format!("CXX={}", flavour.cxx),
                    format!("CFLAGS={}", flavour.cflags),
                    format!("CXXFLAGS={}", flavour.cxxflags),
                    format!("LDFLAGS={} {RPATH_FOR_MAKE}", flavour.ldflags).replace("= ", "="),
                ]),
        );
    let jobs = format!("-j{}", site.jobs);
    let mut steps = vec![
        configure,
        Step::new("compiling", "make", &[&jobs]),
        Step::new("installing", "make", &["install"]),
    ];
    for name in EXTENSIONS {
        let folder = format!("contrib/{name}");
        if site.tree.join(&folder).is_dir() {
            steps.push(Step::new("installing extensions", "make", &[&jobs, "-C", &folder, "install"]));
        }
    }
    steps
}

/// The compiler is passed in the environment: meson has no option for it.
fn with_meson(site: &Site<'_>) -> Vec<Step> {
    let setup =
        Step::new("configuring", "meson", &["setup", &path_text(&site.build), &path_text(&site.tree)]);
    let prefix = format!("--prefix={}", path_text(&site.prefix));
    let flavour = site.flavour;
    let setup = setup.args([prefix, "--libdir=lib".to_owned()]).args(site.options.iter().cloned()).args([
        format!("-Dc_args={}", flavour.cflags),
        format!("-Dc_link_args={} {RPATH}", flavour.ldflags).replace("= ", "="),
    ]);
    let build = path_text(&site.build);
    let jobs = site.jobs.to_string();
    vec![
        setup,
        Step::new("compiling", "ninja", &["-C", &build, "-j", &jobs]),
        Step::new("installing", "ninja", &["-C", &build, "install"]),
    ]
}
