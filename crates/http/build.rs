//! Makes sure that there is a page to embed. Never builds the page: `cargo xtask web` does.

use std::{env, fs, io, path::Path};

const PLACEHOLDER: &str = "<!doctype html>
<html lang=\"en\">
<head><meta charset=\"utf-8\"><title>guildhall</title></head>
<body>
<h1>guildhall</h1>
<p>The server runs, but its web page was not built. Run <code>cargo xtask web</code> and build again.</p>
<p><a href=\"/docs\">The interface for programs</a></p>
</body>
</html>
";

fn main() -> io::Result<()> {
    let root = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let dist = Path::new(&root).join("../../web/dist");
    let index = dist.join("index.html");
    if !index.exists() {
        fs::create_dir_all(&dist)?;
        fs::write(&index, PLACEHOLDER)?;
    }
    println!("cargo::rerun-if-changed={}", dist.display());
    Ok(())
}
