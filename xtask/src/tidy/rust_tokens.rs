//! Reading Rust just far enough for the rules: code without comments, as words and marks.
//! Not a parser: it knows comments, literals and names, and nothing of what they mean.

/// One word or mark of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// A name or number, `::`, or one other character.
    pub(super) text: &'a str,
    /// Counted from 1.
    pub(super) line: usize,
}

impl Token<'_> {
    /// Whether it is a name, a keyword or a number.
    pub(super) fn is_word(self) -> bool {
        self.text.bytes().all(is_word_byte)
    }
}

/// The words and marks of `code`, which [`code_only`] made.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (text, after) = rest.split_at(token_len(rest));
            found.push(Token {
                text,
                line: number + 1,
            });
            rest = after.trim_start();
        }
    }
    found
}

/// How many bytes the token takes that `text` opens with.
fn token_len(text: &str) -> usize {
    if text.starts_with("::") {
        return 2;
    }
    match text.bytes().take_while(|byte| is_word_byte(*byte)).count() {
        0 => text.chars().next().map_or(0, char::len_utf8),
        word => word,
    }
}

/// `source` with comments turned to spaces; lines keep their numbers.
pub(super) fn without_comments(source: &str) -> String {
    blanked(source, false)
}

/// `source` with comments and the insides of literals turned to spaces; lines keep their numbers.
pub(super) fn code_only(source: &str) -> String {
    blanked(source, true)
}

/// Walks over `source`, turning comments and, if asked, literals to spaces.
fn blanked(source: &str, literals_too: bool) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let (end, is_literal) = match span_at(bytes, at) {
            SourceSpan::Code(len) => {
                at += len;
                continue;
            }
            SourceSpan::Comment(len) => (at + len, false),
            SourceSpan::Literal(len) => (at + len, true),
        };
        let end = end.min(bytes.len());
        if !is_literal || literals_too {
            for byte in out.get_mut(at..end).unwrap_or_default() {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What begins at one place, with its length in bytes (at least 1).
enum SourceSpan {
    Code(usize),
    Comment(usize),
    Literal(usize),
}

fn span_at(bytes: &[u8], at: usize) -> SourceSpan {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest {
        [b'/', b'/', ..] => SourceSpan::Comment(
            rest.iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len()),
        ),
        [b'/', b'*', ..] => SourceSpan::Comment(block_comment_len(rest)),
        [b'"', ..] => SourceSpan::Literal(quoted_len(rest, b'"')),
        [b'\'', ..] => character_len(rest).map_or(SourceSpan::Code(1), SourceSpan::Literal),
        [first, ..] if is_word_byte(*first) => match raw_string_len(rest) {
            Some(len) => SourceSpan::Literal(len),
            // The whole word is passed, so that the `r` of `for"` is not taken for a raw string.
            None => SourceSpan::Code(rest.iter().take_while(|byte| is_word_byte(**byte)).count()),
        },
        _ => SourceSpan::Code(1),
    }
}

/// The length of a comment that may hold others.
fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth.saturating_sub(1), at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a literal between two `quote`s in which a backslash guards the next byte.
fn quoted_len(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a character literal; `None` when the quote opens a lifetime.
fn character_len(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted_len(rest, b'\''));
    }
    let letter = std::str::from_utf8(rest.get(1..rest.len().min(5))?);
    let letter = letter
        .or_else(|cut| std::str::from_utf8(rest.get(1..1 + cut.valid_up_to()).unwrap_or_default()));
    let len = letter.ok()?.chars().next()?.len_utf8();
    (rest.get(1 + len) == Some(&b'\'')).then_some(len + 2)
}

/// The length of a raw string such as `r#"…"#`; `None` when there is none.
fn raw_string_len(rest: &[u8]) -> Option<usize> {
    let prefix = [&b"br"[..], b"cr", b"r"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))?
        .len();
    let hashes = rest
        .get(prefix..)?
        .iter()
        .take_while(|byte| **byte == b'#')
        .count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let body = prefix + hashes + 1;
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let inside = rest
        .get(body..)?
        .windows(close.len())
        .position(|window| window == close);
    Some(inside.map_or(rest.len(), |inside| body + inside + close.len()))
}

fn is_word_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        let code = code_only(source);
        tokens(&code)
            .into_iter()
            .map(|token| token.text.to_owned())
            .collect()
    }

    #[test]
    fn comments_of_every_kind_are_dropped() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f /// g"), ["a", "f"]);
    }

    #[test]
    fn literals_are_dropped_and_what_looks_like_one_is_kept() {
        assert_eq!(
            words(r##"a("x \" // y", 'q', '\'', r#"un"safe"#, b"z", b'é') b"##)[..3],
            ["a", "(", ","]
        );
        assert_eq!(words("fn f<'a>(x: &'a str) {} 'é' g").last().unwrap(), "g");
        assert_eq!(words("fn f<'a>(x: &'a str) {}")[2..5], ["<", "'", "a"]);
    }

    #[test]
    fn a_comment_inside_a_string_is_text() {
        assert_eq!(
            without_comments("f(\"// not\") // yes"),
            "f(\"// not\")       "
        );
    }

    #[test]
    fn lines_keep_their_numbers() {
        let code = code_only("/* 1\n2 */ a\n\"\n\" b::c");
        let lines: Vec<_> = tokens(&code)
            .into_iter()
            .map(|token| (token.text, token.line))
            .collect();
        assert_eq!(lines, [("a", 2), ("b", 4), ("::", 4), ("c", 4)]);
    }
}
