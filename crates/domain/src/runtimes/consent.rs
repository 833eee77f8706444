//! Consent: a person's word for modes that act unattended. Source: contract 3.6.4.

use super::Mode;
use crate::{Refusal, sessions::Acknowledgement};

/// Whether a person's earlier word still covers `mode`: it was given for this very mode, and the
/// mode reads no wider now than it did then.
pub fn stands(mode: &Mode, acknowledgement: &Acknowledgement) -> bool {
    acknowledgement.mode == mode.id && !mode.width.is_wider_than(acknowledgement.width)
}

/// Holds a mode that acts unattended back until a person said that it may be used.
///
/// `now` is whether the request itself says so, `standing` what was said before on the session
/// or its agent. Answers whether the request's word must be stored: it was needed, and no
/// earlier one covers the mode.
///
/// # Errors
/// [`Refusal::AutonomyNotAcknowledged`].
///
/// Source: contract 3.6.4.
pub fn may_use<'a>(
    mode: &Mode,
    now: bool,
    standing: impl IntoIterator<Item = &'a Acknowledgement>,
) -> Result<bool, Refusal> {
    if !mode.width.needs_consent() || standing.into_iter().any(|word| stands(mode, word)) {
        return Ok(false);
    }
    if now {
        Ok(true)
    } else {
        Err(Refusal::AutonomyNotAcknowledged(mode.id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asks, Axis, Mode, Reach, Stop, Width};
    use super::*;
    use crate::{Moment, ids::AuthorId};

    fn mode(stop: Stop, asks: Asks, reach: Reach) -> Mode {
        Mode {
            id: "x".to_owned(),
            label: "X".to_owned(),
            description: String::new(),
            promise: String::new(),
            native: "x".to_owned(),
            width: Width { stop, asks, reach },
            axis: Axis::Trust,
        }
    }

    fn word(mode: &str, width: Width) -> Acknowledgement {
        Acknowledgement {
            mode: mode.to_owned(),
            width,
            by: AuthorId::from_bytes([1; 16]),
            at: Moment::from_millis(0),
        }
    }

    #[test]
    fn exactly_autonomy_and_unasked_reach_beyond_reading_need_consent() {
        for (stop, _) in Stop::WORDS {
            for (asks, _) in Asks::WORDS {
                for (reach, _) in Reach::WORDS {
                    let needs = matches!(stop, Stop::Autonomy)
                        || (matches!(asks, Asks::Never) && !matches!(reach, Reach::Read));
                    let mode = mode(stop, asks, reach);
                    let outcome = may_use(&mode, false, None);
                    assert_eq!(outcome.is_err(), needs, "{mode:?}");
                    assert_eq!(may_use(&mode, true, None), Ok(needs), "{mode:?}");
                }
            }
        }
    }

    #[test]
    fn a_standing_word_covers_its_own_mode_until_that_reads_wider() {
        let wide = mode(Stop::Autonomy, Asks::Never, Reach::Everything);
        let refused = Err(Refusal::AutonomyNotAcknowledged("x".to_owned()));
        let narrower = |change: fn(&mut Width)| {
            let mut width = wide.width;
            change(&mut width);
            word("x", width)
        };
        for (standing, expected) in [
            (word("x", wide.width), Ok(false)),
            (word("y", wide.width), refused.clone()),
            (narrower(|width| width.stop = Stop::Act), refused.clone()),
            (
                narrower(|width| width.asks = Asks::WhenRisky),
                refused.clone(),
            ),
            (narrower(|width| width.reach = Reach::Workspace), refused),
        ] {
            assert_eq!(
                may_use(&wide, false, std::slice::from_ref(&standing)),
                expected,
                "{standing:?}"
            );
        }
        let today = mode(Stop::Autonomy, Asks::Never, Reach::Workspace);
        assert_eq!(
            may_use(&today, false, &[word("x", Width::WIDEST)]),
            Ok(false)
        );
        let void = word("x", today.width);
        assert_eq!(
            may_use(&wide, true, &[void]),
            Ok(true),
            "and a new word is stored"
        );
    }
}
