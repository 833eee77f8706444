//! Search: what a query asks for, and the part of a text that shows why it was found.
//! Pure: the index of words is `store::search`; who may find what is `hall::search`.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AuthorId, EntryId, RoomId},
    limits,
};

/// What is looked for: words that must all be there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchTerms {
    words: Vec<String>,
    /// Whether the last word may go on: its writer has not ended it.
    last_is_open: bool,
}

impl SearchTerms {
    /// Reads a query of 1..200 characters, at least one word of which has two letters or digits.
    ///
    /// Words are what white space parts; what holds neither letter nor digit is left out.
    /// The last one also finds words that begin with it, unless white space or a mark follows,
    /// or it is a single letter.
    ///
    /// # Errors
    /// [`Refusal::Validation`] on `q`.
    ///
    /// Source: contract 2.3, "Search".
    pub fn parse(q: &str) -> Result<Self, Refusal> {
        let mut check = FieldValidator::new();
        let range = limits::SEARCH_CHARS;
        check.chars("q", q, *range.start(), *range.end());
        let letters = |word: &str| word.chars().filter(|c| c.is_alphanumeric()).count();
        let words: Vec<&str> = q.split_whitespace().collect();
        let is_enough = words
            .iter()
            .any(|word| letters(word) >= limits::SEARCH_WORD_CHARS_MIN);
        if !is_enough {
            check.fail("q", "must hold a word of at least two letters or digits");
        }
        check.finish()?;
        let last = tokens(q).last();
        let last_is_open = last.is_some_and(|(at, token)| {
            at + token.len() == q.len() && letters(token) >= limits::SEARCH_WORD_CHARS_MIN
        });
        let words = words.into_iter().filter(|word| letters(word) > 0);
        Ok(Self {
            words: words.map(str::to_owned).collect(),
            last_is_open,
        })
    }

    /// The words as they were written.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether the last word may be the beginning of a longer one.
    pub fn last_is_open(&self) -> bool {
        self.last_is_open
    }
}

/// Where a search looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// What is looked for.
    pub wanted: SearchTerms,
    /// Only in this room.
    pub room: Option<RoomId>,
    /// Only entries whose place among all entries lies below; `None` begins at the newest.
    pub below: Option<u64>,
    /// 1..50.
    pub limit: u32,
}

/// An entry that was found. Source: contract 2.3, "Search".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Its room.
    pub room_id: RoomId,
    /// The entry.
    pub entry_id: EntryId,
    /// Its place in the room.
    pub seq: u64,
    /// Who wrote it.
    pub author_id: AuthorId,
    /// When it was written.
    pub created_at: Timestamp,
    /// The part of its text that shows why it was found.
    pub excerpt: Excerpt,
    /// Its place among all entries, by which results are ordered.
    pub place: u64,
}

/// A page of results, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPage {
    /// The entries.
    pub hits: Vec<SearchHit>,
    /// Whether older ones follow.
    pub has_more: bool,
}

/// Part of a text, with the places of what was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The part; `…` stands where the text was cut.
    pub text: String,
    /// Where the words are.
    pub spans: Vec<MatchSpan>,
}

/// A place in a text, in UTF-16 units as browsers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchSpan {
    /// Units before it.
    pub offset: u32,
    /// Its units.
    pub length: u32,
}

/// Where the text was cut.
const CUT: char = '…';

/// The part of `field_validation` around the first word that is wanted: at most
/// [`limits::EXCERPT_CHARS`] characters, with every wanted word in it marked.
pub fn excerpt(text: &str, wanted: &SearchTerms) -> Excerpt {
    let sought = FoldedTerms::new(wanted);
    let first = tokens(text).find(|(_, token)| sought.matches(token));
    let at = first.map_or(0, |(start, _)| start);
    let start = back(text, at, limits::EXCERPT_LEAD_CHARS);
    let rest = &text[start..];
    let end = rest
        .char_indices()
        .nth(limits::EXCERPT_CHARS)
        .map_or(rest.len(), |(end, _)| end);
    let part = &rest[..end];
    let lead = if start > 0 {
        String::from(CUT)
    } else {
        String::new()
    };
    let spans = tokens(part).filter(|(_, token)| sought.matches(token));
    let spans = spans.map(|(at, token)| MatchSpan {
        offset: utf16_len(&lead) + utf16_len(&part[..at]),
        length: utf16_len(token),
    });
    let spans = spans.collect();
    let mut text = lead + part;
    if end < rest.len() {
        text.push(CUT);
    }
    Excerpt { text, spans }
}

/// The wanted words as folded runs of letters and digits.
struct FoldedTerms {
    whole: Vec<String>,
    beginning: Option<String>,
}

impl FoldedTerms {
    fn new(wanted: &SearchTerms) -> Self {
        let runs = wanted.words.iter().flat_map(|word| tokens(word));
        let whole: Vec<String> = runs.map(|(_, token)| folded(token)).collect();
        let beginning = whole.last().filter(|_| wanted.last_is_open).cloned();
        Self { whole, beginning }
    }

    fn matches(&self, token: &str) -> bool {
        let token = folded(token);
        let begins = |beginning: &String| token.starts_with(beginning.as_str());
        self.whole.contains(&token) || self.beginning.as_ref().is_some_and(begins)
    }
}

/// The runs of letters and digits with the byte each begins at, as the index of words parts them.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(char::is_alphanumeric)?;
        let run = &text[start..];
        let len = run
            .find(|c: char| !c.is_alphanumeric() && !is_combining_mark(c))
            .unwrap_or(run.len());
        at = start + len;
        Some((start, &run[..len]))
    })
}

/// A word without its marks, in lower case.
fn folded(word: &str) -> String {
    word.nfd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// The byte at most `chars` characters before `at`, behind the white space there if there is some.
fn back(text: &str, at: usize, chars: usize) -> usize {
    let before = &text[..at];
    let Some((start, _)) = before.char_indices().rev().take(chars).last() else {
        return at;
    };
    if start == 0 {
        return 0;
    }
    let lead = &before[start..];
    let word = lead.char_indices().find(|(_, c)| c.is_whitespace());
    word.map_or(start, |(space, c)| start + space + c.len_utf8())
}

fn utf16_len(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(q: &str) -> SearchTerms {
        SearchTerms::parse(q).unwrap()
    }

    #[test]
    fn a_query_has_a_word_of_two_letters() {
        let long = "a".repeat(200);
        for (q, words) in [
            ("", None),
            (" ", None),
            ("a b", None),
            ("c++", None),
            ("\"*\" - ( )", None),
            ("ab", Some(vec!["ab"])),
            ("a bc -", Some(vec!["a", "bc"])),
            ("e-mail", Some(vec!["e-mail"])),
            (long.as_str(), Some(vec![long.as_str()])),
            (&format!("{long}a"), None),
            ("ab\0", None),
        ] {
            let read = SearchTerms::parse(q).ok();
            let read = read.as_ref().map(|wanted| wanted.words().to_vec());
            let words = words.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(read, words, "{q:?}");
        }
        for (q, is_open) in [
            ("the bui", true),
            ("e-ma", true),
            ("cafe\u{301}", true),
            ("the build ", false),
            ("the build!", false),
            ("the b", false),
            ("the e-m", false),
        ] {
            assert_eq!(wanted(q).last_is_open(), is_open, "{q}");
        }
    }

    #[test]
    fn an_excerpt_marks_every_wanted_word_in_it() {
        for (text, q, expected) in [
            ("the build is green", "build ", vec![(4, 5)]),
            ("Builds and BUILD", "build ", vec![(11, 5)]),
            ("Builds and BUILD", "buil", vec![(0, 6), (11, 5)]),
            ("😀 Café, CAFE\u{301}", "cafe", vec![(3, 4), (9, 5)]),
            ("an e-mail", "e-mail", vec![(3, 1), (5, 4)]),
            ("x y", "zz", vec![]),
        ] {
            let excerpt = excerpt(text, &wanted(q));
            let spans: Vec<_> = excerpt
                .spans
                .iter()
                .map(|span| (span.offset, span.length))
                .collect();
            assert_eq!(spans, expected, "{text} {q}");
            assert_eq!(excerpt.text, text);
        }
    }

    #[test]
    fn a_long_text_is_cut_around_its_first_match() {
        let text = format!("{}needle {}", "word ".repeat(100), "tail ".repeat(100));
        let excerpt = excerpt(&text, &wanted("needle"));
        assert!(excerpt.text.starts_with("…word "), "{}", excerpt.text);
        assert!(excerpt.text.ends_with('…'), "{}", excerpt.text);
        assert_eq!(excerpt.text.chars().count(), limits::EXCERPT_CHARS + 2);
        let span = excerpt.spans[0];
        let units: Vec<u16> = excerpt.text.encode_utf16().collect();
        let marked = &units[span.offset as usize..(span.offset + span.length) as usize];
        assert_eq!(String::from_utf16(marked).unwrap(), "needle");
    }

    proptest::proptest! {
        #[test]
        fn every_span_lies_in_its_excerpt_and_holds_a_wanted_word(
            text in "[abé😀 \n\u{301}.-]{0,600}",
            q in "[abé .-]{0,6}ab[ é]?",
        ) {
            let wanted = wanted(&q);
            let excerpt = excerpt(&text, &wanted);
            let units: Vec<u16> = excerpt.text.encode_utf16().collect();
            let sought = FoldedTerms::new(&wanted);
            for span in excerpt.spans {
                let range = span.offset as usize..(span.offset + span.length) as usize;
                let marked = String::from_utf16(&units[range]).unwrap();
                proptest::prop_assert!(sought.matches(&marked), "{marked}");
            }
        }
    }
}
