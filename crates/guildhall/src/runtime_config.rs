//! Configuration of runtimes: the tables `[runtimes.<type>]` of the file, and where programs are
//! looked for. Source: contract 3.3.1.

use guildhall_domain::runtimes::{RuntimeDefinition, RuntimeProfile, profiles};
use guildhall_hall::ProgramSearch;
use toml::{Table, Value};

use crate::config::ConfigError;

/// The members a definition has.
const MEMBERS: [&str; 4] = ["command", "args", "env", "default_mode"];

/// Takes the tables that define runtimes out of `[runtimes]`; what stays are settings.
///
/// # Errors
/// The first thing that is wrong, with its key.
pub(crate) fn parse_profiles(runtimes: &mut Table) -> Result<Vec<RuntimeProfile>, ConfigError> {
    let mut definitions = Vec::new();
    let mut settings = Table::new();
    for (kind, value) in std::mem::take(runtimes) {
        match value {
            Value::Table(table) => definitions.push(definition(kind, table)?),
            other => {
                settings.insert(kind, other);
            }
        }
    }
    *runtimes = settings;
    profiles(&definitions).map_err(|wrong| problem(&wrong.key, wrong.problem))
}

/// Where programs are looked for: this binary, and the folders of `PATH`.
///
/// # Errors
/// That the system does not say where this binary lies.
pub(crate) fn programs() -> std::io::Result<ProgramSearch> {
    Ok(ProgramSearch {
        own: std::env::current_exe()?,
        path: std::env::var_os("PATH").unwrap_or_default(),
    })
}

fn definition(kind: String, table: Table) -> Result<RuntimeDefinition, ConfigError> {
    let mut definition = RuntimeDefinition {
        kind,
        ..RuntimeDefinition::default()
    };
    for (member, value) in table {
        let key = format!("{}.{member}", definition.kind);
        let wrong = |shape| problem(&key, shape);
        match member.as_str() {
            "command" => definition.command = Some(text(value, &key)?),
            "default_mode" => definition.default_mode = Some(text(value, &key)?),
            "args" => {
                let Value::Array(words) = value else {
                    return Err(wrong("must be a list of texts"));
                };
                let words = words.into_iter().map(|word| text(word, &key));
                definition.args = Some(words.collect::<Result<_, _>>()?);
            }
            "env" => {
                let Value::Table(variables) = value else {
                    return Err(wrong("must be a table of texts"));
                };
                for (name, value) in variables {
                    let value = text(value, &format!("{key}.{name}"))?;
                    definition.env.push((name, value));
                }
            }
            _ => {
                let known = MEMBERS.join(", ");
                let says = format!("is unknown; a runtime has {known}");
                return Err(problem(&key, &says));
            }
        }
    }
    Ok(definition)
}

/// A text; the sentence that refuses anything else does not quote it, because it may be secret.
fn text(value: Value, key: &str) -> Result<String, ConfigError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(problem(key, "must be text")),
    }
}

fn problem(key: &str, problem: &str) -> ConfigError {
    ConfigError::Setting {
        key: format!("runtimes.{key}"),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(file: &str) -> Result<(Vec<RuntimeProfile>, Table), ConfigError> {
        let mut table: Table = toml::from_str(file).unwrap();
        Ok((parse_profiles(&mut table)?, table))
    }

    #[test]
    fn a_table_defines_a_runtime_and_the_rest_are_settings() {
        let file = "default = \"mine\"\n[codex]\nenv = { FAKE_KEY = \"x\" }\n\
            [mine]\ncommand = \"/opt/mine\"\nargs = [\"acp\"]\ndefault_mode = \"careful\"";
        let (profiles, settings) = taken(file).unwrap();
        assert_eq!(settings.keys().collect::<Vec<_>>(), ["default"]);
        assert_eq!(profiles[1].env, [("FAKE_KEY".to_owned(), "x".to_owned())]);
        let mine = profiles.last().unwrap();
        assert_eq!(
            (mine.command_line().as_str(), mine.default_mode.as_str()),
            ("/opt/mine acp", "careful")
        );
        assert_eq!(taken("").unwrap().0.len(), 7);
    }

    #[test]
    fn whatever_is_wrong_is_named_by_its_key() {
        for (file, key) in [
            ("[codex]\ncomand = \"x\"", "runtimes.codex.comand"),
            ("[codex]\ndefaultMode = \"x\"", "runtimes.codex.defaultMode"),
            ("[codex]\ncommand = 1", "runtimes.codex.command"),
            ("[codex]\nargs = \"acp\"", "runtimes.codex.args"),
            ("[codex]\nargs = [1]", "runtimes.codex.args"),
            ("[codex]\nenv = [\"A=B\"]", "runtimes.codex.env"),
            ("[codex]\nenv = { A = 1 }", "runtimes.codex.env.A"),
            ("[Codex]\ncommand = \"x\"", "runtimes.Codex"),
            ("[mine]\nargs = []", "runtimes.mine.command"),
        ] {
            match taken(file) {
                Err(ConfigError::Setting { key: found, .. }) => assert_eq!(found, key),
                other => panic!("{file}: {other:?}"),
            }
        }
    }
}
