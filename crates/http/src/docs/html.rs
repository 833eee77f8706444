//! Writing HTML: every text that is not ours goes through [`escape`].

use std::borrow::Cow;

/// HTML under construction.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours, as it is.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text of any origin.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    /// Paragraphs, parted by empty lines, with `code` between backticks.
    pub(super) fn prose(&mut self, text: &str) -> &mut Self {
        let paragraphs = text.split("\n\n").map(str::trim);
        for paragraph in paragraphs.filter(|paragraph| !paragraph.is_empty()) {
            self.raw("<p>").line(paragraph).raw("</p>");
        }
        self
    }

    /// One line of text with `code` between backticks.
    pub(super) fn line(&mut self, text: &str) -> &mut Self {
        let mut parts = text.split('`').peekable();
        let mut is_code = false;
        while let Some(part) = parts.next() {
            match (is_code, parts.peek().is_some()) {
                (true, true) => self.raw("<code>").text(part).raw("</code>"),
                // A backtick without its second one is just a character.
                (true, false) => self.text("`").text(part),
                (false, _) => self.text(part),
            };
            is_code = !is_code;
        }
        self
    }

    /// A code with a link to its page.
    pub(super) fn error_link(&mut self, code: &str) -> &mut Self {
        self.raw("<a href=\"/docs/errors/")
            .text(code)
            .raw("\"><code>")
            .text(code)
            .raw("</code></a>")
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// `text` with nothing left that HTML would read as markup, in text and in quoted attributes.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().fold(String::new(), |mut escaped, character| {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            plain => escaped.push(plain),
        }
        escaped
    });
    Cow::Owned(escaped)
}

/// `text` as the name of a place on the page: everything but letters, digits, `.`, `_` and `-`
/// becomes `-`.
pub(super) fn anchor(text: &str) -> String {
    let keep = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    text.chars()
        .map(|character| if keep(character) { character } else { '-' })
        .collect()
}
