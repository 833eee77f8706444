//! What a build does about the page.

/// What a debug build serves where the page was not built.
pub(crate) const PLACEHOLDER: &str = "<!doctype html>
<html lang=\"en\">
<head><meta charset=\"utf-8\"><title>guildhall</title></head>
<body>
<h1>guildhall</h1>
<p>The server runs, but its web page was not built. Run <code>cargo xtask web</code> and build again.</p>
<p><a href=\"/docs\">The interface for programs</a></p>
</body>
</html>
";

/// The value of cargo's `PROFILE` for `dev` and all profiles that inherit from it.
const DEBUG: &str = "debug";

/// What a build does about the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EmbedDecision {
    /// Embeds the page that is there.
    Embed,
    /// Embeds the placeholder.
    EmbedPlaceholder,
    /// Fails, because a server without its page is of no use.
    Fail,
}

/// Decides by the profile and by the text of the page's `index.html`, `None` where there is none.
pub(crate) fn page(profile: &str, index: Option<&str>) -> EmbedDecision {
    match index {
        Some(index) if index != PLACEHOLDER => EmbedDecision::Embed,
        _ if profile == DEBUG => EmbedDecision::EmbedPlaceholder,
        _ => EmbedDecision::Fail,
    }
}
