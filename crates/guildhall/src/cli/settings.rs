//! `guildhall settings`.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Map, Value};

use super::{
    cli_context::CliContext,
    common_args::IfMatchArg,
    failure::Failure,
    http_client::HttpResponse,
    output::{CellSource, TableLayout},
    request_target::RequestTarget,
};

/// What can be done with settings.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists every setting with its value and who said so
    #[command(after_help = "Example:\n  guildhall settings list")]
    List,
    /// Sets a setting
    #[command(
        after_help = "Examples:\n  guildhall settings set rooms.maxAgentDepth 5\n  guildhall settings set files.roots ~/work ~/notes\n  guildhall settings set server.allowedHosts '[\"hall.example\"]'"
    )]
    Set(SetSettingArgs),
    /// Drops what was set here: the file, the environment or the default counts again
    #[command(after_help = "Example:\n  guildhall settings reset rooms.maxAgentDepth")]
    Reset(ResetSettingArgs),
}

/// A setting and what it becomes.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetSettingArgs {
    #[command(flatten)]
    key: SettingKeyArg,
    /// The value, as plain words or JSON; a list takes several, or one JSON list
    #[arg(required = true)]
    values: Vec<String>,
    #[command(flatten)]
    if_match: IfMatchArg,
}

/// A setting.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResetSettingArgs {
    #[command(flatten)]
    key: SettingKeyArg,
    #[command(flatten)]
    if_match: IfMatchArg,
}

#[derive(Clone, Debug, Args)]
struct SettingKeyArg {
    /// The setting, as `settings list` calls it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    key: String,
}

const LIST: TableLayout = TableLayout {
    list: Some("settings"),
    id: "/key",
    columns: &[
        ("SETTING", CellSource::At("/key")),
        ("VALUE", CellSource::At("/value")),
        ("SAID BY", CellSource::At("/source")),
        ("DEFAULT", CellSource::At("/default")),
        ("COUNTS", CellSource::Of(counts)),
        ("WHAT IT IS", CellSource::At("/description")),
    ],
};

const SETTING: TableLayout = TableLayout {
    list: None,
    id: "/key",
    columns: &[
        ("Setting", CellSource::At("/key")),
        ("Value", CellSource::At("/value")),
        ("Said by", CellSource::At("/source")),
        ("Default", CellSource::At("/default")),
        ("Counts", CellSource::Of(counts)),
    ],
};

pub(super) async fn run(desk: &CliContext, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List => desk.output.show(&desk.get(&target()).await?, &LIST),
        Verb::Set(ask) => {
            // Only the setting's own kind tells whether 5 is a number or a word.
            let settings: Value = desk.get(&target()).await?.json()?;
            let default = found(&settings, &ask.key.key).map(|setting| &setting["default"]);
            let value = value(ask.values, default)?;
            change(desk, ask.key.key, value, &ask.if_match).await
        }
        Verb::Reset(ask) => change(desk, ask.key.key, Value::Null, &ask.if_match).await,
    }
}

async fn change(
    desk: &CliContext,
    key: String,
    value: Value,
    if_match: &IfMatchArg,
) -> Result<(), Failure> {
    let body = Value::Object(Map::from_iter([(key.clone(), value)]));
    let answer = desk.patch(&target(), &body, Some(if_match)).await?;
    show(desk, &answer, &key)
}

/// People see the setting that was changed, programs the whole answer.
fn show(desk: &CliContext, answer: &HttpResponse, key: &str) -> Result<(), Failure> {
    if !desk.output.is_for_people() {
        return desk.output.show(answer, &LIST);
    }
    let settings: Value = answer.json()?;
    match found(&settings, key) {
        Some(setting) => desk.output.show_value(setting, &SETTING),
        None => Ok(()),
    }
}

fn found<'a>(settings: &'a Value, key: &str) -> Option<&'a Value> {
    let settings = settings["settings"].as_array()?;
    settings.iter().find(|setting| setting["key"] == key)
}

fn target() -> RequestTarget {
    RequestTarget::new("/api/settings")
}

/// What was written, in the kind of the setting's `default`; of an unknown setting, as JSON
/// where it is some, so that the refusal is the server's own.
fn value(words: Vec<String>, default: Option<&Value>) -> Result<Value, Failure> {
    let json = |word: &String| serde_json::from_str::<Value>(word).ok();
    let one = <[String; 1]>::try_from(words);
    match (one, default) {
        (Ok([word]), Some(Value::Array(_))) => match json(&word) {
            Some(list @ Value::Array(_)) => Ok(list),
            _ => Ok(Value::from(vec![word])),
        },
        (Ok([word]), Some(Value::String(_))) => match json(&word) {
            Some(text @ Value::String(_)) => Ok(text),
            _ => Ok(word.into()),
        },
        (Ok([word]), Some(Value::Bool(_))) => match word.as_str() {
            "yes" | "on" | "true" => Ok(true.into()),
            "no" | "off" | "false" => Ok(false.into()),
            _ => Ok(word.into()),
        },
        (Ok([word]), _) => Ok(json(&word).unwrap_or_else(|| word.into())),
        (Err(words), Some(Value::Array(_)) | None) => Ok(words.into()),
        (Err(_), Some(_)) => Err(Failure::Usage("this setting takes one value.".to_owned())),
    }
}

fn counts(setting: &Value) -> String {
    let later = setting["restartNeeded"] == Value::Bool(true);
    let when = if later {
        "from the next start"
    } else {
        "at once"
    };
    when.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_what_the_setting_takes() {
        for (words, default, expected) in [
            (&["5"][..], json!(30), json!(5)),
            (&["true"], json!(false), json!(true)),
            (&["off"], json!(true), json!(false)),
            (&["none"], json!("none"), json!("none")),
            (&["5"], json!(""), json!("5")),
            (&["\"\""], json!("x"), json!("")),
            (&["a"], json!([]), json!(["a"])),
            (&["5"], json!([]), json!(["5"])),
            (&["a b", "c"], json!([]), json!(["a b", "c"])),
            (&["[]"], json!(["a"]), json!([])),
            // What does not fit goes as it is, and the server says why not.
            (&["many"], json!(30), json!("many")),
        ] {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(value(words, Some(&default)).unwrap(), expected);
        }
        let two = || vec!["1".to_owned(), "2".to_owned()];
        assert!(value(two(), Some(&json!(30))).is_err());
        assert_eq!(value(two(), None).unwrap(), json!(["1", "2"]));
    }
}
