//! What a build does where the page was not built.

#[path = "../../build/page.rs"]
mod page;

use page::{PLACEHOLDER, Page, page};

#[test]
fn a_release_build_without_the_page_fails() {
    // `dist` inherits from `release`, and cargo tells a build script the root of a profile.
    assert_eq!(page("release", None), Page::Fail);
    assert_eq!(page("release", Some(PLACEHOLDER)), Page::Fail);
    assert_eq!(page("release", Some("<title>page</title>")), Page::Embed);
}

#[test]
fn a_debug_build_without_the_page_gets_a_placeholder() {
    assert_eq!(page("debug", None), Page::EmbedPlaceholder);
    assert_eq!(page("debug", Some(PLACEHOLDER)), Page::EmbedPlaceholder);
    assert_eq!(page("debug", Some("<title>page</title>")), Page::Embed);
}
