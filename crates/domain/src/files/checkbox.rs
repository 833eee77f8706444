//! Checkboxes: marking one task-list item of a Markdown text; every other byte stays.

use std::ops::Range;

/// Why a checkbox is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckboxError {
    /// The line is another one by now, or gone.
    LineChanged,
    /// The line is no task-list item.
    NotACheckbox,
}

/// The text with the checkbox in `line`, counted from 1, checked or not.
///
/// `expected` is the whole line without its ending; lines end with LF, CR LF or CR.
/// A mark that is as asked already stays as it is written, `X` or `x`.
///
/// # Errors
/// Why it is not set; a changed line comes before one that has no checkbox.
///
/// Source: contract 6.6, "checkbox"; GFM 5.3.
pub fn set(text: &str, line: u64, expected: &str, checked: bool) -> Result<String, CheckboxError> {
    let range = range_of(text, line).ok_or(CheckboxError::LineChanged)?;
    let found = text.get(range.clone()).ok_or(CheckboxError::LineChanged)?;
    if found != expected {
        return Err(CheckboxError::LineChanged);
    }
    let at = range.start + mark(found).ok_or(CheckboxError::NotACheckbox)?;
    let is_checked = !text[at..].starts_with(' ');
    let mut text = text.to_owned();
    if is_checked != checked {
        text.replace_range(at..=at, if checked { "x" } else { " " });
    }
    Ok(text)
}

/// Where a line lies, without its ending; `None` when there are fewer.
fn range_of(text: &str, line: u64) -> Option<Range<usize>> {
    let mut start = 0;
    let mut number = 1;
    loop {
        let rest = text.get(start..)?;
        let end = rest.find(['\r', '\n']);
        if number == line {
            return Some(start..end.map_or(text.len(), |end| start + end));
        }
        let end = end?;
        let ending = if rest[end..].starts_with("\r\n") {
            2
        } else {
            1
        };
        start += end + ending;
        number += 1;
    }
}

/// Where the mark of a task-list item stands in its line: behind quotes and lists it lies in,
/// a bullet or number, and `[`.
fn mark(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = if line.starts_with('\u{feff}') { 3 } else { 0 };
    let mut is_item = false;
    loop {
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        match bytes.get(at)? {
            b'>' => at += 1,
            b'-' | b'*' | b'+' => {
                at += 1;
                is_item = is_space(bytes.get(at));
                if !is_item {
                    return None;
                }
            }
            b'0'..=b'9' => {
                let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit());
                let count = digits.count();
                at += count + 1;
                let ends_well = matches!(bytes.get(at - 1), Some(b'.' | b')'));
                is_item = count <= 9 && ends_well && is_space(bytes.get(at));
                if !is_item {
                    return None;
                }
            }
            b'[' if is_item => {
                let is_mark = matches!(bytes.get(at + 1), Some(b' ' | b'x' | b'X'));
                let is_closed = bytes.get(at + 2) == Some(&b']');
                let is_apart = bytes.get(at + 3).is_none_or(|byte| is_space(Some(byte)));
                return (is_mark && is_closed && is_apart).then_some(at + 1);
            }
            _ => return None,
        }
    }
}

fn is_space(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b' ' | b'\t'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_mark_alone_changes_and_only_that_of_a_task() {
        for (line, checked, expected) in [
            ("- [ ] a", true, Ok("- [x] a")),
            ("- [x] a", false, Ok("- [ ] a")),
            ("- [X] a", false, Ok("- [ ] a")),
            ("- [X] a", true, Ok("- [X] a")),
            ("- [ ] a", false, Ok("- [ ] a")),
            ("  * [ ]\ta [x]", true, Ok("  * [x]\ta [x]")),
            ("+ [ ]", true, Ok("+ [x]")),
            ("12. [ ] a", true, Ok("12. [x] a")),
            ("3) [ ] a", true, Ok("3) [x] a")),
            ("> - [ ] a", true, Ok("> - [x] a")),
            (">>\t- - [ ] a", true, Ok(">>\t- - [x] a")),
            ("\u{feff}- [ ] ü", true, Ok("\u{feff}- [x] ü")),
            ("[ ] a", true, Err(CheckboxError::NotACheckbox)),
            ("-[ ] a", true, Err(CheckboxError::NotACheckbox)),
            ("- [  ] a", true, Err(CheckboxError::NotACheckbox)),
            ("- [ ]a", true, Err(CheckboxError::NotACheckbox)),
            ("- [y] a", true, Err(CheckboxError::NotACheckbox)),
            ("- a [ ] b", true, Err(CheckboxError::NotACheckbox)),
            ("1234567890. [ ] a", true, Err(CheckboxError::NotACheckbox)),
            ("1 [ ] a", true, Err(CheckboxError::NotACheckbox)),
            ("- [", true, Err(CheckboxError::NotACheckbox)),
            ("", true, Err(CheckboxError::NotACheckbox)),
        ] {
            let text = format!("# x\r\n{line}\r\n- [ ] other\n");
            let expected = expected.map(|line| format!("# x\r\n{line}\r\n- [ ] other\n"));
            assert_eq!(set(&text, 2, line, checked), expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_moved_or_is_gone_is_left_alone() {
        let text = "- [ ] a\n- [ ] b\r- [ ] c\r\n- [ ] d";
        for (line, expected, outcome) in [
            (1, "- [ ] a", true),
            (2, "- [ ] b", true),
            (3, "- [ ] c", true),
            (4, "- [ ] d", true),
            (1, "- [ ] a\n", false),
            (2, "- [ ] a", false),
            (5, "", false),
            (0, "- [ ] a", false),
        ] {
            let found = set(text, line, expected, true);
            assert_eq!(found.is_ok(), outcome, "{line} {expected}");
            if !outcome {
                assert_eq!(found, Err(CheckboxError::LineChanged));
            }
        }
        // Behind the last ending there is one more line, which is empty.
        assert_eq!(set("a\n", 2, "", true), Err(CheckboxError::NotACheckbox));
    }

    proptest! {
        #[test]
        fn at_most_one_byte_of_any_text_changes(
            lines in proptest::collection::vec(
                prop_oneof!["- \\[[ xX]\\] [a-zü]{0,5}", "[-*+0-9.\\[\\]x >ü]{0,9}"], 0..6),
            ending in prop_oneof!["\n", "\r\n", "\r"],
            line in 0u64..8,
            checked: bool,
        ) {
            let text = lines.join(&ending);
            let expected = usize::try_from(line).ok().and_then(|n| n.checked_sub(1))
                .and_then(|n| lines.get(n)).cloned().unwrap_or_default();
            if let Ok(found) = set(&text, line, &expected, checked) {
                prop_assert_eq!(found.len(), text.len());
                let differ = found.bytes().zip(text.bytes()).filter(|(a, b)| a != b).count();
                prop_assert!(differ <= 1);
                let now = found.split(ending.as_str()).nth(usize::try_from(line - 1).unwrap());
                prop_assert_eq!(set(&found, line, now.unwrap(), checked), Ok(found.clone()));
            }
        }
    }
}
