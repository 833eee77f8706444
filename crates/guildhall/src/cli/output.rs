//! What a command prints: tables for people, or the server's own words for programs.
//! Source: design of the command line, "Output" and "Text from agents".
//! There is no colour, so none has to be switched off.

use std::{
    collections::HashMap,
    io::{self, IsTerminal, Write},
};

use comfy_table::Table;
use serde_json::{Value, value::RawValue};

use super::{common_args::OutputArgs, escaped_text, failure::Failure, http_client::HttpResponse};

/// In which form an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputFormat {
    /// Aligned tables.
    People,
    /// The body, byte for byte.
    Json,
    /// One object a line.
    JsonLines,
    /// Ids only.
    Ids,
}

/// Where and how answers are printed.
#[derive(Debug)]
pub(super) struct Output {
    form: OutputFormat,
    /// Whether text goes out unescaped.
    is_raw: bool,
    /// Whether a person looks at standard output.
    is_terminal: bool,
}

/// How an answer looks to people.
#[derive(Debug)]
pub(super) struct TableLayout {
    /// The member that holds the list, `""` when the answer is the list itself; `None` when it is
    /// one object.
    pub(super) list: Option<&'static str>,
    /// JSON pointer to the id of the object or of each item.
    pub(super) id: &'static str,
    /// What is shown, with its title.
    pub(super) columns: &'static [(&'static str, CellSource)],
}

/// Where a cell's text comes from.
#[derive(Debug)]
pub(super) enum CellSource {
    /// The value at this JSON pointer.
    At(&'static str),
    /// What this makes of the item.
    Of(fn(&Value) -> String),
    /// The `ETag` that came with the object.
    Tag,
}

impl Output {
    /// What the arguments ask for.
    pub(super) fn new(printing: OutputArgs) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let form = match printing {
            OutputArgs { json: true, .. } => OutputFormat::Json,
            OutputArgs { jsonl: true, .. } => OutputFormat::JsonLines,
            OutputArgs { quiet: true, .. } => OutputFormat::Ids,
            OutputArgs { .. } => OutputFormat::People,
        };
        Self {
            form,
            is_raw: printing.raw && !is_terminal,
            is_terminal,
        }
    }

    /// Whether people read the answer.
    pub(super) fn is_for_people(&self) -> bool {
        self.form == OutputFormat::People
    }

    /// Whether ids are all that is wanted.
    pub(super) fn is_ids(&self) -> bool {
        self.form == OutputFormat::Ids
    }

    /// Prints an answer.
    pub(super) fn show(&self, answer: &HttpResponse, view: &TableLayout) -> Result<(), Failure> {
        match self.form {
            OutputFormat::Json => self.body(&answer.body),
            OutputFormat::JsonLines => {
                let Some(list) = view.list else {
                    return self.json_line(&String::from_utf8_lossy(&answer.body));
                };
                // Raw, so that every item stays as the server wrote it.
                let whole: &RawValue = answer.json()?;
                let members: HashMap<String, &RawValue> = match list {
                    "" => HashMap::from([(String::new(), whole)]),
                    _ => answer.json()?,
                };
                let items = members.get(list).map_or("[]", |items| items.get());
                let items: Vec<&RawValue> = serde_json::from_str(items)
                    .map_err(|error| Failure::Unreadable(error.to_string()))?;
                items.iter().try_for_each(|item| self.json_line(item.get()))
            }
            OutputFormat::Ids | OutputFormat::People => {
                self.show_with_tag(&answer.json()?, answer.etag.as_deref(), view)
            }
        }
    }

    /// Prints a page of a list; people are told how to see the next one.
    pub(super) fn show_page(
        &self,
        answer: &HttpResponse,
        view: &TableLayout,
    ) -> Result<(), Failure> {
        self.show(answer, view)?;
        if self.is_for_people() {
            self.note_next(&answer.json()?);
        }
        Ok(())
    }

    /// Tells people how to see what follows a page.
    pub(super) fn note_next(&self, page: &Value) {
        if let Some(next) = page["nextCursor"].as_str() {
            self.note(&format!("There are more: --cursor {next}"));
        }
    }

    /// Prints an answer that was read already, for people or as ids.
    pub(super) fn show_value(&self, value: &Value, view: &TableLayout) -> Result<(), Failure> {
        self.show_with_tag(value, None, view)
    }

    /// Prints what no server answered, in every form.
    pub(super) fn show_own(&self, value: &Value, view: &TableLayout) -> Result<(), Failure> {
        match (self.form, view.list) {
            (OutputFormat::People | OutputFormat::Ids, _) => self.show_value(value, view),
            (OutputFormat::JsonLines, Some(list)) => {
                let items = value[list].as_array().into_iter().flatten();
                items
                    .into_iter()
                    .try_for_each(|item| self.json_line(&item.to_string()))
            }
            (OutputFormat::Json | OutputFormat::JsonLines, _) => self.json_line(&value.to_string()),
        }
    }

    /// The same, with the tag that came with it.
    pub(super) fn show_with_tag(
        &self,
        value: &Value,
        tag: Option<&str>,
        view: &TableLayout,
    ) -> Result<(), Failure> {
        let one = std::slice::from_ref(value);
        let items = match view.list {
            Some("") => value.as_array().map_or(&[][..], Vec::as_slice),
            Some(list) => value[list].as_array().map_or(&[][..], Vec::as_slice),
            None => one,
        };
        if self.is_ids() {
            let ids = items.iter().filter_map(|item| item.pointer(view.id));
            return ids
                .map(escaped_text::of)
                .try_for_each(|id| self.line(&escaped_text::one_line(&id)));
        }
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if view.list.is_some() {
            table.set_header(view.columns.iter().map(|(title, _)| *title));
            table.add_rows(items.iter().map(|item| {
                let cells = view.columns.iter();
                cells.map(|(_, cell)| self.cell(cell, item, tag))
            }));
        } else {
            table.add_rows(items.iter().flat_map(|item| {
                let rows = view.columns.iter();
                rows.map(|(title, cell)| [(*title).to_owned(), self.cell(cell, item, tag)])
            }));
        }
        self.table(table)
    }

    /// Prints rows under a header.
    pub(super) fn rows(
        &self,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if !header.is_empty() {
            table.set_header(header.iter().copied());
        }
        table.add_rows(
            rows.into_iter()
                .map(|row| row.into_iter().map(|cell| self.safe(&cell))),
        );
        self.table(table)
    }

    /// Prints bytes as they came; a terminal gets them escaped and with a line's end.
    pub(super) fn body(&self, body: &[u8]) -> Result<(), Failure> {
        if self.is_terminal {
            let body = escaped_text::json(&String::from_utf8_lossy(body));
            let end = if body.ends_with('\n') { "" } else { "\n" };
            return write(format!("{body}{end}").as_bytes());
        }
        write(body)
    }

    /// Prints a text as it is; a terminal gets it escaped and with a line's end.
    pub(super) fn content(&self, content: &str) -> Result<(), Failure> {
        if self.is_terminal {
            let end = if content.ends_with('\n') { "" } else { "\n" };
            return write(format!("{}{end}", escaped_text::lines(content)).as_bytes());
        }
        write(content.as_bytes())
    }

    /// Prints one JSON text on one line.
    pub(super) fn json_line(&self, json: &str) -> Result<(), Failure> {
        if self.is_terminal {
            return self.line(&escaped_text::json(json));
        }
        self.line(json)
    }

    /// Prints one line that is safe already.
    pub(super) fn line(&self, line: &str) -> Result<(), Failure> {
        write(format!("{line}\n").as_bytes())
    }

    /// Tells people that something without an answer was done.
    pub(super) fn done(&self, sentence: &str) -> Result<(), Failure> {
        match self.form {
            OutputFormat::People => self.line(&escaped_text::one_line(sentence)),
            OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::Ids => Ok(()),
        }
    }

    /// Tells people something beside the answer, on standard error.
    pub(super) fn note(&self, note: &str) {
        if self.is_for_people() {
            self.print_notice(note);
        }
    }

    /// Tells whoever reads something beside the answer, on standard error.
    pub(super) fn print_notice(&self, note: &str) {
        write_stderr(&format!("{}\n", escaped_text::one_line(note)));
    }

    /// `escaped_text` on one line, as it may be shown here.
    pub(super) fn safe_line(&self, text: &str) -> String {
        if self.is_raw {
            text.to_owned()
        } else {
            escaped_text::one_line(text)
        }
    }

    fn safe(&self, text: &str) -> String {
        if self.is_raw {
            text.to_owned()
        } else {
            escaped_text::lines(text)
        }
    }

    fn cell(&self, cell: &CellSource, item: &Value, tag: Option<&str>) -> String {
        let text = match cell {
            CellSource::At(pointer) => item
                .pointer(pointer)
                .map(escaped_text::of)
                .unwrap_or_default(),
            CellSource::Of(make) => make(item),
            CellSource::Tag => tag.unwrap_or_default().to_owned(),
        };
        self.safe(&text)
    }

    fn table(&self, mut table: Table) -> Result<(), Failure> {
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines: Vec<_> = table.lines().collect();
        lines
            .iter()
            .map(|line| line.trim_end())
            .filter(|line| lines.len() > 1 || !line.is_empty())
            .try_for_each(|line| self.line(line))
    }
}

/// Writes to standard error; there is nobody to tell when that fails.
pub(super) fn write_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}
