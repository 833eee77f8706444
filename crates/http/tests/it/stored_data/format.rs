//! The form of what is stored: which words, which members of JSON and which files there are,
//! without what differs from one workspace to the next.

use std::{collections::BTreeSet, fs, path::Path};

use guildhall_testkit::{Cell, Table, tables_of};
use guildhall_world::seal::Seal;
use serde_json::Value;

use super::{facts::OF_PROCESSES, secrets};

/// Characters of a text up to which it may be a word of the interface.
const WORD_CHARS_MAX: usize = 40;
/// Characters from which one run of letters and digits is a token or a digest.
const TOKEN_CHARS_MIN: usize = 22;
/// Bytes up to which their number tells what they are: an id or a digest.
const ID_OR_DIGEST_BYTES_MAX: usize = 32;
/// Digits from which a number is a moment, or counts something that is different each time.
const NUMBER_DIGITS_MIN: usize = 5;

/// The form of a data folder: a line for each thing that is told apart.
pub(super) fn of(database: &Path, data: &Path) -> BTreeSet<String> {
    let seal = Seal::open(data).unwrap();
    let mut lines = BTreeSet::new();
    files(data, data, &mut lines);
    for table in tables_of(database) {
        // The index of words is made of the entries.
        if !table.name.starts_with("entry_words") {
            for row in &table.rows {
                for column in &table.columns {
                    cell(&seal, &table, row, column, &mut lines);
                }
            }
        }
    }
    lines
}

fn files(root: &Path, folder: &Path, lines: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(root, &path, lines);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        // What SQLite keeps beside the database while it is open.
        if name.ends_with("-wal") || name.ends_with("-shm") {
            continue;
        }
        let is_of_processes = name == OF_PROCESSES;
        let name = format!("file {}", alike(name));
        if is_of_processes {
            // Which of them ran is different each time.
        } else if let Ok(Value::Object(members)) = serde_json::from_slice(&fs::read(&path).unwrap())
        {
            json(&name, &Value::Object(members), lines);
        }
        lines.insert(name);
    }
}

fn cell(seal: &Seal, table: &Table, row: &[Cell], column: &str, lines: &mut BTreeSet<String>) {
    // A log holds many kinds of things in one column.
    let kind = match table.name.as_str() {
        "approvals" => kind_of(table, row, "kind"),
        "events" => kind_of(table, row, "type"),
        "message_parts" => kind_of(table, row, "kind"),
        "settings" => kind_of(table, row, "key"),
        _ => String::new(),
    };
    let name = format!("{}{kind}.{column}", table.name);
    if let Some(opened) = secrets::opened(seal, table, row, column) {
        match serde_json::from_slice(&opened) {
            Ok(secret) => json(&name, &secret, lines),
            Err(_) => {
                lines.insert(format!("{name} = sealed text"));
            }
        }
        return;
    }
    let form = match table.cell(row, column) {
        Cell::Null => "null".to_owned(),
        Cell::Integer(_) => "integer".to_owned(),
        Cell::Real(_) => "real".to_owned(),
        Cell::Text(said) => return text(&name, said, lines),
        Cell::Blob(bytes) => match serde_json::from_slice(bytes) {
            Ok(answer @ (Value::Object(_) | Value::Array(_))) => {
                return json(&name, &answer, lines);
            }
            _ if bytes.len() <= ID_OR_DIGEST_BYTES_MAX => format!("{} bytes", bytes.len()),
            _ => "bytes".to_owned(),
        },
    };
    lines.insert(format!("{name} = {form}"));
}

fn kind_of(table: &Table, row: &[Cell], column: &str) -> String {
    match table.cell(row, column) {
        Cell::Text(kind) => format!("[{kind}]"),
        _ => String::new(),
    }
}

fn text(name: &str, said: &str, lines: &mut BTreeSet<String>) {
    match serde_json::from_str(said) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => json(name, &value, lines),
        _ => {
            lines.insert(format!("{name} = {}", word(said)));
        }
    }
}

fn json(name: &str, value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if members.is_empty() => {
            lines.insert(format!("{name} = {{}}"));
        }
        Value::Object(members) => {
            for (member, value) in members {
                json(&format!("{name}.{}", alike(member)), value, lines);
            }
        }
        Value::Array(items) if items.is_empty() => {
            lines.insert(format!("{name} = []"));
        }
        Value::Array(items) => {
            for item in items {
                json(&format!("{name}[]"), item, lines);
            }
        }
        Value::String(said) => text(name, said, lines),
        Value::Number(_) => {
            lines.insert(format!("{name} = number"));
        }
        Value::Bool(_) | Value::Null => {
            lines.insert(format!("{name} = {value}"));
        }
    }
}

/// A text as it is told apart: a word as itself, sentences all alike.
fn word(said: &str) -> String {
    let alike = alike(said);
    let is_word = !said.contains(char::is_whitespace) && alike.chars().count() <= WORD_CHARS_MAX;
    if is_word {
        format!("{alike:?}")
    } else {
        "text".to_owned()
    }
}

/// A text without what differs each time: ids, moments, digests, tokens, numbers.
fn alike(said: &str) -> String {
    let mut alike = String::new();
    let mut run = String::new();
    for letter in said.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') {
            run.push(letter);
            continue;
        }
        alike.push_str(run_alike(&run));
        run.clear();
        if letter != '\n' {
            alike.push(letter);
        }
    }
    // A moment is two or three such runs.
    alike.replace("<moment>:<n>:<n>.<n>Z", "<moment>")
}

fn run_alike(run: &str) -> &str {
    let is_hex = |text: &str| text.bytes().all(|it| it.is_ascii_hexdigit());
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let is_moment = run.len() == 13 && run.as_bytes().get(10) == Some(&b'T');
    let is_tail = (2..=4).contains(&run.len()) && digits + 1 >= run.len() && run.ends_with('Z');
    if is_moment {
        "<moment>"
    } else if is_tail {
        "<n>Z"
    } else if digits == run.len() && (run.len() == 2 || run.len() >= NUMBER_DIGITS_MIN) {
        "<n>"
    } else if run.len() == 36 && is_hex(&run.replace('-', "")) {
        "<id>"
    } else if run.len() >= 16 && is_hex(run) {
        "<hex>"
    } else if run.len() >= TOKEN_CHARS_MIN && is_token(run) {
        "<token>"
    } else {
        run
    }
}

/// Whether a long run is made of more than words that hyphens or underscores join.
fn is_token(run: &str) -> bool {
    run.len() > WORD_CHARS_MAX || run.contains(|it: char| it.is_ascii_uppercase())
}
