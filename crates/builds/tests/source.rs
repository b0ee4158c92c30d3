//! Builds from source: made once, distinguished by commit and content, nothing kept of failed or interrupted
//! ones. The source is a tiny tree with Postgres's `configure` and make targets; `tools/build-from-source`
//! builds real ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rqps_builds::{Build, BuildProgress, Dirs, Error, Watch, compile, copies, list_builds, log_of};
use rqps_model::{BuildSource, BuildSpec, Dbms, SourceSpec};

const CONFIGURE: &str = r#"#!/bin/sh
# PostgreSQL
PACKAGE_VERSION='13.99'
for argument; do
    case $argument in
    --prefix=*) prefix=${argument#--prefix=} ;;
    CC=*) cc=${argument#CC=} ;;
    CFLAGS=*) cflags=${argument#CFLAGS=} ;;
    esac
done
src=$(dirname "$0")
sed -e "s|@prefix@|$prefix|; s|@cc@|$cc|; s|@cflags@|$cflags|; s|@src@|$src|" "$src/Makefile.in" >Makefile
"#;

const MAKEFILE: &str = "all: postgres initdb\n\
    %: @src@/%.c\n\t@cc@ @cflags@ -o $@ $<\n\
    install: all\n\tmkdir -p @prefix@/bin\n\tcp postgres initdb @prefix@/bin\n\
    \tmkdir -p @prefix@/include\n\ttouch @prefix@/include/pg_config.h\n";

const POSTGRES: &str = r#"#include <stdio.h>
const char text[] = "PostgreSQL 13.99 on x86_64-pc-linux-gnu, compiled by gcc 1.2.3, 64-bit";
int main(void) { puts("postgres (PostgreSQL) 13.99"); return text[0] == 0; }
"#;

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn write_program(path: &Path, content: &str) {
    write(path, content);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A cache, a source tree and a flavour.
struct Scene {
    dir: tempfile::TempDir,
    dirs: Dirs,
}

impl Scene {
    fn new() -> Scene {
        let open = fs::Permissions::from_mode(0o755);
        let dir = tempfile::Builder::new().permissions(open).tempdir().unwrap();
        let dirs = Dirs { cache: dir.path().join("cache"), work: dir.path().join("work") };
        let scene = Scene { dir, dirs };
        write_program(&scene.source().join("configure"), CONFIGURE);
        scene.write("Makefile.in", MAKEFILE);
        scene.write("postgres.c", POSTGRES);
        scene.write("initdb.c", "int main(void) { return 0; }\n");
        // The output of bison, flex and perl.
        scene.write("src/backend/parser/gram.c", "");
        scene.write("src/backend/catalog/postgres.bki", "");
        fs::write(scene.dir.path().join("plain.toml"), "cflags = \"-O1 -g\"\n").unwrap();
        scene
    }

    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn write(&self, path: &str, content: &str) {
        write(&self.source().join(path), content);
    }

    fn spec(&self, place: &str) -> SourceSpec {
        SourceSpec::parse(place, &self.dir.path().join("plain.toml").to_string_lossy())
    }

    /// Returns the build and the phases that were reported.
    fn build(&self, place: &str) -> (Result<Build, Error>, BTreeSet<&'static str>) {
        let mut phases = BTreeSet::new();
        let mut progress = |progress: &BuildProgress<'_>| {
            phases.insert(progress.phase);
        };
        let stop = AtomicBool::new(false);
        let mut watch = Watch { progress: &mut progress, stop: &stop, jobs: Some(2), shares_objects: false };
        let build = compile(&self.dirs, Dbms::Postgres, &self.spec(place), &mut watch);
        (build, phases)
    }

    fn build_source(&self) -> Build {
        self.build(&self.source().to_string_lossy()).0.unwrap()
    }

    /// Entries of the source cache, except locks.
    fn kept(&self) -> BTreeSet<String> {
        let dir = self.dirs.cache.join("source/postgres");
        let names =
            fs::read_dir(dir).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| !name.starts_with(".lock")).collect()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@localhost",
            "-c",
            "init.defaultBranch=main",
        ]);
        let output = git.args(arguments).current_dir(self.source()).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn commit(&self, content: &str) -> String {
        self.write("postgres.c", content);
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", "another"]);
        self.git(&["rev-parse", "HEAD"])
    }
}

#[test]
fn a_source_is_built_once_and_not_modified() {
    let scene = Scene::new();
    let first = scene.build_source();
    assert_eq!(first.version, "13.99");
    assert_eq!(first.family.flags, "-O1");
    assert!(first.family.compiler.starts_with("gcc "), "{}", first.family);
    assert!(
        first.origin.contains("directory") && first.origin.ends_with("flavour plain"),
        "{}",
        first.origin
    );
    assert!(fs::read_to_string(log_of(&first).unwrap()).unwrap().contains("gcc -O1 -g -o postgres"));
    assert!(!scene.source().join("Makefile").exists(), "the source was built in");
    let program = first.bin_dir.join("postgres");
    assert_eq!(Command::new(&program).output().unwrap().stdout, b"postgres (PostgreSQL) 13.99\n");
    let (again, phases) = scene.build(&scene.source().to_string_lossy());
    assert_eq!((again.unwrap(), phases), (first.clone(), BTreeSet::new()));
    scene.write("postgres.c", &POSTGRES.replace("return text", "return 1 + text"));
    let changed = scene.build_source();
    assert_ne!(changed.hash, first.hash);
    assert_eq!(list_builds(&scene.dirs).unwrap().len(), 2);
    fs::remove_file(&program).unwrap();
    scene.write("postgres.c", POSTGRES);
    assert_eq!(scene.build_source().hash, first.hash, "made again, the same source is another build");
}

#[test]
fn copies_have_the_same_functions_at_other_addresses_and_need_no_source_later() {
    let scene = Scene::new();
    let first = scene.build_source();
    let copies_by = |spec: &BuildSpec| Watch::nobody(|watch| copies(&scene.dirs, (&first, spec), 3, watch));
    let source = BuildSource::Source(scene.spec(&scene.source().to_string_lossy()));
    let made = copies_by(&BuildSpec { dbms: Dbms::Postgres, source }).unwrap();
    let main_at = |build: &Build| {
        let symbols = Command::new("nm").arg(build.bin_dir.join("postgres")).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let main = symbols.lines().find(|line| line.ends_with(" T main")).unwrap();
        u64::from_str_radix(&main[..16], 16).unwrap()
    };
    let at: Vec<u64> = [&first, &made[0], &made[1]].into_iter().map(main_at).collect();
    assert_eq!([at[1] - at[0], at[2] - at[0]], [16, 32]);
    assert!(made[1].origin.ends_with("flavour plain, copy 3"), "{}", made[1].origin);
    assert_eq!(made[1].family, first.family);
    // As a resumed run names a build whose source may have changed.
    fs::remove_dir_all(scene.source()).unwrap();
    let by_path = BuildSpec::from_path(Dbms::Postgres, &first.root);
    assert_eq!(copies_by(&by_path).unwrap(), made);
    fs::remove_dir_all(&made[0].root).unwrap();
    assert_eq!(copies_by(&by_path).unwrap(), made[1..]);
}

#[test]
fn a_failed_build_shows_its_log_and_leaves_nothing_else() {
    let scene = Scene::new();
    scene.write("postgres.c", "int main(void) { return no_such_name; }\n");
    let (outcome, _) = scene.build(&scene.source().to_string_lossy());
    let Error::BuildFailed { phase, log, tail, .. } = outcome.unwrap_err() else {
        panic!("not a failed build")
    };
    assert_eq!(phase, "compiling");
    assert!(tail.contains("no_such_name"), "{tail}");
    assert!(fs::read_to_string(&log).unwrap().contains("make"), "{}", log.display());
    let name = log.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(scene.kept(), BTreeSet::from([name]));
}

#[test]
fn an_interrupted_build_kills_all_its_processes() {
    let scene = Scene::new();
    // A grandchild, like make's compilers.
    scene.write("Makefile.in", "all:\n\tsh -c 'sleep 3599; true'; true\n");
    let stop = AtomicBool::new(false);
    let mut progress = |progress: &BuildProgress<'_>| {
        stop.store(progress.phase == "compiling" && progress.lines > 0, Ordering::Relaxed);
    };
    let mut watch = Watch { progress: &mut progress, stop: &stop, jobs: None, shares_objects: false };
    let spec = scene.spec(&scene.source().to_string_lossy());
    let error = compile(&scene.dirs, Dbms::Postgres, &spec, &mut watch).unwrap_err();
    assert!(error.is_interruption(), "{error}");
    assert_eq!(scene.kept(), BTreeSet::new());
    // Killed processes may take a moment to exit; a surviving one would sleep for an hour.
    let below = |path: &Path| path.starts_with(scene.dir.path());
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let left: Vec<PathBuf> = processes
            .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| below(&cwd)))
            .map(|entry| entry.path())
            .collect();
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_commit_is_a_separate_build() {
    let scene = Scene::new();
    scene.git(&["init", "--quiet"]);
    let first = scene.commit(POSTGRES);
    let second = scene.commit(&POSTGRES.replace("return text", "return 2 + text"));
    scene.git(&["tag", "v2"]);
    let at = |reference: &str| {
        let (build, phases) = scene.build(&format!("{}@{reference}", scene.source().display()));
        (build.unwrap(), phases.contains("compiling"))
    };
    let (old, compiled) = at(&first);
    assert!(compiled && old.commit.as_ref() == Some(&first));
    let (new, _) = at("v2");
    assert_ne!(old.hash, new.hash);
    assert!(new.origin.contains(&second[..12]), "{}", new.origin);
    let (branch, compiled) = at("main");
    assert!(!compiled && branch == new);
    let bare = scene.dir.path().join("bare.git");
    scene.git(&["clone", "--quiet", "--bare", ".", &bare.to_string_lossy()]);
    let (bare, phases) = scene.build(&bare.to_string_lossy());
    assert!(bare.unwrap().hash == new.hash && !phases.contains("compiling"));
    let (elsewhere, phases) = scene.build(&format!("file://{}@main", scene.source().display()));
    assert!(elsewhere.unwrap().hash == new.hash && phases == BTreeSet::new());
    // A checkout is built as it is in the directory, not as committed, and without ignored files.
    scene.write("postgres.c", &POSTGRES.replace("return text", "return 3 + text"));
    let dirty = scene.build_source();
    assert!(dirty.origin.contains("-dirty") && dirty.commit.is_none(), "{}", dirty.origin);
    scene.write(".git/info/exclude", "*.o\n");
    scene.write("left.o", "left");
    assert_eq!(scene.build_source().hash, dirty.hash);
    let (gone, phases) = scene.build(&format!("/nowhere/repository@{second}"));
    assert!(gone.unwrap().hash == new.hash && phases.is_empty());
    let check = |place: &str| {
        let spec = BuildSpec { dbms: Dbms::Postgres, source: BuildSource::Source(scene.spec(place)) };
        Watch::nobody(|watch| rqps_builds::check_sources(&scene.dirs, &[&spec], watch))
    };
    assert!(check(&format!("/nowhere/repository@{second}")).is_ok());
    assert!(check(&format!("{}@v2", scene.source().display())).is_ok());
    assert!(check(&format!("{}@no-such-branch", scene.source().display())).is_err());
    let (outcome, _) = scene.build(&format!("{}@no-such-branch", scene.source().display()));
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("no commit, tag or branch `no-such-branch`"), "{message}");
}

#[test]
fn what_is_missing_for_several_builds_is_named_at_once_unless_they_are_made() {
    let scene = Scene::new();
    scene.git(&["init", "--quiet"]);
    scene.commit(POSTGRES);
    let include = scene.dir.path().join("include");
    let flavour = |name: &str, headers: &str| {
        let path = scene.dir.path().join(name);
        let env = format!("[env]\nCPATH = \"{}\"\n", include.display());
        let options = format!("[[postgres.configure]]\nsince = \"13\"\nheaders = {{ {headers} }}\n");
        fs::write(&path, format!("cflags = \"-O1 -g\"\n{env}{options}")).unwrap();
        path.display().to_string()
    };
    let one = flavour("one.toml", "\"one.h\" = \"libone-dev\"");
    let both = flavour("both.toml", "\"one.h\" = \"libone-dev\", \"two.h\" = \"libtwo-dev\"");
    let check = |builds: &[(&str, &str)]| {
        let of = |(reference, flavour): &(&str, &str)| {
            let place = format!("{}@{reference}", scene.source().display());
            let source = BuildSource::Source(SourceSpec::parse(&place, flavour));
            BuildSpec { dbms: Dbms::Postgres, source }
        };
        let specs: Vec<BuildSpec> = builds.iter().map(of).collect();
        let specs: Vec<&BuildSpec> = specs.iter().collect();
        Watch::nobody(|watch| rqps_builds::check_sources(&scene.dirs, &specs, watch))
    };
    write(&include.join("one.h"), "");
    assert!(check(&[("main", &one)]).is_ok());
    let spec = SourceSpec::parse(&format!("{}@main", scene.source().display()), &one);
    Watch::nobody(|watch| compile(&scene.dirs, Dbms::Postgres, &spec, watch)).unwrap();
    // As where the cache came from another system.
    fs::remove_file(include.join("one.h")).unwrap();
    assert!(check(&[("main", &one)]).is_ok(), "what is made needs nothing");
    scene.commit(&POSTGRES.replace("return text", "return 1 + text"));
    let message = check(&[("main", &one), ("HEAD", &both)]).unwrap_err().to_string();
    assert!(
        message.contains("@main and postgres+") && message.contains("lacks one.h, two.h; on"),
        "{message}"
    );
    assert!(message.ends_with("`apt-get install libone-dev libtwo-dev`"), "{message}");
    let wrong = check(&[("main", &one), ("mian", &one)]).unwrap_err().to_string();
    assert!(wrong.contains("Did you mean `main`?"), "{wrong}");
    assert_eq!(
        fs::read_dir(scene.dirs.cache.join("source/git")).unwrap().count(),
        0,
        "something was left behind"
    );
}

/// Configures a repository to run a program wherever git runs one, and returns the directory of the program's
/// traces.
fn plant(scene: &Scene) -> PathBuf {
    let traces = scene.dir.path().join("traces");
    fs::create_dir(&traces).unwrap();
    fs::set_permissions(&traces, fs::Permissions::from_mode(0o1777)).unwrap();
    let trap = scene.dir.path().join("trap");
    // Filters must pass their input on, or git considers them broken.
    write_program(&trap, &format!("#!/bin/sh\nid -u >>{}/\"$1\"\ncat\nexit 0\n", traces.display()));
    let git = scene.source().join(".git");
    let trap = trap.display();
    let config = format!(
        "[filter \"t\"]\n\tsmudge = {trap} smudge\n\tclean = {trap} clean\n\tprocess = {trap} process\n\
         [core]\n\tfsmonitor = {trap} fsmonitor\n\thooksPath = {}/hooks\n\tsshCommand = {trap} ssh\n\
         \tpager = {trap} pager\n\teditor = {trap} editor\n\
         [diff \"t\"]\n\ttextconv = {trap} textconv\n\tcommand = {trap} diff\n\
         [uploadpack]\n\tpackObjectsHook = {trap} pack\n\
         [alias]\n\tclone = !{trap} alias\n\
         [remote \"origin\"]\n\turl = ext::{trap} remote\n\tuploadpack = {trap} uploadpack\n\tpromisor = true\n\
         [include]\n\tpath = {}/more\n",
        git.display(),
        git.display()
    );
    let old = fs::read_to_string(git.join("config")).unwrap();
    fs::write(git.join("config"), old + &config).unwrap();
    fs::write(git.join("more"), format!("[filter \"u\"]\n\tsmudge = {trap} included\n")).unwrap();
    fs::create_dir_all(git.join("info")).unwrap();
    fs::write(git.join("info/attributes"), "* filter=t diff=t\n").unwrap();
    for hook in
        ["post-checkout", "pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"]
    {
        write_program(&git.join("hooks").join(hook), &format!("#!/bin/sh\n{trap} {hook}\n"));
    }
    traces
}

#[test]
fn no_program_configured_in_a_repository_runs() {
    let scene = Scene::new();
    scene.write(".gitattributes", "*.c filter=t\n*.in filter=u\n");
    scene.git(&["init", "--quiet"]);
    let commit = scene.commit(POSTGRES);
    let worktree = scene.dir.path().join("worktree");
    scene.git(&["worktree", "add", "--quiet", "--detach", &worktree.to_string_lossy()]);
    let traces = plant(&scene);
    // git reads files that may have changed according to their times.
    scene.write("initdb.c", "int main(void) { return 0; }\n");
    let bare = scene.dir.path().join("bare.git");
    let copied = Command::new("cp").arg("-a").arg(scene.source().join(".git")).arg(&bare).status();
    assert!(copied.unwrap().success());
    let source = scene.source().display().to_string();
    let places = [
        source.clone(),
        format!("{source}@{commit}"),
        format!("file://{source}@HEAD"),
        format!("{}@HEAD", bare.display()),
        worktree.display().to_string(),
    ];
    for place in places {
        let build = scene.build(&place).0.unwrap();
        assert_eq!(build.version, "13.99", "{place}");
        let left: Vec<_> = fs::read_dir(&traces).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "{place} ran {left:?}");
    }
    let git = fs::read_dir(scene.dirs.cache.join("source/git")).unwrap();
    assert_eq!(git.count(), 0, "twins were left behind");
}

#[test]
fn an_index_with_a_path_outside_is_refused() {
    let scene = Scene::new();
    scene.write(".gitattributes", "*.x binary\n");
    scene.git(&["init", "--quiet"]);
    scene.commit(POSTGRES);
    fs::write(scene.dir.path().join("secret-file"), "secret").unwrap();
    // Of the same length, so that no other byte of the index changes.
    let index = scene.source().join(".git/index");
    let mut content = fs::read(&index).unwrap();
    let name = b".gitattributes";
    let at = memchr::memmem::find(&content, name).unwrap();
    content[at..at + name.len()].copy_from_slice(b"../secret-file");
    fs::write(&index, content).unwrap();
    let message = scene.build(&scene.source().to_string_lossy()).0.unwrap_err().to_string();
    assert!(message.contains("secret-file"), "{message}");
}

/// A repository made of a tarball has what bison made from gram.y. git writes the two at arbitrary times.
#[test]
fn committed_output_is_made_anew_only_after_a_change_of_what_it_is_made_from() {
    let scene = Scene::new();
    let rule =
        "gram = @src@/src/backend/parser/gram\n$(gram).c: $(gram).y\n\techo made anew\nall: $(gram).c\n";
    scene.write("Makefile.in", &format!("{MAKEFILE}{rule}"));
    scene.write("src/backend/parser/gram.y", "1");
    scene.git(&["init", "--quiet"]);
    let published = scene.commit(POSTGRES);
    scene.write("src/backend/parser/gram.y", "2");
    let changed = scene.commit(POSTGRES);
    let is_made_anew = |commit: &str| {
        let (build, _phases) = scene.build(&format!("{}@{commit}", scene.source().display()));
        fs::read_to_string(log_of(&build.unwrap()).unwrap()).unwrap().contains("\nmade anew")
    };
    assert!(!is_made_anew(&published));
    assert!(is_made_anew(&changed));
}

#[test]
fn commits_are_listed_by_first_parents() {
    let scene = Scene::new();
    scene.git(&["init", "--quiet"]);
    let good = scene.commit(POSTGRES);
    scene.git(&["checkout", "--quiet", "-b", "side"]);
    scene.commit(&POSTGRES.replace("return text", "return 1 + text"));
    scene.git(&["checkout", "--quiet", "main"]);
    let between = scene.commit(&format!("{POSTGRES}\n"));
    scene.git(&["merge", "--quiet", "-X", "ours", "-m", "a merge\n\nbody", "side"]);
    let bad = scene.git(&["rev-parse", "HEAD"]);
    let spec = scene.spec(&scene.source().to_string_lossy());
    let listed = |good: &str, bad: &str| {
        Watch::nobody(|watch| rqps_builds::commits(&scene.dirs, &spec, good, bad, watch))
    };
    let commits = listed(&good, "main").unwrap();
    let ids: Vec<&str> = commits.iter().map(|commit| &*commit.id).collect();
    assert_eq!(ids, [&*good, &between, &bad], "what the merge brings is the merge's");
    assert_eq!(commits[2].subject, "a merge");
    let error = listed("side", "main").unwrap_err().to_string();
    assert!(
        error.contains("not on the line of first parents") && error.contains("git merge-base"),
        "{error}"
    );
    let error = listed("nosuch", "main").unwrap_err().to_string();
    assert!(error.contains("no commit, tag or branch `nosuch`"), "{error}");
}
