//! What a build does where the page was not built.

#[path = "../../build/page.rs"]
mod page;

use page::{EmbedDecision, PLACEHOLDER, page};

#[test]
fn a_release_build_without_the_page_fails() {
    // `dist` inherits from `release`, and cargo tells a build script the root of a profile.
    assert_eq!(page("release", None), EmbedDecision::Fail);
    assert_eq!(page("release", Some(PLACEHOLDER)), EmbedDecision::Fail);
    assert_eq!(
        page("release", Some("<title>page</title>")),
        EmbedDecision::Embed
    );
}

#[test]
fn a_debug_build_without_the_page_gets_a_placeholder() {
    assert_eq!(page("debug", None), EmbedDecision::EmbedPlaceholder);
    assert_eq!(
        page("debug", Some(PLACEHOLDER)),
        EmbedDecision::EmbedPlaceholder
    );
    assert_eq!(
        page("debug", Some("<title>page</title>")),
        EmbedDecision::Embed
    );
}
