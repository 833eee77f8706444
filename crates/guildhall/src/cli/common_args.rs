//! Arguments that every command takes, and what commands make of them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use guildhall_world::ids;

/// A noun with its verbs.
#[derive(Clone, Debug, Args)]
pub(crate) struct NounCommand<V: Subcommand> {
    #[command(subcommand)]
    pub(super) verb: V,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// A command without verbs.
#[derive(Clone, Debug, Args)]
pub(crate) struct SingleCommand<A: Args> {
    #[command(flatten)]
    pub(super) ask: A,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Server and output")]
pub(crate) struct CommonArgs {
    /// Address of the server [default: the one that uses the data folder]
    #[arg(long, global = true, env = "GUILDHALL_URL", value_name = "URL")]
    pub(super) url: Option<String>,
    /// Data folder of the server
    #[arg(long, global = true, env = "GUILDHALL_DATA_DIR", value_name = "FOLDER")]
    pub(super) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) printing: OutputArgs,
}

/// In which form the answer is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print the server's answer, byte for byte
    #[arg(long, global = true, conflicts_with_all = ["jsonl", "quiet"])]
    pub(super) json: bool,
    /// Print one JSON object a line
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub(super) jsonl: bool,
    /// Print ids only
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Print control characters as they are; never on a terminal
    #[arg(long, global = true)]
    pub(super) raw: bool,
}

/// No arguments of its own.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct NoArgs {}

/// Backups outside of the data folder.
#[derive(Clone, Debug, Args)]
pub(crate) struct FromFolder {
    /// Read a folder of backups instead, also while no server runs: what `storage.backupFolder`
    /// named, or one of the folders in it
    #[arg(long, value_name = "FOLDER")]
    pub(super) from: Option<PathBuf>,
}

/// A room, as a person names one.
#[derive(Clone, Debug, Args)]
pub(crate) struct RoomArg {
    /// The room: its id, its slug (`ops` or `#ops`), or its title
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) room: String,
}

/// An author, as a person names one.
#[derive(Clone, Debug, Args)]
pub(crate) struct AuthorArg {
    /// The author: its id, its handle (`ada` or `@ada`), its name, or `me`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) author: String,
}

/// An agent, as a person names one.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentArg {
    /// The agent: its id, its handle (`ada` or `@ada`), or its name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) agent: String,
}

/// An entry of a room, as a person names one.
#[derive(Clone, Debug, Args)]
pub(crate) struct EntryArg {
    #[command(flatten)]
    pub(super) room: RoomArg,
    /// The entry: its id or its number in the room
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) entry: String,
}

/// Which page of a list.
#[derive(Clone, Debug, Args)]
pub(crate) struct PageArgs {
    /// How many, 1 to 200 [default: 50]
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<u32>,
    /// Where the page before ended
    #[arg(long, allow_hyphen_values = true)]
    pub(super) cursor: Option<String>,
}

/// What makes a post happen once, however often it is sent.
#[derive(Clone, Debug, Args)]
pub(crate) struct IdempotencyArgs {
    /// Key of an earlier try: sent again with it, the same happens once [default: a new key]
    #[arg(long, value_name = "KEY", value_parser = key)]
    idempotency_key: Option<String>,
}

/// What keeps a change from undoing one that the caller has not seen.
#[derive(Clone, Debug, Args)]
pub(crate) struct IfMatchArg {
    /// Change it only while this is its ETag, as `show` prints it
    #[arg(long, value_name = "ETAG", value_parser = tags)]
    if_match: Option<String>,
}

impl IdempotencyArgs {
    /// The key given, else a new one.
    pub(super) fn key(&self) -> String {
        let given = self.idempotency_key.clone();
        given.unwrap_or_else(|| ids::new().to_string())
    }
}

impl IfMatchArg {
    /// What `If-Match` says.
    pub(super) fn tags(&self) -> Option<String> {
        self.if_match.clone()
    }
}

/// When an agent answers.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ResponseMode {
    /// To every post.
    Always,
    /// Where it is named or takes part.
    Engaged,
    /// In direct messages only.
    DirectOnly,
    /// Where it is named.
    MentionOnly,
    /// Never.
    Silent,
}

/// Beginning or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}

/// The word of a value on the wire: the same as on the command line.
pub(super) fn word(value: impl ValueEnum + Copy) -> Option<String> {
    let value = value.to_possible_value()?;
    Some(value.get_name().to_owned())
}

/// A key for a header: 1 to 255 visible characters. Source: contract 1.7.
pub(super) fn key(text: &str) -> Result<String, String> {
    let is_key =
        (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    let key = is_key.then(|| text.to_owned());
    key.ok_or_else(|| "must be 1 to 255 visible ASCII characters".to_owned())
}

/// Entity tags for a header; a bare one is quoted, because shells eat quotes.
fn tags(text: &str) -> Result<String, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match (is_bare, is_visible) {
        (true, _) => Ok(format!("\"{text}\"")),
        (false, true) => Ok(text.to_owned()),
        (false, false) => Err("must be an ETag".to_owned()),
    }
}
