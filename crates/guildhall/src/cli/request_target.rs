//! Request targets: the path and query of one request, written so that no argument can break
//! out of its place.

use std::fmt::{Display, Write};

use super::common_args::PageArgs;

/// The path and query of one request.
#[derive(Clone, Debug)]
pub(super) struct RequestTarget {
    text: String,
    has_query: bool,
}

impl RequestTarget {
    /// Begins with a fixed path.
    pub(super) fn new(path: &str) -> Self {
        Self {
            text: path.to_owned(),
            has_query: false,
        }
    }

    /// The routes beneath one room.
    pub(super) fn room(id: &str) -> Self {
        Self::new("/api/rooms").push_segment(id)
    }

    /// The routes beneath one agent.
    pub(super) fn agent(id: &str) -> Self {
        Self::new("/api/agents").push_segment(id)
    }

    /// The routes beneath one author.
    pub(super) fn author(id: &str) -> Self {
        Self::new("/api/rooms/authors").push_segment(id)
    }

    /// Adds a path segment.
    pub(super) fn push_segment(mut self, segment: &str) -> Self {
        self.text.push('/');
        // Dots alone would climb the path once somebody on the way normalises it.
        match segment {
            "." => self.text.push_str("%2E"),
            ".." => self.text.push_str("%2E%2E"),
            _ => encode(segment, &mut self.text),
        }
        self
    }

    /// Adds a query parameter when it has a value.
    pub(super) fn query(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            self.text.push(if self.has_query { '&' } else { '?' });
            self.has_query = true;
            self.text.push_str(name);
            self.text.push('=');
            encode(&value.to_string(), &mut self.text);
        }
        self
    }

    /// Adds which page of a list is asked for.
    pub(super) fn page(self, page: PageArgs) -> Self {
        self.query("limit", page.limit).query("cursor", page.cursor)
    }

    /// As it goes into the request line.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Appends `text`, everything but the unreserved characters of RFC 3986 percent-encoded.
fn encode(text: &str, to: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_breaks_out_of_its_place() {
        let target = RequestTarget::room("a/../b?c#d é")
            .push_segment("..")
            .query("none", None::<u8>)
            .query("q", Some("a&b=c"))
            .query("limit", Some(5));
        assert_eq!(
            target.as_str(),
            "/api/rooms/a%2F..%2Fb%3Fc%23d%20%C3%A9/%2E%2E?q=a%26b%3Dc&limit=5"
        );
    }
}
