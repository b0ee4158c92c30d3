//! What this crate needs from a DBMS. `systems` lists the implementations; neither they nor their
//! dependencies may use it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_builds::{Build, ServerUser};
use rqps_model::{LeftOut, did_you_mean};
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::{Result, Why};
use crate::host::HostLimits;
use crate::new_data_dir::NewDataDir;
use crate::option::Line;
use crate::spec::{Applied, Listen, ServerSpec};

/// Time limit of a start: enough to recover some 100 GB of WAL.
pub(crate) const START_MAX: Duration = Duration::from_secs(2 * 3600);

/// Embeds configs of a folder in `/configs`: an array of names and texts.
macro_rules! embed_configs {
    ($folder:literal, $extension:literal: $($name:literal),* $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../../../../configs/", $folder, "/", $name, ".", $extension)),
        )),*]
    };
}
pub(crate) use embed_configs;

/// The differences between DBMSs in configs, data directories and servers.
pub(crate) trait System: Sync {
    /// Names and texts of the shipped configs, with placeholders.
    fn shipped(&self) -> &'static [(&'static str, &'static str)];

    /// The text of a shipped config, sized for the host; None if there is no such config.
    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String>;

    /// Parses one line of a config. `section` is the current section, updated by a section header; it is
    /// empty at the start of a file. `version` is that of the server that is to read it, for sections of one series;
    /// it is empty if none is known.
    fn line(&self, section: &mut String, line: &str, version: &str) -> std::result::Result<Line, String>;

    /// Options that rqps sets, whatever a config has.
    fn own_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Formats an option as a line of a config.
    fn format_option(&self, option: &str, value: &str) -> String;

    /// Fills an empty directory with a new cluster that has the superuser, the benchmark's database and the
    /// config.
    fn fill(&self, new: &NewDataDir<'_>) -> Result<Applied>;

    /// The options that a build knows with what a config loads. `place` is an empty directory of the user.
    fn known_options<'a>(
        &self,
        build: &'a Build,
        config: &Config,
        user: &'a ServerUser,
        place: &'a Path,
    ) -> Result<Box<dyn Known + 'a>>;

    /// Parts of an option's value that the build does not have and that resemble one that it has, with that one.
    fn misspelled(&self, _build: &Build, _option: (&str, &str)) -> Vec<(String, String)> {
        Vec::new()
    }

    /// A key for the contents of a data directory: builds with equal keys can read each other's files and
    /// would have written the same.
    fn data_key(&self, build: &Build, config: &Config) -> String;

    /// Refuses a data directory that this build cannot use. Call when no server is running.
    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, marker: &Marker) -> Result<()>;

    /// Returns the reason as an error if the server was not shut down cleanly. Call when no server is
    /// running.
    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String>;

    /// Records a clean shutdown if the server's own files do not.
    fn note_shut_down(&self, _data_dir: &DataDir, _user: &ServerUser) -> Result<()> {
        Ok(())
    }

    /// The pid of the server running on a data directory.
    fn running_server(&self, data_dir: &Path) -> Option<u32>;

    /// The port for servers that listen only on a Unix socket; each has its own socket directory.
    fn socket_port(&self) -> u16;

    /// File name of the socket.
    fn socket_name(&self, port: u16) -> String;

    /// Whether creating a cluster takes so long that an empty one is worth keeping.
    fn keeps_empty(&self) -> bool {
        true
    }

    /// Writes the options of a server.
    fn apply(&self, start: &Start<'_>) -> Result<Applied>;

    /// Writes the options of a server and returns how to start it.
    fn command(&self, start: &Start<'_>) -> Result<ServerCommand>;

    /// Whether the server accepts sessions.
    fn is_ready(&self, data_dir: &Path, build: &Build, pid: u32, socket: &Path) -> bool;

    /// Log messages of failed starts that are worth a retry.
    fn transient_failures(&self) -> &'static [&'static str];

    fn is_transient(&self, tail: &str) -> bool {
        self.transient_failures().iter().any(|message| tail.contains(message))
    }

    /// Known causes of a failed start, the most specific first.
    fn causes(&self) -> &'static [Cause];

    /// Signs in a log or an error that its data are not what it wrote: only a new load helps.
    fn damage(&self) -> &'static [&'static str] {
        &[]
    }

    /// The hint for the first known cause in the end of a log, on a line of its own; empty without one.
    fn hint(&self, tail: &str) -> String {
        self.advice(tail).map_or_else(String::new, |advice| format!("\nhint: {advice}"))
    }

    fn advice(&self, tail: &str) -> Option<&'static str> {
        let mut causes = self.causes().iter();
        let known = causes.find(|(signs, _)| signs.iter().any(|sign| line_with(sign, tail).is_some()));
        known.map(|(_, advice)| *advice)
    }

    /// The line of a log that shows a known cause, or its only line.
    fn telling_line<'t>(&self, tail: &'t str) -> Option<&'t str> {
        let signs = self.causes().iter().flat_map(|(signs, _)| signs.iter());
        let known = signs.filter_map(|sign| line_with(sign, tail)).next();
        known.or_else(|| Some(tail.trim()).filter(|line| !line.is_empty() && !line.contains('\n')))
    }

    /// What the last lines of a log tell of a server that did not start with a config.
    fn why(&self, config: &Config, tail: &str) -> Why {
        let advice = self.advice(tail);
        let blamed = || blamed_line(config, self.own_options(), tail).filter(|_| advice.is_none());
        let telling = blamed().or_else(|| self.telling_line(tail)).unwrap_or_default();
        Why {
            config: config.name.clone(),
            telling: telling.to_owned(),
            refuses_config: blamed().is_some() || advice == Some(CORRECT_CONFIG),
            hint: match blamed() {
                Some(line) => format!("\nhint: the server says `{line}`; {CORRECT_CONFIG}"),
                None => self.hint(tail),
            },
        }
    }

    /// Signals that stop its servers.
    fn signals(&self) -> Signals;
}

/// Mark of lines in a server's log in spite of which it went on, such as without large pages.
const WARNING: &str = "[Warning]";

/// The first line of a log with a sign, but for warnings.
fn line_with<'t>(sign: &str, tail: &'t str) -> Option<&'t str> {
    tail.lines().find(|line| line.contains(sign) && !line.contains(WARNING))
}

/// Marks of lines in a server's log without which it would have started.
const SEVERE: [&str; 2] = ["[ERROR]", "FATAL:"];

/// The first severe line that names an option of the config, without the time. Words that may be no option's name, such
/// as `fsync`, do not count, nor do options that rqps sets.
fn blamed_line<'t>(config: &Config, own: &[&str], tail: &'t str) -> Option<&'t str> {
    let is_set = |word: &str| {
        let name = word.trim_matches('-').to_ascii_lowercase().replace('-', "_");
        let is_config = || config.options.iter().any(|(option, _)| *option == name);
        name.contains('_') && !own.contains(&&*name) && is_config()
    };
    let severe = |line: &'t str| SEVERE.iter().find_map(|mark| Some(&line[line.find(mark)?..]));
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let mut lines = tail.lines().filter_map(severe);
    lines.find(|line| line.split(|c| !is_part(c)).any(is_set))
}

/// The options of a build.
pub(crate) trait Known {
    /// Whether the build has the option.
    fn has(&self, option: &str) -> Result<bool>;

    /// Those of some options that the build does not accept. It may accept, without effect, some that it does not have.
    fn unknown(&self, options: &[&str]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for option in options {
            if !self.has(option)? {
                found.push((*option).to_owned());
            }
        }
        Ok(found)
    }

    /// Why the build does not accept an option that is unknown to it; `None` if there is no more to say.
    fn why_unknown(&self, _option: (&str, &str)) -> Result<Option<LeftOut>> {
        Ok(None)
    }

    /// Why the build refuses values of options that it knows; `None` if it accepts all, or only its start can tell.
    fn refusal(&self, _options: &[(&str, &str)]) -> Result<Option<String>> {
        Ok(None)
    }

    /// Those of some options whose values the build's program accepts when it is only asked, and a start of it does not
    /// take: it ends, or goes on without them.
    fn refused_at_start(&self, _options: &[(&str, &str)]) -> Result<Vec<LeftOut>> {
        Ok(Vec::new())
    }

    /// Those of some options for whose numbers the build uses others.
    fn adjusted(&self, _options: &[(&str, &str)]) -> Result<Vec<LeftOut>> {
        Ok(Vec::new())
    }

    /// Whether an option that it does not have is a variable of servers that nobody can set.
    fn is_read_only(&self, _option: &str) -> bool {
        false
    }

    /// What of an option's value this machine or the build lacks, so that it is left out; `None` if nothing is known.
    fn lacking(&self, _config: &Config, _option: (&str, &str)) -> Result<Option<LeftOut>> {
        Ok(None)
    }

    /// The value of an option that nothing sets; `None` if it is not listed.
    fn default_of(&self, _option: &str) -> Option<&str> {
        None
    }

    /// The names that it lists.
    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_>;

    /// Asks for an option that may be meant by a name that it does not know.
    fn question(&self, option: &str) -> Option<String> {
        did_you_mean(option, self.names())
    }
}

pub(crate) struct Start<'a> {
    pub spec: &'a ServerSpec,
    pub data_dir: &'a DataDir,
    pub user: &'a ServerUser,
    pub listen: &'a Listen,
}

pub(crate) struct ServerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub applied: Applied,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Signals {
    /// Clean shutdown: ends sessions, nothing is left to recover.
    pub clean: Signal,
    /// Immediate shutdown with all processes; the next start recovers.
    pub quick: Signal,
    /// The same, sent by the kernel when rqps dies.
    pub death: Signal,
}

/// Messages that show a cause, and the advice.
pub(crate) type Cause = (&'static [&'static str], &'static str);

/// Advice if a build refuses the values of a config.
pub(crate) const CORRECT_CONFIG: &str = "correct the value in the config, or use another config for this build, and start a \
                                         new run: a run keeps a copy of its configs";

pub(crate) const PORT_TAKEN: Cause = (
    &["Address already in use"],
    "another program took the port each time: try again, or use the Unix socket",
);

/// Why a data directory cannot be copied.
pub(crate) const NOT_SHUT_DOWN: &str = "its server was not shut down cleanly: start it and stop it first";
