//! Reactions: who answered an entry with which emoji.
//! Pure: they are kept with their entry by `store::reactions`; deeds are `hall::reactions`.

use serde::{Deserialize, Serialize};

use crate::{Refusal, Timestamp, ids::AuthorId, limits};

/// One emoji, in its fully qualified form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Emoji(String);

impl Emoji {
    /// Takes one emoji sequence that Unicode recommends for interchange (UTS #51, ED-27).
    ///
    /// A sequence whose presentation selectors are missing stands for the full one, so that two
    /// spellings of one picture are one reaction. None is longer than
    /// [`limits::EMOJI_CODE_POINTS_MAX`].
    ///
    /// # Errors
    /// [`Refusal::InvalidEmoji`].
    ///
    /// Source: contract 2.3, "Reactions".
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let known = emojis::get(text).ok_or(Refusal::InvalidEmoji)?;
        Ok(Self(known.as_str().to_owned()))
    }

    /// The emoji as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who reacted with one emoji, as the interface shows it. Source: contract 2.3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reaction {
    /// The emoji.
    pub emoji: Emoji,
    /// Who, in the order of reacting.
    pub author_ids: Vec<AuthorId>,
    /// When the first of them did.
    pub first_at: Timestamp,
}

/// All reactions to one entry, with the moment of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reactions(Vec<AuthorReaction>);

/// One author's reaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AuthorReaction {
    emoji: Emoji,
    by: AuthorId,
    at: Timestamp,
}

impl Reactions {
    /// Whether `by` has reacted with `emoji`.
    pub fn has(&self, emoji: &Emoji, by: AuthorId) -> bool {
        self.0
            .iter()
            .any(|given| given.by == by && given.emoji == *emoji)
    }

    /// Adds a reaction that is not there yet.
    ///
    /// # Errors
    /// [`Refusal::TooManyReactions`] when it would be one more than
    /// [`limits::REACTION_EMOJIS_MAX`] different emojis.
    pub fn add(&mut self, emoji: Emoji, by: AuthorId, at: Timestamp) -> Result<(), Refusal> {
        let shown = self.summaries();
        let is_new = shown.iter().all(|reaction| reaction.emoji != emoji);
        if is_new && shown.len() >= limits::REACTION_EMOJIS_MAX {
            return Err(Refusal::TooManyReactions);
        }
        self.0.push(AuthorReaction { emoji, by, at });
        Ok(())
    }

    /// Takes a reaction back; says whether it was there.
    pub fn remove(&mut self, emoji: &Emoji, by: AuthorId) -> bool {
        let before = self.0.len();
        self.0
            .retain(|given| given.by != by || given.emoji != *emoji);
        self.0.len() < before
    }

    /// Whether nobody reacts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reactions by emoji, the one given first first.
    pub fn summaries(&self) -> Vec<Reaction> {
        let mut shown: Vec<Reaction> = Vec::new();
        for given in &self.0 {
            match shown.iter_mut().find(|known| known.emoji == given.emoji) {
                Some(known) => known.author_ids.push(given.by),
                None => shown.push(Reaction {
                    emoji: given.emoji.clone(),
                    author_ids: vec![given.by],
                    first_at: given.at,
                }),
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emoji(text: &str) -> Emoji {
        Emoji::parse(text).unwrap()
    }

    #[test]
    fn an_emoji_is_one_sequence_of_uts_51() {
        for (text, canonical) in [
            ("👍", Some("👍")),
            ("👍🏽", Some("👍🏽")),
            ("❤\u{fe0f}", Some("❤\u{fe0f}")),
            ("❤", Some("❤\u{fe0f}")),
            ("🇩🇪", Some("🇩🇪")),
            ("1\u{fe0f}\u{20e3}", Some("1\u{fe0f}\u{20e3}")),
            ("👩‍👩‍👧‍👦", Some("👩‍👩‍👧‍👦")),
            ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", Some("🏴󠁧󠁢󠁥󠁮󠁧󠁿")),
            ("", None),
            ("a", None),
            ("1", None),
            ("👍👍", None),
            ("👍 ", None),
            (" 👍", None),
            (":+1:", None),
            ("thumbsup", None),
            ("\u{200d}", None),
            ("🇩", None),
            ("🏽🏽", None),
        ] {
            let read = Emoji::parse(text).ok();
            assert_eq!(
                read.as_ref().map(Emoji::as_str),
                canonical,
                "{}",
                text.escape_unicode()
            );
        }
    }

    #[test]
    fn no_emoji_is_longer_than_16_code_points() {
        let all = emojis::iter().flat_map(|emoji| {
            let toned = emoji.skin_tones().into_iter().flatten();
            std::iter::once(emoji).chain(toned)
        });
        let longest = all.map(|emoji| emoji.as_str().chars().count()).max();
        assert!(longest.unwrap() <= limits::EMOJI_CODE_POINTS_MAX);
    }

    #[test]
    fn reactions_are_shown_by_emoji_in_the_order_of_the_first_that_stays() {
        let (ada, bob) = (AuthorId::from_bytes([1; 16]), AuthorId::from_bytes([2; 16]));
        let mut all = Reactions::default();
        for (at, text, by) in [(1, "👍", ada), (2, "🎉", ada), (3, "👍", bob)] {
            all.add(emoji(text), by, Timestamp::from_millis(at))
                .unwrap();
        }
        let shown = |all: &Reactions| -> Vec<(String, Vec<AuthorId>, i64)> {
            all.summaries()
                .into_iter()
                .map(|one| (one.emoji.0, one.author_ids, one.first_at.as_millis()))
                .collect()
        };
        let thumbs = ("👍".to_owned(), vec![ada, bob], 1);
        let party = ("🎉".to_owned(), vec![ada], 2);
        assert_eq!(shown(&all), [thumbs, party.clone()]);
        assert!(all.has(&emoji("👍"), bob) && !all.has(&emoji("🎉"), bob));
        assert!(all.remove(&emoji("👍"), ada));
        assert!(!all.remove(&emoji("👍"), ada));
        assert_eq!(shown(&all), [party, ("👍".to_owned(), vec![bob], 3)]);
        let stored = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Reactions>(&stored).unwrap(), all);
    }

    #[test]
    fn an_entry_has_at_most_20_different_emojis() {
        let (ada, bob) = (AuthorId::from_bytes([1; 16]), AuthorId::from_bytes([2; 16]));
        let at = Timestamp::from_millis(1);
        let mut all = Reactions::default();
        let mut known = emojis::iter().map(|known| emoji(known.as_str()));
        let first = known.next().unwrap();
        all.add(first.clone(), ada, at).unwrap();
        for _ in 1..limits::REACTION_EMOJIS_MAX {
            all.add(known.next().unwrap(), ada, at).unwrap();
        }
        let one_more = known.next().unwrap();
        assert_eq!(all.add(one_more, bob, at), Err(Refusal::TooManyReactions));
        assert_eq!(all.add(first, bob, at), Ok(()));
    }
}
