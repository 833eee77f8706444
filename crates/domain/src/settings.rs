//! Settings: what the owner can set, each with its type, bounds and default.
//! Pure: values are kept by `store::settings`, changed by `hall::settings`.

use serde::Serialize;

use crate::{
    Refusal, browser::AllowedOrigins, cloud::urls::CloudUrl, errors::ValidationErrors, limits,
    rooms::TURN_LIMITS_DEFAULT, trusted_proxies::TrustedProxies, workbench::PreviewPorts,
};

/// A setting's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// On or off.
    Flag(bool),
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

impl SettingValue {
    /// The number it is; 0 for anything else.
    pub fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Flag(_) | Self::Text(_) | Self::Texts(_) => 0,
        }
    }

    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        *self == Self::Flag(true)
    }

    /// The text it is; `""` for anything else.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Flag(_) | Self::Number(_) | Self::Texts(_) => "",
        }
    }

    /// The texts it lists; none for anything else.
    pub fn texts(&self) -> &[String] {
        match self {
            Self::Texts(texts) => texts,
            Self::Flag(_) | Self::Number(_) | Self::Text(_) => &[],
        }
    }
}

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// On or off.
    Flag {
        /// Unless it is set.
        default: bool,
    },
    /// A whole number.
    Number {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// Unless it is set.
        default: u64,
    },
    /// One of some words.
    Word {
        /// The words; the first is the default.
        words: &'static [&'static str],
    },
    /// Origins such as `https://example.org`; none unless it is set.
    Origins {
        /// Characters of each at most.
        max: usize,
        /// Lines at most.
        count: usize,
    },
    /// Addresses and networks such as `10.0.0.0/8`; none unless it is set.
    Networks {
        /// Characters of each at most.
        max: usize,
        /// Lines at most.
        count: usize,
    },
    /// A range of ports, [`PreviewPorts::DEFAULT`] unless it is set.
    Ports,
    /// The address of a cloud service, empty unless it is set.
    Service,
    /// The absolute path of a folder, empty unless it is set.
    Folder {
        /// Characters at most.
        max: usize,
    },
    /// A line of text, empty unless it is set.
    Text {
        /// Characters at most.
        max: usize,
    },
    /// Lines of text; none unless it is set.
    Texts {
        /// Characters of each at most.
        max: usize,
        /// Lines at most.
        count: usize,
    },
}

/// A setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, dotted.
    pub key: &'static str,
    /// Which values it takes.
    pub kind: SettingKind,
    /// Whether a change counts only from the next start on.
    pub restart_needed: bool,
    /// One sentence for a person.
    pub description: &'static str,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $kind:expr, $restart:literal, $description:literal;)+) => {
        $(
            #[doc = $description]
            pub static $name: Setting = Setting {
                key: $key,
                kind: $kind,
                restart_needed: $restart,
                description: $description,
            };
        )+

        /// Every setting, by key.
        pub static ALL: &[&Setting] = &[$(&$name),+];
    };
}

const FOLDERS: SettingKind = SettingKind::Texts {
    max: limits::CWD_CHARS_MAX,
    count: 100,
};
const NAMES: SettingKind = SettingKind::Texts {
    max: 300,
    count: 100,
};

const fn number(min: u64, max: u64, default: u64) -> SettingKind {
    SettingKind::Number { min, max, default }
}

settings! {
    AGENTS_ENCLOSURE = "agents.enclosure", SettingKind::Word { words: &["auto", "required", "off"] }, false,
        "How agents are kept from the server's ports and files: auto as far as this computer can, required so that no agent starts unless every mechanism works, off not at all. It takes effect when an agent starts next.";
    AGENTS_HIDDEN_FOLDERS = "agents.hiddenFolders", FOLDERS, false,
        "Further folders that agents see as empty at these paths, such as keys, or the data folder of another guildhall.";
    AGENTS_REACH_CONTAINERS = "agents.reachContainers", SettingKind::Flag { default: false }, false,
        "Whether agents reach the daemons of Docker and Podman, which start programs outside of the enclosure.";
    AGENTS_REACH_TERMINALS = "agents.reachTerminals", SettingKind::Flag { default: false }, false,
        "Whether agents reach the sessions of tmux and GNU Screen, where they could type outside of the enclosure.";
    AGENTS_REACH_USER_SERVICES = "agents.reachUserServices", SettingKind::Flag { default: false }, false,
        "Whether agents can use the buses of session and system and systemd's sockets, which start programs outside of the enclosure.";
    BROWSER_AGENT_ORIGINS = "browser.agentOrigins", SettingKind::Origins { max: 300, count: 100 }, false,
        "The origins agents may open in a shared tab; empty for any. It guides them and confines nothing: pages lead on as they like.";
    BROWSER_ENABLED = "browser.enabled", SettingKind::Flag { default: true }, false,
        "Whether the local browser may be opened; one that is open stays as it is until it is closed.";
    CLOUD_URL = "cloud.url", SettingKind::Service, true,
        "The cloud service this instance can be linked to; empty for none, and nothing is ever sent then.";
    DEFAULT_DIRECTORY = "files.defaultDirectory", SettingKind::Text { max: limits::CWD_CHARS_MAX }, false,
        "The folder in which new work begins, beneath home; empty for home itself.";
    FILES_PEOPLE = "files.people", SettingKind::Word { words: &["none", "boundary"] }, false,
        "Which files people other than the owner reach: none, or those beneath files.roots.";
    FILES_ROOTS = "files.roots", FOLDERS, true,
        "The folders agents work beneath; empty for home, the temporary folder and the one the server was started in.";
    ATTACHMENT_BYTES_MAX = "rooms.attachmentBytesMax", number(1, 1 << 30, 10 << 20), false,
        "Bytes of one attachment.";
    ATTACHMENT_STORE_BYTES_MAX = "rooms.attachmentStoreBytesMax", number(0, 1 << 50, 5 << 30), false,
        "Bytes of all attachments together.";
    ATTACHMENTS_PER_ENTRY_MAX = "rooms.attachmentsPerEntryMax", number(0, 100, 10), false,
        "Attachments of one post.";
    DEFAULT_AGENT = "rooms.defaultAgent", SettingKind::Text { max: 200 }, false,
        "The id of the agent that answers in the team room when nobody else is named; empty for the first one registered.";
    MAX_AGENT_DEPTH = "rooms.maxAgentDepth", number(0, 100, TURN_LIMITS_DEFAULT.max_agent_depth as u64), false,
        "How many automatic replies may follow a person's post; 0 stops them all.";
    MAX_AUTO_TURNS_PER_ROOM_PER_HOUR = "rooms.maxAutoTurnsPerRoomPerHour", number(0, 10_000, TURN_LIMITS_DEFAULT.max_auto_turns_per_hour as u64), false,
        "Automatic turns of one room in an hour.";
    MAX_AUTO_TURNS_TOTAL_PER_HOUR = "rooms.maxAutoTurnsTotalPerHour", number(0, 100_000, 5_000), false,
        "Automatic turns of all rooms together in an hour.";
    MAX_CANVAS_OPS_PER_TURN = "rooms.maxCanvasOpsPerTurn", number(1, 10, 3), false,
        "Canvas changes an agent makes in one turn of a room; more are refused.";
    MAX_CONCURRENT_TURNS_PER_AGENT = "rooms.maxConcurrentTurnsPerAgent", number(1, 8, 3), false,
        "Turns one agent takes at the same time, over all rooms; further ones are held.";
    MAX_POSTS_PER_TURN = "rooms.maxPostsPerTurn", number(1, 10, 3), false,
        "Posts an agent writes in one turn of a room beside its answer; more are refused.";
    MAX_TURNS_PER_AGENT_PER_CASCADE = "rooms.maxTurnsPerAgentPerCascade", number(1, 100, TURN_LIMITS_DEFAULT.max_turns_per_agent_per_cascade as u64), false,
        "Turns one agent takes in one room after one post of a person.";
    TURN_LIMITS_ENABLED = "rooms.turnLimitsEnabled", SettingKind::Flag { default: true }, false,
        "Whether the limits of automatic turns count; off lifts them all, in every room.";
    DEFAULT_RUNTIME = "runtimes.default", SettingKind::Text { max: 64 }, false,
        "The runtime of agents that are registered without one; empty for the first one there is.";
    ALLOWED_HOSTS = "server.allowedHosts", NAMES, true,
        "Further host names this server answers to.";
    ALLOWED_ORIGINS = "server.allowedOrigins", NAMES, true,
        "Further origins whose pages may call this server.";
    PUBLIC_URL = "server.publicUrl", SettingKind::Text { max: 300 }, false,
        "Where browsers reach this server, with scheme, host and port; sign-ins of tool servers come back there. Empty for this computer.";
    TRUSTED_PROXIES = "server.trustedProxies", SettingKind::Networks { max: 50, count: 100 }, true,
        "Proxies before this server, by address or network: what they add to X-Forwarded-For, -Proto and -Host or to Forwarded says where a request comes from, and how it was asked.";
    BACKUP_BYTES_MAX = "storage.backupBytesMax", number(0, 1 << 50, 5 << 30), false,
        "Bytes that backups may take together, without the files of attachments beside them; the newest one is always kept.";
    BACKUP_FOLDER = "storage.backupFolder", SettingKind::Folder { max: limits::CWD_CHARS_MAX }, false,
        "A second folder, on another disk, to which every backup is copied with its attachments; empty for none.";
    WORKBENCH_PEOPLE = "workbench.people", SettingKind::Word { words: &["none", "previews"] }, false,
        "Whether people other than the owner see dev servers of this computer, whose programs they reach as its user does: none, or previews.";
    PREVIEW_PORTS = "workbench.previewPorts", SettingKind::Ports, false,
        "The ports on which previews of dev servers are shown, at most 64; one that is open stays where it is.";
}

/// The setting with this key.
pub fn find(key: &str) -> Option<&'static Setting> {
    ALL.iter().find(|setting| setting.key == key).copied()
}

impl Setting {
    /// Its value unless it is set.
    pub fn default(&self) -> SettingValue {
        match self.kind {
            SettingKind::Flag { default } => SettingValue::Flag(default),
            SettingKind::Number { default, .. } => SettingValue::Number(default),
            SettingKind::Word { words } => {
                SettingValue::Text(words.first().copied().unwrap_or("").to_owned())
            }
            SettingKind::Ports => SettingValue::Text(PreviewPorts::DEFAULT.to_owned()),
            SettingKind::Text { .. } | SettingKind::Folder { .. } | SettingKind::Service => {
                SettingValue::Text(String::new())
            }
            SettingKind::Networks { .. }
            | SettingKind::Origins { .. }
            | SettingKind::Texts { .. } => SettingValue::Texts(Vec::new()),
        }
    }

    /// Takes a value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, value: &SettingValue) -> Result<(), String> {
        let line = |text: &str, max: usize| match text {
            _ if text.chars().count() > max => Err(format!("must have at most {max} characters")),
            _ if text.chars().any(char::is_control) => {
                Err("must not hold control characters".to_owned())
            }
            _ => Ok(()),
        };
        match (self.kind, value) {
            (SettingKind::Flag { .. }, SettingValue::Flag(_)) => Ok(()),
            (SettingKind::Number { min, max, .. }, SettingValue::Number(number)) => {
                if (min..=max).contains(number) {
                    Ok(())
                } else {
                    Err(format!("must be {min} to {max}"))
                }
            }
            (SettingKind::Word { words }, SettingValue::Text(word))
                if words.contains(&word.as_str()) =>
            {
                Ok(())
            }
            (SettingKind::Word { words }, _) => Err(format!("must be one of {}", words.join(", "))),
            (SettingKind::Ports, SettingValue::Text(text)) => PreviewPorts::parse(text).map(|_| ()),
            (SettingKind::Service, SettingValue::Text(text)) if text.is_empty() => Ok(()),
            (SettingKind::Service, SettingValue::Text(text)) => CloudUrl::parse(text).map(|_| ()),
            (SettingKind::Text { max }, SettingValue::Text(text)) => line(text, max),
            (SettingKind::Folder { .. }, SettingValue::Text(text))
                if !text.is_empty() && !text.starts_with('/') =>
            {
                Err("must be an absolute path".to_owned())
            }
            (SettingKind::Folder { max }, SettingValue::Text(text)) => line(text, max),
            (
                SettingKind::Networks { max, count }
                | SettingKind::Origins { max, count }
                | SettingKind::Texts { max, count },
                SettingValue::Texts(texts),
            ) => {
                if texts.len() > count {
                    return Err(format!("must have at most {count} items"));
                }
                texts.iter().try_for_each(|text| line(text, max))?;
                match self.kind {
                    SettingKind::Origins { .. } => origins(texts),
                    SettingKind::Networks { .. } => {
                        TrustedProxies::parse(texts.iter().map(String::as_str)).map(|_| ())
                    }
                    _ => Ok(()),
                }
            }
            (SettingKind::Flag { .. }, _) => Err("must be true or false".to_owned()),
            (SettingKind::Number { .. }, _) => {
                Err("must be a whole number that is not negative".to_owned())
            }
            (
                SettingKind::Text { .. }
                | SettingKind::Folder { .. }
                | SettingKind::Ports
                | SettingKind::Service,
                _,
            ) => Err("must be text".to_owned()),
            (
                SettingKind::Networks { .. }
                | SettingKind::Origins { .. }
                | SettingKind::Texts { .. },
                _,
            ) => Err("must be a list of texts".to_owned()),
        }
    }
}

fn origins(texts: &[String]) -> Result<(), String> {
    let read = AllowedOrigins::parse(texts.iter().map(String::as_str));
    read.map(|_| ())
        .map_err(|text| format!("holds {text:?}, which is no origin such as https://example.org"))
}

/// Who said what a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// Nobody.
    Default,
    /// The configuration file.
    File,
    /// The environment.
    Env,
    /// The command line.
    Flag,
    /// A person, here.
    Stored,
}

impl SettingSource {
    /// Every source with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Default, "default"),
        (Self::File, "file"),
        (Self::Env, "env"),
        (Self::Flag, "flag"),
        (Self::Stored, "stored"),
    ];

    /// Whether nobody can set it here.
    pub fn is_fixed(self) -> bool {
        matches!(self, Self::Env | Self::Flag)
    }
}

/// What a setting is now, and who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value.
    pub value: SettingValue,
    /// Who said so.
    pub source: SettingSource,
}

impl EffectiveSetting {
    /// Joins what is stored here with what was configured outside: a flag or the environment
    /// wins over what is stored, that over the file, and that over the default.
    pub fn join(
        setting: &'static Setting,
        stored: Option<SettingValue>,
        configured: Option<(SettingSource, SettingValue)>,
    ) -> Self {
        let (source, value) = match (stored, configured) {
            (_, Some((source, value))) if source.is_fixed() => (source, value),
            (Some(value), _) => (SettingSource::Stored, value),
            (None, Some((source, value))) => (source, value),
            (None, None) => (SettingSource::Default, setting.default()),
        };
        Self {
            setting,
            value,
            source,
        }
    }
}

/// A change of settings: each key with its new value, `None` to drop the stored one.
pub type SettingsPatch = Vec<(String, Option<SettingValue>)>;

/// Whether only the owner at a screen changes a setting: what agents are kept from is opened by no
/// program, and neither is a place named to which everything is copied.
pub fn is_for_people_only(key: &str) -> bool {
    key.starts_with("agents.") || key == BACKUP_FOLDER.key
}

/// Checks a change as a whole.
///
/// # Errors
/// [`Refusal::UnknownSetting`] with every key there is not, else [`Refusal::Validation`] with
/// everything that is wrong.
///
/// Source: contract 1.12b.
pub fn check(patch: &SettingsPatch) -> Result<(), Refusal> {
    let unknown: Vec<String> = patch
        .iter()
        .filter(|(key, _)| find(key).is_none())
        .map(|(key, _)| key.clone())
        .collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownSetting(unknown));
    }
    let mut invalid = ValidationErrors::default();
    for (key, value) in patch {
        let Some((setting, value)) = find(key).zip(value.as_ref()) else {
            continue;
        };
        if let Err(problem) = setting.check(value) {
            invalid.field(key, problem);
        }
    }
    if invalid.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Validation(invalid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_order_and_defaults_fit_their_own_kind() {
        for pair in ALL.windows(2) {
            assert!(pair[0].key < pair[1].key, "{}", pair[1].key);
        }
        for setting in ALL {
            assert_eq!(setting.check(&setting.default()), Ok(()), "{}", setting.key);
        }
    }

    #[test]
    fn a_value_fits_its_kind_or_is_told_why_not() {
        let text = |text: &str| SettingValue::Text(text.to_owned());
        for (setting, value, fits) in [
            (&MAX_AGENT_DEPTH, SettingValue::Number(0), true),
            (&MAX_AGENT_DEPTH, SettingValue::Number(101), false),
            (&MAX_AGENT_DEPTH, text("3"), false),
            (&TURN_LIMITS_ENABLED, SettingValue::Flag(false), true),
            (&TURN_LIMITS_ENABLED, SettingValue::Number(1), false),
            (&FILES_PEOPLE, text("boundary"), true),
            (&FILES_PEOPLE, text("everything"), false),
            (
                &ALLOWED_HOSTS,
                SettingValue::Texts(vec!["a".to_owned()]),
                true,
            ),
            (
                &ALLOWED_HOSTS,
                SettingValue::Texts(vec!["a\nb".to_owned()]),
                false,
            ),
            (&ALLOWED_HOSTS, text("a"), false),
            (
                &BROWSER_AGENT_ORIGINS,
                SettingValue::Texts(vec!["http://localhost:3000".to_owned()]),
                true,
            ),
            (
                &BROWSER_AGENT_ORIGINS,
                SettingValue::Texts(vec!["localhost:3000".to_owned()]),
                false,
            ),
            (
                &TRUSTED_PROXIES,
                SettingValue::Texts(vec!["10.0.0.0/8".to_owned()]),
                true,
            ),
            (
                &TRUSTED_PROXIES,
                SettingValue::Texts(vec!["proxy".to_owned()]),
                false,
            ),
            (&DEFAULT_RUNTIME, text(&"x".repeat(65)), false),
            (&BACKUP_FOLDER, text("/media/backups"), true),
            (&BACKUP_FOLDER, text("backups"), false),
            (&BACKUP_FOLDER, text("/media/\n"), false),
            (&PREVIEW_PORTS, text("5000-5010"), true),
            (&PREVIEW_PORTS, text("5010-5000"), false),
            (&PREVIEW_PORTS, SettingValue::Number(5000), false),
        ] {
            assert_eq!(
                setting.check(&value).is_ok(),
                fits,
                "{}: {value:?}",
                setting.key
            );
        }
    }

    #[test]
    fn flag_and_environment_win_over_what_is_stored_and_that_over_the_file() {
        let number = |n| Some(SettingValue::Number(n));
        for (stored, configured, value, source) in [
            (None, None, 30, SettingSource::Default),
            (None, Some(SettingSource::File), 1, SettingSource::File),
            (
                number(2),
                Some(SettingSource::File),
                2,
                SettingSource::Stored,
            ),
            (number(2), Some(SettingSource::Env), 1, SettingSource::Env),
            (number(2), Some(SettingSource::Flag), 1, SettingSource::Flag),
            (number(2), None, 2, SettingSource::Stored),
        ] {
            let configured = configured.map(|source| (source, SettingValue::Number(1)));
            let current = EffectiveSetting::join(&MAX_AGENT_DEPTH, stored, configured);
            assert_eq!(
                (current.value, current.source),
                (SettingValue::Number(value), source)
            );
        }
    }
}
