//! Mentions: which words of a text call somebody, outside code and quotations.
//! Pure: who a name belongs to is asked of the caller's look-up.

use serde::{Deserialize, Serialize};

use crate::ids::AuthorId;

/// Where a text names an author, in UTF-16 units as browsers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MentionSpan {
    /// UTF-16 units before the `@`.
    pub offset: u32,
    /// UTF-16 units of the `@` and the name.
    pub length: u32,
    /// Who is named.
    pub author_id: AuthorId,
}

/// Finds the mentions of `text`.
///
/// A mention is `@` and `[A-Za-z0-9][A-Za-z0-9._-]*`, outside fenced code, inline code and
/// quoted lines, and not behind a letter or digit (an e-mail address names nobody).
/// The folded name is looked up as written, then once more without trailing `.`, `-`, `_`;
/// unknown names stay text.
///
/// Source: contract 2.3, "Mentions".
pub fn find(text: &str, lookup: impl Fn(&str) -> Option<AuthorId>) -> Vec<MentionSpan> {
    let mut spans = Vec::new();
    if !text.contains('@') {
        return spans;
    }
    let mut fence: Option<Fence> = None;
    let mut line_offset = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches(' ');
        match fence {
            Some(open) if open.closed_by(bare) => fence = None,
            Some(_) => {}
            None => match Fence::opened_by(bare) {
                Some(open) => fence = Some(open),
                None if bare.starts_with('>') => {}
                None => find_in_line(line, line_offset, &lookup, &mut spans),
            },
        }
        line_offset += utf16_len(line);
    }
    spans
}

#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    len: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        ['`', '~'].into_iter().find_map(|mark| {
            let len = run_len(line, mark);
            let info_is_plain = mark == '~' || !line[len..].contains('`');
            (len >= 3 && info_is_plain).then_some(Self { mark, len })
        })
    }

    fn closed_by(self, line: &str) -> bool {
        let len = run_len(line, self.mark);
        len >= self.len && line[len..].trim().is_empty()
    }
}

fn run_len(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

fn find_in_line(
    line: &str,
    line_offset: u32,
    lookup: &impl Fn(&str) -> Option<AuthorId>,
    spans: &mut Vec<MentionSpan>,
) {
    let mut at = 0;
    let mut before = None;
    while let Some(c) = line[at..].chars().next() {
        if c == '`' {
            let len = run_len(&line[at..], '`');
            at += len + code_span_len(&line[at + len..], len);
            before = Some('`');
            continue;
        }
        if c == '@' && !before.is_some_and(char::is_alphanumeric) {
            let name = name_at(&line[at + 1..]);
            if let Some((name, author_id)) = resolve(name, lookup) {
                spans.push(MentionSpan {
                    offset: line_offset + utf16_len(&line[..at]),
                    length: 1 + utf16_len(name),
                    author_id,
                });
            }
            if !name.is_empty() {
                at += 1 + name.len();
                before = name.chars().next_back();
                continue;
            }
        }
        at += c.len_utf8();
        before = Some(c);
    }
}

/// Bytes to skip behind an opening run of `len` backticks: to the end of the closing run,
/// or nothing when the line does not close it.
fn code_span_len(rest: &str, len: usize) -> usize {
    let mut at = 0;
    while let Some(found) = rest[at..].find('`') {
        let start = at + found;
        let run = run_len(&rest[start..], '`');
        if run == len {
            return start + run;
        }
        at = start + run;
    }
    0
}

fn name_at(rest: &str) -> &str {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return "";
    }
    let end = rest.find(|c: char| !legal(c)).unwrap_or(rest.len());
    &rest[..end]
}

fn resolve<'a>(
    name: &'a str,
    lookup: &impl Fn(&str) -> Option<AuthorId>,
) -> Option<(&'a str, AuthorId)> {
    if name.is_empty() {
        return None;
    }
    let trimmed = name.trim_end_matches(['.', '-', '_']);
    [name, trimmed]
        .into_iter()
        .find_map(|written| lookup(&written.to_ascii_lowercase()).map(|author| (written, author)))
}

fn utf16_len(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(u32, u32, u8)> {
        find(text, |name| match name {
            "ada" => Some(AuthorId::from_bytes([1; 16])),
            "bob.x" => Some(AuthorId::from_bytes([2; 16])),
            _ => None,
        })
        .into_iter()
        .map(|span| (span.offset, span.length, span.author_id.as_bytes()[0]))
        .collect()
    }

    #[test]
    fn names_call_their_owners_outside_code_and_quotations() {
        for (text, expected) in [
            ("@ada", vec![(0, 4, 1)]),
            ("hi @ADA, and (@bob.x)", vec![(3, 4, 1), (14, 6, 2)]),
            ("thanks @ada.", vec![(7, 4, 1)]),
            ("@ada._- done", vec![(0, 4, 1)]),
            ("😀 @ada", vec![(3, 4, 1)]),
            ("@eve @everyone @", vec![]),
            ("mail me@ada", vec![]),
            ("@@ada", vec![(1, 4, 1)]),
            ("`@ada` @ada", vec![(7, 4, 1)]),
            ("``a ` @ada`` @ada", vec![(13, 4, 1)]),
            ("a ` b @ada", vec![(6, 4, 1)]),
            ("> @ada\n@ada", vec![(7, 4, 1)]),
            ("```\n@ada\n```\n@ada", vec![(13, 4, 1)]),
            ("~~~ rust\n@ada\n```\n@ada", vec![]),
            ("````\n```\n@ada\n````\n@ada", vec![(19, 4, 1)]),
        ] {
            assert_eq!(found(text), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_span_is_the_name_it_says(text in "[@a-z`> .\n😀]{0,40}") {
            let units: Vec<u16> = text.encode_utf16().collect();
            let spans = find(&text, |name| (!name.is_empty()).then(|| AuthorId::from_bytes([3; 16])));
            for span in spans {
                let range = span.offset as usize..(span.offset + span.length) as usize;
                let name = String::from_utf16(&units[range]).unwrap();
                proptest::prop_assert!(name.len() > 1 && name.starts_with('@'), "{name}");
            }
        }
    }
}
