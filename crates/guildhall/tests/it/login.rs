//! Mode `login` as it is met from outside: started, set up, spoken to from the command line.

use std::{
    fs::File,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::server_process::ServerProcess;

const PASSWORD: &str = "canary-of-the-password";

/// What a command prints and how it ends.
fn run(data_dir: &Path, key: Option<&str>, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
    command
        .args(args)
        .env("GUILDHALL_DATA_DIR", data_dir)
        .env_remove("GUILDHALL_URL")
        .env_remove("GUILDHALL_AGENT_TOKEN")
        .stdin(Stdio::null());
    if let Some(key) = key {
        command.env("GUILDHALL_API_KEY", key);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn discovered(server: &ServerProcess) -> Value {
    let file = server.discovery_file();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn the_owner_is_made_with_the_code_of_the_terminal_and_programs_here_speak_as_the_owner() {
    let scratch = Scratch::new("login");
    let data_dir = scratch.path().join("data");
    let log = scratch.path().join("log");
    let args = ["--bind", "127.0.0.1:0", "--auth", "login"];
    let server = ServerProcess::start_with_log(&data_dir, &args, Some(File::create(&log).unwrap()));
    let said = server.hello.iter().find(|line| line.contains("setup"));
    let code = said.unwrap().rsplit(' ').next().unwrap().to_owned();
    let announced = discovered(&server);
    let token = announced["localToken"].as_str().unwrap().to_owned();
    assert_eq!(announced["mode"], "login");
    assert!(token.starts_with("ghl_") && token.len() == 47, "{token}");

    let (exit, _, stderr) = run(&data_dir, None, &["rooms", "list"]);
    assert!(exit == 1 && stderr.contains("SETUP_REQUIRED"), "{stderr}");
    let ask = json!({"email": "ada@example.org", "password": PASSWORD, "displayName": "Ada",
        "setupCode": code});
    let (status, account) = server.ask("POST", "/api/auth/register", Some(&ask));
    assert_eq!((status, &account["role"]), (201, &json!("owner")));
    // Without a credential this computer is like any other.
    assert_eq!(server.ask("GET", "/api/rooms", None).0, 401);
    let (exit, who, _) = run(&data_dir, None, &["whoami", "--json"]);
    let who: Value = serde_json::from_str(&who).unwrap();
    let credential = &who["caller"]["credential"];
    assert_eq!(
        (exit, credential, &who["ownerHere"]),
        (0, &json!("local-token"), &json!(true))
    );

    let make = [
        "api",
        "POST",
        "/api/auth/keys",
        "--data",
        "{\"label\":\"cli\"}",
    ];
    let (_, made, _) = run(&data_dir, None, &make);
    let made: Value = serde_json::from_str(&made).unwrap();
    let key = made["key"].as_str().unwrap();
    let by_address = ["whoami", "--json", "--url", &server.url];
    let (_, who, _) = run(&data_dir, Some(key), &by_address);
    let who: Value = serde_json::from_str(&who).unwrap();
    assert_eq!(who["caller"]["credential"], "api-key");
    let login = json!({"email": "ada@example.org", "password": "canary-of-a-slip"});
    assert_eq!(server.ask("POST", "/api/auth/login", Some(&login)).0, 401);

    let again = ServerProcess::start_with_log(&scratch.path().join("other"), &args, None);
    assert_ne!(discovered(&again)["localToken"], token.as_str());
    assert_eq!(server.stop(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("stopping"), "the log is what was searched");
    for secret in [PASSWORD, "canary-of-a-slip", &code, &token, key] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[test]
fn with_accounts_the_server_may_listen_for_other_computers_and_says_what_that_means() {
    let scratch = Scratch::new("login");
    let data_dir = scratch.path().join("data");
    let args = ["--bind", "0.0.0.0:0", "--auth", "login"];
    let server = ServerProcess::start_with_log(&data_dir, &args, None);
    let says = |words: &str| server.hello.iter().any(|line| line.contains(words));
    assert!(
        says("plain http") && says("server.allowedHosts"),
        "{:?}",
        server.hello
    );
    assert_eq!(
        discovered(&server)["url"],
        format!("http://127.0.0.1:{}", server.port())
    );
    let (exit, _, _) = run(&data_dir, None, &["status"]);
    assert_eq!(exit, 0);
}
