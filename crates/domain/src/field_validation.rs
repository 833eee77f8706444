//! Text fields: one check for every bounded text of a request.
//! Which bounds a field has stands in [`crate::limits`].

use crate::errors::ValidationErrors;

/// Collects what is wrong with a request's fields, so that all of it is answered at once.
#[derive(Debug, Default)]
pub struct FieldValidator {
    invalid: ValidationErrors,
}

impl FieldValidator {
    /// Nothing found wrong yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes `problem` against `field`.
    pub fn fail(&mut self, field: &str, problem: impl Into<String>) {
        self.invalid.field(field, problem);
    }

    /// Checks that `text` has between `min` and `max` characters and no U+0000.
    pub fn chars(&mut self, field: &str, text: &str, min: usize, max: usize) {
        let found = text.chars().take(max.saturating_add(1)).count();
        if found < min || found > max {
            self.fail(field, format!("must have {min} to {max} characters"));
        }
        self.no_null(field, text);
    }

    /// Checks that `text` has no control characters.
    pub fn one_line(&mut self, field: &str, text: &str) {
        if text.chars().any(char::is_control) {
            self.fail(field, "must not hold control characters");
        }
    }

    /// Checks that `text` holds no U+0000.
    pub fn no_null(&mut self, field: &str, text: &str) {
        if text.contains('\0') {
            self.fail(field, "must not hold the character U+0000");
        }
    }

    /// Checks that `number` lies in `range`.
    pub fn number(&mut self, field: &str, number: u32, range: &std::ops::RangeInclusive<u32>) {
        if !range.contains(&number) {
            self.fail(
                field,
                format!("must be {} to {}", range.start(), range.end()),
            );
        }
    }

    /// Ends the check.
    ///
    /// # Errors
    /// [`crate::Refusal::Validation`] with everything that was noted.
    pub fn finish(self) -> Result<(), crate::Refusal> {
        if self.invalid.is_empty() {
            Ok(())
        } else {
            Err(crate::Refusal::Validation(self.invalid))
        }
    }
}
