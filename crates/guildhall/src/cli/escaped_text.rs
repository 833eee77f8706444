//! Text from others on a terminal: what could steer the terminal or turn the reading direction
//! is shown as an escape instead.

use std::fmt::Write;

use serde_json::Value;

/// `text` on one line, safe to show.
pub(super) fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// `text` with its line breaks, safe to show.
pub(super) fn lines(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

/// `text` on one line with everything in it visible: what steers, and what takes no place on
/// the screen, so that what a person agrees to is what stands there.
pub(super) fn escape_hidden(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    one_line(&safe)
}

/// JSON text that means the same and is safe to show.
///
/// Outside its strings JSON holds none of the escaped characters but line breaks and tabs.
pub(super) fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if !steers(c) || matches!(c, '\n' | '\t' | '\r') {
            safe.push(c);
        } else {
            // Every character that steers lies in the first plane; writing cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        }
    }
    safe
}

/// A JSON value as a cell: text as it is, lists joined, nothing for null.
pub(super) fn of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(of).collect::<Vec<_>>().join(", "),
        Value::Object(_) => value.to_string(),
    }
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if keep(c) || !steers(c) => safe.push(c),
            '\n' | '\r' | '\t' => safe.extend(c.escape_default()),
            c => safe.extend(c.escape_unicode()),
        }
    }
    safe
}

/// Whether `c` is a control character, a line separator or a mark of the bidirectional algorithm
/// (Unicode Standard Annex 9, "Directional formatting characters").
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether `c` shows nothing: joiners, fillers, variation selectors and tags
/// (Unicode property Default_Ignorable_Code_Point).
fn hides(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_all_else_stays() {
        let text = "é漢\u{1b}[31m\u{9b}2J\tx\r\n\u{202e}dlrow\u{2069}";
        assert_eq!(
            one_line(text),
            "é漢\\u{1b}[31m\\u{9b}2J\\tx\\r\\n\\u{202e}dlrow\\u{2069}"
        );
        assert_eq!(lines("a\nb\rc"), "a\nb\\rc");
    }

    #[test]
    fn what_takes_no_place_is_shown_where_a_person_agrees() {
        assert_eq!(
            escape_hidden("a\u{200b}b\u{feff}\u{e0041}\u{202e}\tc é漢"),
            "a\\u{200b}b\\u{feff}\\u{e0041}\\u{202e}\\tc é漢"
        );
    }

    #[test]
    fn safe_json_means_the_same() {
        let value = serde_json::json!({"text": "a\u{9b}\u{202e}b\n\u{7f}"});
        let safe = json(&value.to_string());
        assert!(!safe.chars().any(steers), "{safe}");
        assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
    }
}
