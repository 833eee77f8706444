//! Queries: reading an address's parameters, and saying everything that is wrong with them.
//! An empty value counts as absent; a repeated one is refused; unknown ones are ignored.

use std::{hash::Hash, ops::RangeInclusive};

use axum::{
    extract::{FromRequestParts, Query as Pairs},
    http::request::Parts,
};
use guildhall_domain::{
    Refusal, Timestamp, directories as paths, errors::ValidationErrors, limits,
};

use crate::{errors::ApiError, page_cursor};

/// A query of the shape `Q`.
pub struct Query<Q>(pub Q);

/// A query that can be read from parameters.
pub trait FromQuery: Sized {
    /// Reads it; what is wrong is noted in `params`.
    fn read(params: &mut Params) -> Self;
}

/// The parameters of one address.
#[derive(Debug)]
pub struct Params {
    pairs: Vec<(String, String)>,
    invalid: ValidationErrors,
}

impl<S: Send + Sync, Q: FromQuery> FromRequestParts<S> for Query<Q> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let Ok(Pairs(pairs)) = Pairs::try_from_uri(&parts.uri) else {
            return Err(
                Refusal::Validation(ValidationErrors::form("the query is not readable")).into(),
            );
        };
        let mut params = Params {
            pairs,
            invalid: ValidationErrors::default(),
        };
        let query = Q::read(&mut params);
        if params.invalid.is_empty() {
            Ok(Self(query))
        } else {
            Err(Refusal::Validation(params.invalid).into())
        }
    }
}

impl Params {
    /// One text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let mut values = self
            .pairs
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value);
        let first = values.next().cloned();
        if values.next().is_some() {
            self.fail::<()>(name, "must not be repeated");
        }
        let text = first.filter(|text| !text.is_empty())?;
        if text.contains('\0') {
            self.fail::<()>(name, "must not hold the character U+0000");
        }
        Some(text)
    }

    /// A path; an empty one is none. What a path may not hold is said by whoever follows it.
    pub fn maybe_path(&mut self, name: &str) -> Option<String> {
        let mut values = self.texts(name).into_iter();
        let path = values.next()?;
        if values.next().is_some() {
            return self.fail(name, "must not be repeated");
        }
        if path.is_empty() {
            return self.fail(name, "must not be empty");
        }
        Some(path)
    }

    /// A path that must be there.
    pub fn path(&mut self, name: &str) -> String {
        let is_there = self.pairs.iter().any(|(key, _)| key == name);
        if !is_there {
            self.fail::<()>(name, "is required");
        }
        self.maybe_path(name).unwrap_or_default()
    }

    /// The path of a folder, absolute or beginning with `~`.
    pub fn maybe_folder(&mut self, name: &str) -> Option<String> {
        let path = self.maybe_path(name)?;
        match paths::problem_of_folder(&path) {
            Some(problem) => self.fail(name, problem),
            None => Some(path),
        }
    }

    /// The path of a folder that must be there.
    pub fn folder(&mut self, name: &str) -> String {
        let path = self.path(name);
        if !path.is_empty()
            && let Some(problem) = paths::problem_of_folder(&path)
        {
            self.fail::<()>(name, problem);
        }
        path
    }

    /// Every text of a parameter that may be repeated.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.pairs
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// `true`, `false`, `1` or `0`.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        match self.text(name)?.as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => self.fail(name, "must be true, false, 1 or 0"),
        }
    }

    /// A whole number.
    pub fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.text(name)?;
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if is_decimal => Some(number),
            _ => self.fail(name, "must be a whole number that is not negative"),
        }
    }

    /// A moment as RFC 3339.
    pub fn moment(&mut self, name: &str) -> Option<Timestamp> {
        let text = self.text(name)?;
        Timestamp::parse(&text)
            .or_else(|| self.fail(name, "must be a time such as 2026-11-21T03:37:32Z"))
    }

    /// One of a set of words.
    pub fn word<T: Copy>(&mut self, name: &str, words: &[(T, &str)]) -> Option<T> {
        let text = self.text(name)?;
        let known = words
            .iter()
            .find(|(_, word)| *word == text)
            .map(|(value, _)| *value);
        if known.is_none() {
            let all: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
            return self.fail(name, &format!("must be one of {}", all.join(", ")));
        }
        known
    }

    /// How many items a page holds.
    pub fn limit(&mut self) -> u32 {
        self.limit_of(limits::PAGE_ITEMS, limits::PAGE_ITEMS_DEFAULT)
    }

    /// How many items a page holds, where a list has bounds of its own.
    pub fn limit_of(&mut self, range: RangeInclusive<u32>, otherwise: u32) -> u32 {
        let Some(number) = self.number("limit") else {
            return otherwise;
        };
        match u32::try_from(number) {
            Ok(limit) if range.contains(&limit) => limit,
            _ => {
                let problem = format!("must be {} to {}", range.start(), range.end());
                self.fail::<u32>("limit", &problem).unwrap_or_default()
            }
        }
    }

    /// Behind which item a page of `list` begins, as the `nextCursor` of the page before says.
    pub fn after(&mut self, list: impl Hash) -> Option<[u8; 16]> {
        let cursor = self.text("cursor")?;
        let after = page_cursor::read(&cursor, list);
        if after.is_none() {
            self.fail::<()>("cursor", "does not belong to this list");
        }
        after
    }

    /// The number behind which the page begins, of a `list` that is ordered by one.
    pub fn place_after(&mut self, list: impl Hash) -> Option<u64> {
        let cursor = self.text("cursor")?;
        page_cursor::read_place(&cursor, list)
            .or_else(|| self.fail("cursor", "does not belong to this list"))
    }

    /// Notes everything that a rule of the domain found wrong.
    pub fn merge(&mut self, invalid: ValidationErrors) {
        for (name, problems) in invalid.field_errors {
            for problem in problems {
                self.invalid.field(&name, problem);
            }
        }
    }

    /// Notes a problem of one parameter.
    pub fn fail<T>(&mut self, name: &str, problem: &str) -> Option<T> {
        self.invalid.field(name, problem);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        let uri = format!("/x?{query}").parse().unwrap();
        let Pairs(pairs) = Pairs::try_from_uri(&uri).unwrap();
        Params {
            pairs,
            invalid: ValidationErrors::default(),
        }
    }

    #[test]
    fn booleans_have_four_spellings_and_empty_is_absent() {
        for (query, flag, fine) in [
            ("", None, true),
            ("on=", None, true),
            ("on=true", Some(true), true),
            ("on=0", Some(false), true),
            ("on=maybe", None, false),
            ("on=TRUE", None, false),
            ("on=1&on=1", Some(true), false),
        ] {
            let mut params = params(query);
            assert_eq!(params.flag("on"), flag, "{query}");
            assert_eq!(params.invalid.is_empty(), fine, "{query}");
        }
    }

    #[test]
    fn a_page_holds_1_to_200() {
        for (query, limit, fine) in [
            ("", 50, true),
            ("limit=200", 200, true),
            ("limit=0", 0, false),
            ("limit=201", 0, false),
            ("limit=-1", 50, false),
            ("limit=+1", 50, false),
            ("limit=x", 50, false),
        ] {
            let mut params = params(query);
            assert_eq!(params.limit(), limit, "{query}");
            assert_eq!(params.invalid.is_empty(), fine, "{query}");
        }
    }
}
