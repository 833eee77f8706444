//! `guildhall open` and `guildhall forget-browsers`.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use serde_json::Value;

use crate::{cli_server::ServerForCli, cli_terminal::TerminalCommand, server_process::ask};

/// A desktop's opener that notes the addresses that it is handed, one a line.
struct BrowserOpenerStub {
    path: String,
    notes: String,
}

impl BrowserOpenerStub {
    fn new(house: &ServerForCli) -> Self {
        let notes = format!("{}/opened", house.folder());
        let name = match cfg!(target_os = "macos") {
            true => "open",
            false => "xdg-open",
        };
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$1\" >> '{notes}.part'\nmv '{notes}.part' '{notes}'\n"
        );
        let path = house.file(name, script);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", house.folder(), std::env::var("PATH").unwrap());
        Self { path, notes }
    }

    /// What `guildhall open` shows at a terminal where this opener is, with a desktop or without.
    fn shown(&self, house: &ServerForCli, display: &str, words: &[&str]) -> String {
        let mut command = house.command(&[&["open"], words].concat());
        command
            .env("PATH", &self.path)
            .env("DISPLAY", display)
            .env_remove("WAYLAND_DISPLAY");
        let (code, shown) = TerminalCommand::start(command).ended();
        assert_eq!(code, Some(0), "{shown}");
        shown
    }

    fn was_used(&self) -> bool {
        Path::new(&self.notes).exists()
    }

    /// What it was handed; it runs beside the command, so it is waited for.
    fn handed(&self) -> String {
        while !self.was_used() {
            std::thread::yield_now();
        }
        fs::read_to_string(&self.notes).unwrap().trim().to_owned()
    }
}

/// The address in what was printed.
fn address_in(shown: &str) -> String {
    let words = shown.split_whitespace();
    let mut addresses = words.filter(|word| word.contains("/api/auth/open/"));
    let address = addresses.next().expect("an address").to_owned();
    assert_eq!(addresses.next(), None, "{shown}");
    address
}

/// What a browser that opens `address` is answered.
fn opened(address: &str) -> (u16, Value) {
    let rest = address.strip_prefix("http://127.0.0.1:").unwrap();
    let (port, path) = rest.split_once('/').unwrap();
    ask(port.parse().unwrap(), "GET", &format!("/{path}"), None).unwrap()
}

fn assert_counts_once(address: &str) {
    assert_eq!(opened(address), (303, Value::Null));
    let (status, refused) = opened(address);
    assert_eq!((status, &refused["code"]), (401, &"TOKEN_EXPIRED".into()));
    let sentence = refused["error"].as_str().unwrap();
    assert!(sentence.contains("opened already"), "{sentence}");
    assert!(sentence.contains("guildhall open"), "{sentence}");
}

#[test]
fn the_printed_address_counts_once() {
    let house = ServerForCli::open();
    let shown = house.done(&["open", "--print"]);
    assert!(shown.contains("Counts once, until"), "{shown}");
    assert_counts_once(&address_in(&shown));
    let alone = house.done(&["open", "-q"]);
    assert_eq!(alone.trim(), address_in(&alone));
    assert_counts_once(alone.trim());
    // Programs get the server's own words.
    let link = house.json(&["open"]);
    assert_eq!(link.as_object().unwrap().len(), 2, "{link}");
    assert!(link["expiresAt"].is_string());
    let origin = alone.split("/api/").next().unwrap();
    assert_counts_once(&format!("{origin}{}", link["path"].as_str().unwrap()));
}

#[test]
fn at_a_terminal_the_address_is_handed_to_the_desktop_where_there_is_one() {
    let house = ServerForCli::open();
    let opener = BrowserOpenerStub::new(&house);
    for (display, words) in [("", &[][..]), (":7", &["--print"]), (":7", &["-q"])] {
        let shown = opener.shown(&house, display, words);
        assert_counts_once(&address_in(&shown));
        assert!(!opener.was_used(), "{display} {words:?}");
    }
    let shown = opener.shown(&house, ":7", &[]);
    assert_eq!(opener.handed(), address_in(&shown));
    assert_counts_once(&opener.handed());
}

#[test]
fn all_browsers_are_forgotten_at_once() {
    let house = ServerForCli::open();
    assert_eq!(opened(house.done(&["open", "-q"]).trim()).0, 303);
    let told = house.done(&["forget-browsers"]);
    assert!(told.contains("forgotten"), "{told}");
    // There is nothing left to forget, and that is as good.
    assert_eq!(house.done(&["forget-browsers", "-q"]), "");
    assert_eq!(house.done(&["forget-browsers", "--json"]), "");
}

#[test]
fn programs_neither_make_such_an_address_nor_forget_browsers() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let token = house.run(&["tokens", "mint", "ada", "--label", "x"]);
    let key = house.run(&["keys", "make", "--label", "backup"]);
    for verb in ["open", "forget-browsers"] {
        for (variable, secret, code) in [
            ("GUILDHALL_AGENT_TOKEN", &token, "OWNER_ONLY"),
            ("GUILDHALL_API_KEY", &key, "INTERACTIVE_ONLY"),
        ] {
            let refused = house.run_where((variable, secret.stdout.trim()), b"", &[verb]);
            assert_eq!((refused.code, &*refused.stdout), (1, ""), "{refused:?}");
            assert!(refused.stderr.contains(code), "{refused:?}");
        }
        assert_eq!(ServerForCli::empty().run(&[verb]).code, 3);
        assert_eq!(house.run(&[verb, "now"]).code, 2);
    }
}
