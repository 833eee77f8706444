//! Consent: a person's word for modes that act unattended. Source: contract 3.6.4.

use super::PermissionMode;
use crate::{Refusal, sessions::AutonomyConsent};

/// Whether a person's earlier word still covers `mode`: it was given for this very mode, and the
/// mode reads no wider now than it did then.
pub fn is_valid(mode: &PermissionMode, acknowledgement: &AutonomyConsent) -> bool {
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
    mode: &PermissionMode,
    now: bool,
    standing: impl IntoIterator<Item = &'a AutonomyConsent>,
) -> Result<bool, Refusal> {
    if !mode.width.needs_consent() || standing.into_iter().any(|word| is_valid(mode, word)) {
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
    use super::super::{
        AutonomyLevel, EffectReach, ModePurpose, PermissionMode, PromptPolicy, StopPoint,
    };
    use super::*;
    use crate::{Timestamp, ids::AuthorId};

    fn mode(stop: StopPoint, asks: PromptPolicy, reach: EffectReach) -> PermissionMode {
        PermissionMode {
            id: "x".to_owned(),
            label: "X".to_owned(),
            description: String::new(),
            promise: String::new(),
            native: "x".to_owned(),
            width: AutonomyLevel { stop, asks, reach },
            axis: ModePurpose::Trust,
        }
    }

    fn word(mode: &str, width: AutonomyLevel) -> AutonomyConsent {
        AutonomyConsent {
            mode: mode.to_owned(),
            width,
            by: AuthorId::from_bytes([1; 16]),
            at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn exactly_autonomy_and_unasked_reach_beyond_reading_need_consent() {
        for (stop, _) in StopPoint::WORDS {
            for (asks, _) in PromptPolicy::WORDS {
                for (reach, _) in EffectReach::WORDS {
                    let needs = matches!(stop, StopPoint::Autonomy)
                        || (matches!(asks, PromptPolicy::Never)
                            && !matches!(reach, EffectReach::Read));
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
        let wide = mode(
            StopPoint::Autonomy,
            PromptPolicy::Never,
            EffectReach::Everything,
        );
        let refused = Err(Refusal::AutonomyNotAcknowledged("x".to_owned()));
        let narrower = |change: fn(&mut AutonomyLevel)| {
            let mut width = wide.width;
            change(&mut width);
            word("x", width)
        };
        for (standing, expected) in [
            (word("x", wide.width), Ok(false)),
            (word("y", wide.width), refused.clone()),
            (
                narrower(|width| width.stop = StopPoint::Act),
                refused.clone(),
            ),
            (
                narrower(|width| width.asks = PromptPolicy::WhenRisky),
                refused.clone(),
            ),
            (
                narrower(|width| width.reach = EffectReach::Workspace),
                refused,
            ),
        ] {
            assert_eq!(
                may_use(&wide, false, std::slice::from_ref(&standing)),
                expected,
                "{standing:?}"
            );
        }
        let today = mode(
            StopPoint::Autonomy,
            PromptPolicy::Never,
            EffectReach::Workspace,
        );
        assert_eq!(
            may_use(&today, false, &[word("x", AutonomyLevel::WIDEST)]),
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
