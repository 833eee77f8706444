//! Authors: who writes, under which name and handle.
//! Pure: taking and releasing a handle in the store is `store::authors`; who may ask is `hall::authors`.

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    errors::HandleRule,
    field_validation::FieldValidator,
    ids::{AgentId, AuthorId},
    limits,
};

/// What kind of author it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthorKind {
    /// A person.
    Human,
    /// A coding agent.
    Agent,
    /// The installation itself; there is one.
    System,
}

impl AuthorKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Human, "human"),
        (Self::Agent, "agent"),
        (Self::System, "system"),
    ];
}

/// An author, as the interface shows it. Source: spec, "Author"; contract 2.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// Its id, never reused.
    pub id: AuthorId,
    /// Person, agent or system.
    pub kind: AuthorKind,
    /// A label of 1..80 characters, never a key.
    pub display_name: String,
    /// One emoji, `""` when none.
    pub emoji: String,
    /// `#rrggbb`, `""` when none.
    pub color: String,
    /// An https address or a path of ours, `""` when none.
    pub image_url: String,
    /// The agent behind an agent author.
    #[serde(with = "empty_as_none")]
    pub agent_ref: Option<AgentId>,
    /// The short name the author is called by.
    #[serde(with = "empty_as_none")]
    pub handle: Option<Handle>,
    /// Whether the account or agent behind it is gone.
    pub retired: bool,
}

impl Author {
    /// A new author that has a name and nothing else yet.
    pub fn new(id: AuthorId, kind: AuthorKind, display_name: String) -> Self {
        Self {
            id,
            kind,
            display_name,
            emoji: String::new(),
            color: String::new(),
            image_url: String::new(),
            agent_ref: None,
            handle: None,
            retired: false,
        }
    }
}

/// Whether a retired or system author refuses every change.
///
/// # Errors
/// [`Refusal::AuthorNotChangeable`].
pub fn changeable(author: &Author) -> Result<(), Refusal> {
    if author.retired || author.kind == AuthorKind::System {
        Err(Refusal::AuthorNotChangeable)
    } else {
        Ok(())
    }
}

/// A handle that keeps the grammar. Source: spec, "Handle grammar".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Handle(String);

impl Handle {
    /// Parses a handle as a person typed it.
    ///
    /// `raw` is trimmed, one leading `@` is dropped, it is trimmed again and its ASCII
    /// letters are lower-cased; `None` is the empty result, which clears the handle.
    /// Other letters are not folded, so they miss the grammar:
    /// 2..=32 characters of `[a-z0-9._-]`, alphanumeric at both ends.
    ///
    /// # Errors
    /// [`Refusal::InvalidHandle`] with the rule that the normalised text misses.
    ///
    /// Source: spec, "Handle grammar"; contract 2.1, "Normalization".
    pub fn parse(raw: &str) -> Result<Option<Self>, Refusal> {
        let trimmed = raw.trim();
        let bare = trimmed.strip_prefix('@').unwrap_or(trimmed).trim();
        if bare.is_empty() {
            return Ok(None);
        }
        let folded = bare.to_ascii_lowercase();
        match missed_rule(&folded) {
            Some(rule) => Err(Refusal::InvalidHandle(rule)),
            None => Ok(Some(Self(folded))),
        }
    }

    /// The handle's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Derives the handle a new agent gets from its name; `None` when nothing legal is left.
    ///
    /// Runs of forbidden characters become `-`, the rest is cut to 32 and trimmed at its ends.
    ///
    /// Source: contract 2.1, "Derived".
    pub fn derive(name: &str) -> Option<Self> {
        let mut text = String::with_capacity(name.len());
        for c in name.chars().map(|c| c.to_ascii_lowercase()) {
            if is_handle_char(c) {
                text.push(c);
            } else if !text.ends_with('-') {
                text.push('-');
            }
        }
        Self::cut(
            text.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()),
            "",
        )
    }

    /// The `n`-th variant of a derived handle, `n` from 2: `ada-2`, `ada-3`, …
    pub fn numbered(&self, n: u32) -> Option<Self> {
        Self::cut(&self.0, &format!("-{n}"))
    }

    fn cut(stem: &str, suffix: &str) -> Option<Self> {
        let room = limits::HANDLE_LEN.end().saturating_sub(suffix.len());
        let stem: String = stem.chars().take(room).collect();
        let stem = stem.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let text = format!("{stem}{suffix}");
        missed_rule(&text).is_none().then_some(Self(text))
    }
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> Self {
        handle.0
    }
}

impl TryFrom<String> for Handle {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match missed_rule(&text) {
            None => Ok(Self(text)),
            Some(_) => Err("not a handle"),
        }
    }
}

impl std::str::FromStr for Handle {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

/// The handle of the system author. Source: contract 2.1, "Reserved".
pub const SYSTEM_HANDLE: &str = "guildhall";
/// Words reserved to the system author, plain text when written. Source: contract 2.1.
pub const RESERVED_WORDS: [&str; 3] = ["everyone", "here", "channel"];

fn is_handle_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-')
}

fn missed_rule(text: &str) -> Option<HandleRule> {
    if !text.chars().all(is_handle_char) {
        return Some(HandleRule::Characters);
    }
    if !limits::HANDLE_LEN.contains(&text.len()) {
        return Some(HandleRule::Length);
    }
    let ends_well = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric());
    (!ends_well).then_some(HandleRule::Ends)
}

/// A handle an author gave up and may take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedHandle {
    /// The handle.
    pub handle: Handle,
    /// When it was released.
    pub released_at: Timestamp,
}

/// The changes a person may make to an author; absent leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct AuthorPatch {
    /// 1..80 characters.
    pub display_name: Option<String>,
    /// At most 16 characters, `""` clears.
    pub emoji: Option<String>,
    /// `#rrggbb`, `""` clears.
    pub color: Option<String>,
    /// An https address or a path beginning with `/`, `""` clears.
    pub image_url: Option<String>,
}

impl AuthorPatch {
    /// Checks the shape of every given field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(name) = &self.display_name {
            let range = limits::DISPLAY_NAME_CHARS;
            check.chars("displayName", name.trim(), *range.start(), *range.end());
            check.one_line("displayName", name);
        }
        if let Some(emoji) = &self.emoji {
            check.chars("emoji", emoji, 0, limits::EMOJI_CHARS_MAX);
            check.one_line("emoji", emoji);
        }
        if let Some(color) = &self.color
            && !is_color(color)
        {
            check.fail("color", "must be #rrggbb or empty");
        }
        if let Some(url) = &self.image_url {
            check.chars("imageUrl", url, 0, limits::IMAGE_URL_CHARS_MAX);
            check.one_line("imageUrl", url);
            let ours = url.starts_with('/') && !url.starts_with("//");
            if !(url.is_empty() || ours || url.starts_with("https://")) {
                check.fail(
                    "imageUrl",
                    "must be an https address or a path of this server",
                );
            }
        }
        check.finish()
    }

    /// The author after the change.
    pub fn apply(&self, author: &Author) -> Author {
        let take = |new: &Option<String>, old: &String| new.clone().unwrap_or_else(|| old.clone());
        Author {
            display_name: take(&self.display_name, &author.display_name)
                .trim()
                .to_owned(),
            emoji: take(&self.emoji, &author.emoji),
            color: take(&self.color, &author.color).to_ascii_lowercase(),
            image_url: take(&self.image_url, &author.image_url),
            ..author.clone()
        }
    }
}

fn is_color(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Writes the text `""` as null, and reads both: what was stored earlier holds `""`.
pub(crate) mod null_as_empty {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        Some(text)
            .filter(|text| !text.is_empty())
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<String, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
    }
}

/// Writes `None` as `""`, the interface's form of "none".
pub(crate) mod empty_as_none {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<T: std::fmt::Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_str(""),
        }
    }

    pub(crate) fn deserialize<'de, T: TextForm, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(None);
        }
        T::read(&text)
            .map(Some)
            .ok_or_else(|| de::Error::custom("unreadable value"))
    }

    /// A value that reads back from its written form.
    pub(crate) trait TextForm: Sized {
        fn read(text: &str) -> Option<Self>;
    }

    impl TextForm for super::Handle {
        fn read(text: &str) -> Option<Self> {
            text.parse().ok()
        }
    }

    impl TextForm for super::AgentId {
        fn read(text: &str) -> Option<Self> {
            Self::parse(text)
        }
    }

    impl TextForm for super::AuthorId {
        fn read(text: &str) -> Option<Self> {
            Self::parse(text)
        }
    }

    impl TextForm for crate::ids::EntryId {
        fn read(text: &str) -> Option<Self> {
            Self::parse(text)
        }
    }

    impl TextForm for crate::ids::RoomId {
        fn read(text: &str) -> Option<Self> {
            Self::parse(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(raw: &str) -> Result<Option<String>, HandleRule> {
        match Handle::parse(raw) {
            Ok(handle) => Ok(handle.map(String::from)),
            Err(Refusal::InvalidHandle(rule)) => Err(rule),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_handle_is_normalised_then_held_to_the_grammar() {
        let ok = |text: &str| Ok(Some(text.to_owned()));
        for (raw, expected) in [
            ("ada", ok("ada")),
            ("  @Ada.Lovelace ", ok("ada.lovelace")),
            ("@ ada", ok("ada")),
            ("a1", ok("a1")),
            ("", Ok(None)),
            (" @ ", Ok(None)),
            ("a", Err(HandleRule::Length)),
            ("@@ada", Err(HandleRule::Characters)),
            ("ad a", Err(HandleRule::Characters)),
            ("ÄDA", Err(HandleRule::Characters)),
            ("ada\0", Err(HandleRule::Characters)),
            ("-ada", Err(HandleRule::Ends)),
            ("ada.", Err(HandleRule::Ends)),
        ] {
            assert_eq!(parsed(raw), expected, "{raw:?}");
        }
        assert_eq!(parsed(&"a".repeat(32)), ok(&"a".repeat(32)));
        assert_eq!(parsed(&"a".repeat(33)), Err(HandleRule::Length));
    }

    #[test]
    fn an_agents_handle_is_derived_from_its_name() {
        for (name, expected) in [
            ("Ada", Some("ada")),
            ("Code  Reviewer!", Some("code-reviewer")),
            ("--x--", None),
            ("日本", None),
            ("émile", Some("mile")),
        ] {
            assert_eq!(
                Handle::derive(name).map(String::from),
                expected.map(str::to_owned),
                "{name}"
            );
        }
        let long = Handle::derive(&"a".repeat(50)).unwrap();
        assert_eq!(long.as_str().len(), 32);
        assert_eq!(
            long.numbered(12).unwrap().as_str(),
            format!("{}-12", "a".repeat(29))
        );
    }

    proptest! {
        #[test]
        fn no_text_gets_past_the_grammar(raw in any::<String>()) {
            if let Ok(Some(handle)) = Handle::parse(&raw) {
                prop_assert_eq!(missed_rule(handle.as_str()), None);
                prop_assert_eq!(Handle::parse(handle.as_str()).unwrap(), Some(handle.clone()));
            }
            if let Some(handle) = Handle::derive(&raw) {
                prop_assert_eq!(missed_rule(handle.as_str()), None);
                prop_assert!(handle.numbered(2).is_some());
            }
        }
    }
}
