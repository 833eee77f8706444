//! What programs need that agents run: enclosed below a real keeper, each must succeed.

use guildhall_testkit::{TestCaller, TestHall};
use guildhall_world::{
    chromium::{self, SearchPaths},
    enclosure::Enclosure,
};

use crate::{
    browser_server::is_installed,
    enclosed_scripts::{enclosure, open, run, run_script, text},
};

const TRACING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/enclosure/tracing.py");
/// The `cargo` that built this, and not one that looks first which it should be.
const CARGO: &str = env!("CARGO");

/// A dev server of the agent at a port of the system's choice, `$port`, until its script ends.
const DEV_SERVER: &str = "
    mkdir -p site
    mkfifo served
    python3 -u -m http.server 0 --bind 127.0.0.1 --directory site > served 2> /dev/null &
    trap \"kill $!\" EXIT
    exec 3< served
    # `Serving HTTP on 127.0.0.1 port 41235 (http://127.0.0.1:41235/) ...`
    read -r _ _ _ _ _ port _ <&3
";

/// Runs a script of a new agent; answers what it said.
async fn enclosed(script: &str) -> String {
    let t = open().await;
    let ada = t.agent("ada").await;
    let said = run_script(&t, &ada, script).await;
    t.close().await;
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn git_commits_and_clones() {
    let said = enclosed(
        "git config --global user.name Ada
         git config --global user.email ada@example.org
         git init -q -b main first
         echo words > first/notes
         git -C first add notes
         git -C first commit -q -m 'The first words'
         git clone -q first second
         git clone -q \"file://$PWD/first\" third
         cat second/notes third/notes
         git -C third push -q origin main:other
         git -C first log --oneline --format=%s other",
    )
    .await;
    assert_eq!(said, "words\nwords\nThe first words\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn cargo_builds_and_runs() {
    let said = enclosed(&format!(
        "export CARGO_HOME=$PWD/cargo-home RUSTC={rustc} CARGO_TARGET_DIR=$PWD/target
         {CARGO} new -q --vcs none --name greeting greeting
         cd greeting
         {CARGO} run -q --offline",
        rustc = CARGO.strip_suffix("cargo").unwrap().to_owned() + "rustc",
    ))
    .await;
    assert_eq!(said, "Hello, world!\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_installs_a_folder_and_runs_a_script() {
    let said = enclosed(
        r#"mkdir library program
         echo '{"name": "library", "version": "1.0.0"}' > library/package.json
         echo 'module.exports = "from the library"' > library/index.js
         echo '{"name": "program", "version": "1.0.0", "scripts": {"start": "node start.js"}}' \
             > program/package.json
         echo 'console.log(require("library"))' > program/start.js
         cd program
         # It asks nobody whether there is a newer one.
         export npm_config_offline=true npm_config_update_notifier=false
         npm install --no-audit --no-fund ../library > ../installed
         npm start --silent"#,
    )
    .await;
    assert_eq!(said, "from the library\n");
}

/// What `strace -f true` does; `gdb` needs no more of the system.
#[tokio::test(flavor = "multi_thread")]
async fn a_debugger_follows_its_own_children() {
    let said = enclosed(&format!("python3 {TRACING}")).await;
    let (stops, processes) = said.trim().split_once(' ').unwrap();
    assert!(stops.parse::<u32>().unwrap() > 20, "{said}");
    assert!(processes.parse::<u32>().unwrap() > 1, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dev_server_at_a_port_of_the_systems_choice_answers() {
    let said = enclosed(&format!(
        "{DEV_SERVER}
         echo words > site/notes
         python3 -c \"import urllib.request as r; \
             print(r.urlopen('http://127.0.0.1:$port/notes').read().decode(), end='')\""
    ))
    .await;
    assert_eq!(said, "words\n");
}

/// What bubblewrap does, and Codex's own sandbox.
#[tokio::test(flavor = "multi_thread")]
async fn namespaces_with_mounts_can_be_nested() {
    let said = enclosed(
        "mkdir outer
         echo words > outer/notes
         unshare -Urm sh -e -c '
             mkdir inner
             mount --rbind / inner
             mount -t tmpfs none outer
             test ! -e outer/notes
             unshare -Urmpf --mount-proc sh -c \"mount -t tmpfs none inner && echo \\$\\$\"'
         cat outer/notes",
    )
    .await;
    assert_eq!(said, "1\nwords\n");
}

/// The command of a Chromium that shows a page in words; as root its own sandbox never works.
fn chromium() -> String {
    let found = chromium::executable(&SearchPaths {
        path: std::env::var_os("PATH"),
        ..SearchPaths::default()
    });
    let sandbox = match chromium::can_be_sandboxed() {
        true => "",
        false => "--no-sandbox",
    };
    format!(
        "{} --headless=new --disable-gpu --no-first-run --disable-background-networking \
         --user-data-dir=$PWD/profile {sandbox} --dump-dom",
        found.unwrap().display()
    )
}

/// A page of the agent's own dev server, and what it makes of itself.
fn page_script() -> String {
    format!(
        "{DEV_SERVER}
         echo '<p id=p></p><script>p.append(\"made by \" + \"the page\")</script>' > site/page.html
         {} http://127.0.0.1:$port/page.html",
        chromium()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chromium_of_the_agent_shows_its_own_dev_server() {
    if !is_installed() {
        return;
    }
    let said = enclosed(&page_script()).await;
    assert!(said.contains("made by the page"), "{said}");
}

/// Whether a Chromium of the agent shows what the main listener says to everybody.
async fn shows_the_main_listener(t: &TestHall, agent: &TestCaller, walls: Enclosure) -> bool {
    let script = format!(
        "mkdir -p home; HOME=$PWD/home {} $URL/healthz > seen 2> problems; true",
        chromium()
    );
    let folder = run(t, agent, &script, walls).await;
    text(&folder, "seen").contains("\"status\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chromium_of_the_agent_reaches_no_port_of_ours() {
    if !is_installed() {
        return;
    }
    let t = open().await;
    let ada = t.agent("ada").await;
    let walls = enclosure(&t).await;
    assert!(!shows_the_main_listener(&t, &ada, walls).await);
    assert!(shows_the_main_listener(&t, &ada, Enclosure::disabled()).await);
    t.close().await;
}
