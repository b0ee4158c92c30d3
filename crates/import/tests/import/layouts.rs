//! Layouts of files and how they are read: arms, tests and repeats, or why not.

use std::fs;

use rqps_import::{Assembled, Choices, Error, files, load_all};

fn pgbench(tps: f64, clients: &str) -> String {
    format!(
        "pgbench (16.3, server 16.3)\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: 10\nquery mode: simple\n\
         number of clients: {clients}\nnumber of threads: 1\nduration: 10 s\n\
         number of transactions actually processed: {:.0}\nlatency average = 2.000 ms\n\
         tps = {tps:.6} (without initial connection time)\n",
        tps * 10.0
    )
}

/// The names that a pattern stands for, each with its clients: `{a,b}` is either, and `@{4c,8c}` also tells clients.
fn names(pattern: &str) -> Vec<(String, String)> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![(pattern.to_owned(), "2".to_owned())];
    };
    let (list, after) = rest.split_once('}').unwrap();
    let (before, tells_clients) = match before.strip_suffix('@') {
        Some(before) => (before, true),
        None => (before, false),
    };
    let one = |word: &str| -> Vec<(String, String)> {
        let number: String = word.chars().filter(char::is_ascii_digit).collect();
        let all = names(after).into_iter();
        let all = all.map(|(rest, clients)| {
            (format!("{before}{word}{rest}"), if tells_clients { number.clone() } else { clients })
        });
        all.collect()
    };
    list.split(',').flat_map(one).collect()
}

/// Imports files of these names, given as a directory or as the `ARM=DIR` of its directories.
fn import(pattern: &str, given: &[&str]) -> Result<Assembled, Error> {
    let dir = tempfile::tempdir().unwrap();
    for ((name, clients), number) in names(pattern).into_iter().zip(0..) {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, pgbench(1000.0 + f64::from(number), &clients)).unwrap();
    }
    let root = dir.path().display();
    let arguments: Vec<String> = match given {
        [] => vec![root.to_string()],
        arms => arms.iter().map(|arm| format!("{arm}={root}/{arm}")).collect(),
    };
    Assembled::new(load_all(&files(&arguments)?, None, false)?.0, &Choices::default())
}

#[test]
fn layouts_are_read_as_their_authors_meant_them() {
    for (pattern, arms, tests) in [
        // Directories of two levels that are crossed.
        ("{pg16,pg17}/{lz4,pglz}/{1,2,3}.log", "pg16 pg17", "tpcb-like.lz4 tpcb-like.pglz"),
        ("{lz4,pglz}/{pg16,pg17}/{1,2,3}.log", "pg16 pg17", "tpcb-like.lz4 tpcb-like.pglz"),
        ("{base,head}/{hostA,hostB}/{1,2,3}.log", "base head", "tpcb-like.hostA tpcb-like.hostB"),
        ("{lz4,pglz}/{base,head}/{1,2,3}.log", "base head", "tpcb-like.lz4 tpcb-like.pglz"),
        ("{base,head}/{1,2,3}-{lz4,pglz}.log", "base head", "tpcb-like.lz4 tpcb-like.pglz"),
        ("{base,head}/{lz4,pglz}-{1,2,3}.log", "base head", "tpcb-like.lz4 tpcb-like.pglz"),
        // Clients in directories, and at the end of names.
        (
            "{pg16,pg17}/@{4clients,16clients}/{1,2,3}.log",
            "pg16 pg17",
            "tpcb-like_clients=4 tpcb-like_clients=16",
        ),
        (
            "{clang,gcc}/@{4clients,16clients}/{1,2,3}.log",
            "clang gcc",
            "tpcb-like_clients=4 tpcb-like_clients=16",
        ),
        ("{base,head}-{1,2,3}-@{4,8}.txt", "base head", "tpcb-like_clients=4 tpcb-like_clients=8"),
        ("{1,2,3}-{base,head}-@{4,8}.txt", "base head", "tpcb-like_clients=4 tpcb-like_clients=8"),
        ("{base,head}/{1,2,3}-@{1,2}.txt", "base head", "tpcb-like_clients=1 tpcb-like_clients=2"),
        ("{base,head}/@{1,2}-{1,2,3}.txt", "base head", "tpcb-like_clients=1 tpcb-like_clients=2"),
        ("{base,head}/{1,2,3}/@{1,2}.txt", "base head", "tpcb-like_clients=1 tpcb-like_clients=2"),
        // Numbers of patches beside those of repeats.
        ("{master,v1,v2}/{1,2,3}.log", "master v1 v2", "tpcb-like"),
        ("{1,2,3}-{master,v1,v2}.log", "master v1 v2", "tpcb-like"),
        ("r{1,2,3}-{master,v1,v2}.log", "master v1 v2", "tpcb-like"),
        ("r{1,2,3}-v{1,2}.log", "v1 v2", "tpcb-like"),
        ("run{1,2,3}-{0001,0002,HEAD}.log", "0001 0002 HEAD", "tpcb-like"),
        ("try{1,2,3}-{base,fix1,fix2}.log", "base fix1 fix2", "tpcb-like"),
        ("gcc{13,14}-t{1,2,3}.log", "gcc13 gcc14", "tpcb-like"),
        ("2026-11-2{1,2,3}/{base,head}-{1,2}.log", "base head", "tpcb-like"),
    ] {
        let found = import(pattern, &[]).unwrap();
        let own: Vec<&str> = found.arms.iter().map(|arm| arm.name.as_str()).collect();
        let steps: Vec<&str> = found.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!((own.join(" "), steps.join(" ")), (arms.to_owned(), tests.to_owned()), "{pattern}");
        let repeats = found.results.len() / own.len() / steps.len();
        assert_eq!(
            (repeats, found.repeats as usize),
            (names(pattern).len() / own.len() / steps.len(), repeats),
            "{pattern}"
        );
        assert_eq!(found.unpaired, [], "{pattern}");
    }
}

/// Each error says which readings there are and what to type for each, with patterns for the files of each arm.
#[test]
fn layouts_with_two_readings_are_refused() {
    for (pattern, parts) in [
        (
            "{1,2,3}_{HEAD,0001,0002}.log",
            &[
                "which of them is the repeat's cannot be told: if 0001, 0002 are arms, type: rqps import ",
                "/*_HEAD.log'",
                "-0002='",
                "if all are repeats of ",
            ][..],
        ),
        ("{1234567,7654321}-{1,2,3}.txt", &["if 1234567, 7654321 are arms", "-7654321='", "/7654321-*.txt'"]),
        // A time tells the repeat, so the other number does not.
        (
            "{20261127-100100-HEAD,20261127-100200-0001,20261127-100300-0002,20261127-100400-HEAD,20261127-100500-0001,\
             20261127-100600-0002}.log",
            &["if 0001, 0002 are arms"],
        ),
        (
            "{base,head}/{1,2}/{1,2,3}.log",
            &[
                "if 1, 2 are arms",
                "head-2='",
                "if they are tests, for 1,",
                "/base/1/*.log'",
                "/base/*/*.log'",
            ],
        ),
        ("run{1,2,3}/{001-base,002-head,003-base,004-head}.log", &["/run*/*-base.log'", "/run*/*-head.log'"]),
        (
            "t{1,2}-s{1,2,3}.log",
            &["If t1, t2 are arms", "t1='", "/t1-s*.log'", "if s1, s2, s3 are", "/t*-s3.log'"],
        ),
    ] {
        let error = import(pattern, &[]).map(|found| found.arms.len()).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{pattern}, {part}: {error}");
        }
    }
}

/// Of arms that the user named, files of several names, one of each, are repeats: that is said.
#[test]
fn settings_within_a_named_arm_are_told() {
    let found = import("{base,head}/{lz4,pglz,zstd}.log", &["base", "head"]).unwrap();
    assert_eq!((found.steps.len(), found.repeats), (1, 3));
    let told = found.taken.iter().any(|text| {
        text.starts_with("lz4, pglz, zstd in names of files were taken for names of repeats")
            && text.contains("if they are settings")
    });
    assert!(told, "{:?}", found.taken);
    let found = import("{base,head}/{lz4,pglz}-{1,2,3}.log", &["base", "head"]).unwrap();
    assert_eq!((found.steps.len(), found.repeats), (2, 3));
}
