//! Options of the modules that come with Postgres. A server accepts any name with a dot, since a module may be loaded
//! later that has it, so that a misspelled one has no effect and nobody says so.

use rqps_model::nearest;

/// Those of Postgres 9.3 to 18, by module.
const OPTIONS: [(&str, &[&str]); 16] = [
    ("auth_delay", &["milliseconds"]),
    (
        "auto_explain",
        &[
            "log_analyze",
            "log_buffers",
            "log_format",
            "log_level",
            "log_min_duration",
            "log_nested_statements",
            "log_parameter_max_length",
            "log_settings",
            "log_timing",
            "log_triggers",
            "log_verbose",
            "log_wal",
            "sample_rate",
        ],
    ),
    ("basebackup_to_shell", &["command", "required_role"]),
    ("basic_archive", &["archive_directory"]),
    ("isn", &["weak"]),
    ("passwordcheck", &["min_password_length"]),
    ("pg_prewarm", &["autoprewarm", "autoprewarm_interval"]),
    ("pg_stat_statements", &["max", "save", "track", "track_planning", "track_utility"]),
    ("pg_trgm", &["similarity_threshold", "strict_word_similarity_threshold", "word_similarity_threshold"]),
    ("pgcrypto", &["builtin_crypto_enabled"]),
    ("plperl", &["on_init", "on_plperl_init", "on_plperlu_init", "use_strict"]),
    (
        "plpgsql",
        &["check_asserts", "extra_errors", "extra_warnings", "print_strict_params", "variable_conflict"],
    ),
    ("pltcl", &["start_proc"]),
    ("pltclu", &["start_proc"]),
    ("postgres_fdw", &["application_name"]),
    ("sepgsql", &["debug_audit", "permissive"]),
];

/// The option of a module that a name with a dot misspells; `None` if it is one, or like none: of another module, or of
/// a version or a fork that has more.
pub(crate) fn meant(option: &str) -> Option<String> {
    let (module, name) = option.split_once('.')?;
    let module_meant = nearest(module, OPTIONS.iter().map(|(module, _)| *module))?;
    let (_, names) = OPTIONS.iter().find(|(known, _)| *known == module_meant)?;
    let meant = format!("{module_meant}.{}", nearest(name, names.iter().copied())?);
    (meant != option).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slips_of_options_of_modules_are_found() {
        for (written, expected) in [
            ("pg_stat_statements.trak", Some("pg_stat_statements.track")),
            ("pg_stat_statement.track", Some("pg_stat_statements.track")),
            ("auto_explain.log_min_durations", Some("auto_explain.log_min_duration")),
            ("auto_explan.log_analyse", Some("auto_explain.log_analyze")),
            ("plpgsql.check_assert", Some("plpgsql.check_asserts")),
        ] {
            assert_eq!(meant(written).as_deref(), expected, "{written}");
        }
        let known = OPTIONS.iter().flat_map(|(module, names)| names.iter().map(move |name| (module, name)));
        let known = known.map(|(module, name)| format!("{module}.{name}"));
        // Of others, also of forks, and of what a user invents.
        let others = [
            "pg_stat_statements.sample_rate",
            "pg_stat_kcache.track",
            "pg_stat_monitor.pgsm_max",
            "plpgsql_check.mode",
            "pg_hint_plan.enable_hint",
            "pgaudit.log",
            "cron.database_name",
            "timescaledb.max_background_workers",
            "myapp.user",
            "work_mem",
        ];
        for option in known.chain(others.map(str::to_owned)) {
            assert_eq!(meant(&option), None, "{option}");
        }
    }
}
