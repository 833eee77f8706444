//! `guildhall reactions`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::Value;

use super::{
    cli_context::CliContext,
    common_args,
    failure::Failure,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with reactions.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Reacts to an entry
    #[command(after_help = "Example:\n  guildhall reactions add ops 12 👍")]
    Add(ReactionArgs),
    /// Takes a reaction of yours back
    #[command(after_help = "Example:\n  guildhall reactions remove ops 12 👍")]
    Remove(ReactionArgs),
}

/// A reaction.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReactionArgs {
    #[command(flatten)]
    entry: common_args::EntryArg,
    /// One emoji
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    emoji: String,
}

const LIST: TableLayout = TableLayout {
    list: Some("reactions"),
    id: "/emoji",
    columns: &[
        ("REACTION", CellSource::At("/emoji")),
        ("WHO", CellSource::At("/names")),
        ("SINCE", CellSource::At("/firstAt")),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    let answer = match verb {
        Verb::Add(ask) => desk.put(&target(desk, &ask).await?, None).await?,
        Verb::Remove(ask) => desk.delete(&target(desk, &ask).await?, None).await?,
    };
    show(desk, &answer).await
}

async fn show(desk: &CliContext, answer: &HttpResponse) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(answer, &LIST);
    }
    let mut set: Value = answer.json()?;
    let names = desk.author_names().await?;
    for reaction in set["reactions"].as_array_mut().into_iter().flatten() {
        let ids = reaction["authorIds"].as_array().into_iter().flatten();
        let ids = ids.filter_map(Value::as_str);
        let who: Vec<_> = ids
            .map(|id| names.get(id).map_or(id, String::as_str))
            .collect();
        reaction["names"] = who.join(", ").into();
    }
    desk.output.show_value(&set, &LIST)
}

async fn target(desk: &CliContext, ask: &ReactionArgs) -> Result<RequestTarget, Failure> {
    Ok(desk
        .entry(&ask.entry)
        .await?
        .push_segment("reactions")
        .push_segment(&ask.emoji))
}
