//! `guildhall keys`. A key's text is printed once, to standard output, when it is made; it is
//! never an argument.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};

use super::{
    cli_context::CliContext,
    common_args::{self, IdempotencyArgs},
    entries::name_authors,
    failure::Failure,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with API keys.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists your API keys, the owner everybody's; never their text
    #[command(after_help = "Example:\n  guildhall keys list")]
    List(common_args::PageArgs),
    /// Makes a key that speaks as you, and prints its text, this once
    #[command(
        after_help = "Example:\n  export GUILDHALL_API_KEY=$(guildhall keys make --label backup)"
    )]
    Make(MakeKeyArgs),
    /// Revokes a key; what speaks with it is cut off
    #[command(
        after_help = "Example:\n  guildhall keys revoke 01920000-0000-7000-8000-000000000000"
    )]
    Revoke(RevokeKeyArgs),
}

/// A new key.
#[derive(Clone, Debug, Args)]
pub(crate) struct MakeKeyArgs {
    /// What it is for, 1 to 80 characters
    #[arg(long)]
    label: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// One key.
#[derive(Clone, Debug, Args)]
pub(crate) struct RevokeKeyArgs {
    /// The key's id, as `keys list` shows it; not its text
    #[arg(value_name = "KEY_ID", value_parser = NonEmptyStringValueParser::new())]
    key_id: String,
}

const LIST: TableLayout = TableLayout {
    list: Some("keys"),
    id: "/id",
    columns: &[
        ("LABEL", CellSource::At("/label")),
        ("SPEAKS AS", CellSource::At("/authorName")),
        ("CREATED", CellSource::At("/createdAt")),
        ("LAST USED", CellSource::At("/lastUsedAt")),
        ("ID", CellSource::At("/id")),
    ],
};

/// Its text stands where others have their id: a script that asks for one word wants this one.
const MADE: TableLayout = TableLayout {
    list: None,
    id: "/key",
    columns: &[],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(page) => {
            let answer = desk.get(&keys().page(page)).await?;
            if !desk.output.is_for_people() {
                return desk.output.show(&answer, &LIST);
            }
            let mut page: Value = answer.json()?;
            name_authors(desk, page["keys"].as_array_mut().into_iter().flatten()).await?;
            desk.output.show_value(&page, &LIST)?;
            desk.output.note_next(&page);
            Ok(())
        }
        Verb::Make(ask) => {
            let body = json!({"label": ask.label});
            let answer = desk.post(&keys(), Some(&body), &ask.once).await?;
            if !desk.output.is_for_people() {
                return desk.output.show(&answer, &MADE);
            }
            let made: Value = answer.json()?;
            let text = made["key"].as_str().unwrap_or_default();
            desk.output.line(&desk.output.safe_line(text))?;
            let id = made["id"].as_str().unwrap_or_default();
            desk.output.note(&format!("Key {id}: shown this once."));
            Ok(())
        }
        Verb::Revoke(ask) => {
            if ask.key_id.starts_with("ghk_") {
                let why = "this is a key's text; name the key by its id, from `keys list`.";
                return Err(Failure::Usage(why.to_owned()));
            }
            desk.delete(&keys().push_segment(&ask.key_id), None).await?;
            desk.output.done(&format!("Key {} is revoked.", ask.key_id))
        }
    }
}

fn keys() -> RequestTarget {
    RequestTarget::new("/api/auth/keys")
}
