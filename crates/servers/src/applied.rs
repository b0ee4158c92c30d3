//! Turns a config into a server's options, for any DBMS: which are left out and why, `max_connections`, and
//! the text of the server's file.

use rqps_builds::Build;
use rqps_model::LeftOut;

use crate::config::Config;
use crate::error::Result;
use crate::spec::{Applied, Listen};

/// Connections besides the clients': probes, monitors, and those reserved for superusers.
const CONNECTIONS_EXTRA: u32 = 20;

pub(crate) type Options = Vec<(String, String)>;

/// Splits a config into options that a build accepts and those left out. `own` are those that rqps sets;
/// `refusal` returns why the build cannot accept one with its value.
pub(crate) fn select_options(
    config: &Config,
    build: &Build,
    own: &[&str],
    mut refusal: impl FnMut(&str, &str) -> Result<Option<LeftOut>>,
) -> Result<(Options, Vec<LeftOut>)> {
    let (mut kept, mut left_out) = (Vec::new(), config.refused.clone());
    for (option, value) in &config.options {
        let because = |reason: String| LeftOut { reason, ..LeftOut::default() };
        let refused = match own.contains(&option.as_str()) {
            true => Some(because("set by rqps".to_owned())),
            false => refusal(option, value)?,
        };
        let left = if refused.is_some() {
            refused
        } else if let Some(before) = config.value_before(build, option) {
            kept.push((option.clone(), before.value.clone()));
            Some(because(format!(
                "{1} is used, the config's value for versions before {0}",
                before.version, before.value
            )))
        } else {
            kept.push((option.clone(), value.clone()));
            None
        };
        left_out.extend(left.map(|left| LeftOut { option: option.clone(), value: value.clone(), ..left }));
    }
    Ok((kept, left_out))
}

/// An option that a build does not know.
pub(crate) fn unknown_option() -> LeftOut {
    LeftOut { reason: "unknown".to_owned(), unknown: true, ..LeftOut::default() }
}

impl Applied {
    /// Raises `max_connections` if it is too low, and returns whether it did. `kept` are the config's
    /// options.
    pub(crate) fn raise_max_connections(
        &mut self,
        kept: &Options,
        listen: &Listen,
        connections: u32,
    ) -> bool {
        let needed = listen.clients_max + CONNECTIONS_EXTRA;
        if connections >= needed {
            return false;
        }
        if let Some((option, value)) = kept.iter().find(|(name, _)| name == "max_connections") {
            self.left_out.push(LeftOut {
                option: option.clone(),
                value: value.clone(),
                reason: format!("{} clients need {needed}", listen.clients_max),
                ..LeftOut::default()
            });
        }
        self.added.push(("max_connections".to_owned(), needed.to_string()));
        true
    }

    /// The text of the server's file: `header`, the config's options, those left out as comments, rqps's
    /// own. `format_option` formats an option in the DBMS's syntax.
    pub(crate) fn render(
        &self,
        config: &Config,
        kept: &Options,
        header: &str,
        format_option: impl Fn(&str, &str) -> String,
    ) -> String {
        let rule = "#".repeat(80);
        let mut text = format!("{rule}\n# Config {} (sha256 {})\n{rule}\n{header}", config.name, config.hash);
        for (option, value) in kept {
            text.push_str(&format!("{}\n", format_option(option, value)));
        }
        for left in &self.left_out {
            let what = if left.taken.is_some() { "adjusted" } else { "left out" };
            text.push_str(&format!(
                "# {what}: {} ({})\n",
                format_option(&left.option, &left.value),
                left.reason
            ));
        }
        text.push_str(&format!("\n{rule}\n# Set by rqps\n{rule}\n"));
        for (option, value) in &self.added {
            text.push_str(&format!("{}\n", format_option(option, value)));
        }
        text
    }
}
