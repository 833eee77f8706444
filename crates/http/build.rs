//! Makes sure that there is a page to embed. Never builds the page: `cargo xtask web` does.
//! A debug build without the page gets a placeholder; a build to be used fails.

use std::{env, fs, io, path::Path};

/// What a debug build serves where the page was not built.
pub const PLACEHOLDER: &str = "<!doctype html>
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
pub enum Page {
    /// Embeds the page that is there.
    Embed,
    /// Embeds the placeholder.
    EmbedPlaceholder,
    /// Fails, because a server without its page is of no use.
    Fail,
}

/// Decides by the profile and by the text of the page's `index.html`, `None` where there is none.
pub fn page(profile: &str, index: Option<&str>) -> Page {
    match index {
        Some(index) if index != PLACEHOLDER => Page::Embed,
        _ if profile == DEBUG => Page::EmbedPlaceholder,
        _ => Page::Fail,
    }
}

fn main() -> io::Result<()> {
    let root = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let dist = Path::new(&root).join("../../web/dist");
    let index = dist.join("index.html");
    // Made in any case: cargo runs this again when something in the folder changes.
    fs::create_dir_all(&dist)?;
    println!("cargo::rerun-if-changed={}", dist.display());
    let profile = env::var("PROFILE").unwrap_or_default();
    match page(&profile, fs::read_to_string(&index).ok().as_deref()) {
        Page::Embed => {}
        Page::EmbedPlaceholder => fs::write(&index, PLACEHOLDER)?,
        Page::Fail => {
            println!(
                "cargo::error=the web page is not built: run `cargo xtask web` and build again"
            );
        }
    }
    Ok(())
}
