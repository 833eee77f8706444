//! Revisions: how often an object's stored fields changed, and changes that wait for one.
//! Pure: the headers `ETag` and `If-Match` are read and written by `http`.

use crate::Refusal;

/// A value with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revised<T> {
    /// How often its stored fields changed, from 1.
    pub rev: u64,
    /// The value.
    pub value: T,
}

/// Whether a change waits for a certain revision of its object. Source: RFC 9110 §13.1.1,
/// contract 1.9.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// The last writer wins.
    #[default]
    None,
    /// The object must exist, whatever its revision.
    Exists,
    /// One of these revisions; empty when no tag can match.
    OneOf(Vec<u64>),
}

impl Precondition {
    /// Lets a change of an object at revision `rev` through.
    ///
    /// # Errors
    /// [`Refusal::PreconditionFailed`] with the revision it has.
    pub fn check(&self, rev: u64) -> Result<(), Refusal> {
        match self {
            Self::None | Self::Exists => Ok(()),
            Self::OneOf(revs) if revs.contains(&rev) => Ok(()),
            Self::OneOf(_) => Err(Refusal::PreconditionFailed(rev)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_passes_at_a_revision_it_waits_for() {
        for (precondition, passes) in [
            (Precondition::None, true),
            (Precondition::Exists, true),
            (Precondition::OneOf(vec![2, 3]), true),
            (Precondition::OneOf(vec![2]), false),
            (Precondition::OneOf(Vec::new()), false),
        ] {
            assert_eq!(precondition.check(3).is_ok(), passes, "{precondition:?}");
        }
    }
}
