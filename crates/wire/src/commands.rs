//! Slash commands on the wire. Source: spec, "Slash command"; contract 3.9.

use guildhall_domain::{Timestamp, commands as domain};
use serde::Serialize;
use utoipa::ToSchema;

/// A slash command; absent texts are empty. Borrowed, because listings are long and kept.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand<'a> {
    /// Folders it lies in, joined by `:`.
    #[schema(example = "git")]
    pub namespace: &'a str,
    /// Its name.
    #[schema(example = "open")]
    pub command: &'a str,
    /// What is typed.
    #[schema(example = "/git:open")]
    pub full_command: &'a str,
    /// What it does.
    #[schema(example = "Opens a pull request")]
    pub description: &'a str,
    /// What may follow it.
    #[schema(example = "[title]")]
    pub argument_hint: &'a str,
    /// Tools it may use without being asked.
    pub allowed_tools: &'a [String],
    /// Its file, relative to the working folder or beginning with `~/`; empty for a command that
    /// an agent reports.
    #[schema(example = ".claude/commands/git/open.md")]
    pub file_path: &'a str,
}

impl<'a> From<&'a domain::SlashCommand> for SlashCommand<'a> {
    fn from(command: &'a domain::SlashCommand) -> Self {
        Self {
            namespace: &command.namespace,
            command: &command.command,
            full_command: &command.full_command,
            description: &command.description,
            argument_hint: &command.argument_hint,
            allowed_tools: &command.allowed_tools,
            file_path: &command.file_path,
        }
    }
}

/// Something that is wrong with a command file or folder.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandWarning<'a> {
    /// The file or folder, written as in a command.
    pub file_path: &'a str,
    /// What is wrong with it.
    pub message: &'a str,
}

/// Everything that can be typed in a folder.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Commands<'a> {
    /// In the order of what is typed, by code points.
    pub commands: Vec<SlashCommand<'a>>,
    /// When the files were looked at.
    #[schema(value_type = String, format = DateTime)]
    pub last_scanned: Timestamp,
    /// What is wrong with files.
    pub warnings: Vec<CommandWarning<'a>>,
}

impl<'a> Commands<'a> {
    /// The form of a listing that was found at `last_scanned`.
    pub fn new(listing: &'a domain::CommandListing, last_scanned: Timestamp) -> Self {
        let warnings = listing.warnings.iter().map(|warning| CommandWarning {
            file_path: &warning.file_path,
            message: &warning.message,
        });
        Self {
            commands: listing.commands.iter().map(Into::into).collect(),
            last_scanned,
            warnings: warnings.collect(),
        }
    }
}
