//! Tool servers of agents, from the terminal.

use serde_json::{Value, json};

use crate::cli_server::{ServerForCli, digest_of};

const SECRET: &str = "canary-of-the-terminal";

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_tool_server_is_added_changed_switched_and_removed() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let file = house.file("secret", format!("{SECRET}\n"));
    let token = format!("TOKEN={file}");
    let args = [
        "mcp",
        "add",
        "ada",
        "files",
        "--json",
        "--env",
        "SEEN=1",
        "--env-from",
        "HOUSE",
        "--env-from",
        "OTHER=HOUSE",
        "--env-file",
        &token,
        "--",
        "/bin/true",
        "--x",
        "y",
    ];
    let added = house.approved_where(("HOUSE", "red"), b"", &args);
    assert_eq!((added.code, &*added.stderr), (0, ""));
    let connection = json!({"transport": "stdio", "command": "/bin/true", "args": ["--x", "y"],
        "env": {"SEEN": "1", "HOUSE": "red", "OTHER": "red", "TOKEN": SECRET}});
    assert_eq!(read(&added.stdout)[0]["connection"], connection);

    let piped = house.approved_where(
        ("UNUSED", ""),
        SECRET.as_bytes(),
        &[
            "mcp",
            "add",
            "ada",
            "web",
            "--address",
            "http://127.0.0.1:9/sse",
            "--transport",
            "sse",
            "--header-file",
            "Authorization=-",
            "-q",
        ],
    );
    assert_eq!((piped.code, &*piped.stdout), (0, "files\nweb\n"));
    let shown = house.json(&["mcp", "show", "ada", "WEB"]);
    assert_eq!(shown["connection"]["transport"], "sse");
    assert_eq!(
        shown["connection"]["headers"],
        json!({"Authorization": SECRET})
    );
    // The screen shows names; whoever looks over a shoulder reads no value.
    for text in [
        house.done(&["mcp", "list", "ada"]),
        house.done(&["mcp", "show", "ada", "files"]),
        house.done(&["mcp", "show", "ada", "web"]),
    ] {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(
        house
            .done(&["mcp", "show", "ada", "web"])
            .contains("Authorization")
    );

    let changed = house.approved(&[
        "mcp",
        "update",
        "ada",
        "files",
        "--json",
        "--if-match",
        "1",
        "--env",
        "TOKEN=***",
        "--",
        "/bin/true",
    ]);
    let connection = json!({"transport": "stdio", "command": "/bin/true", "args": [],
        "env": {"TOKEN": SECRET}});
    assert_eq!(read(&changed)[0]["connection"], connection);
    let off = house.json(&["mcp", "disable", "ada", "files"]);
    assert_eq!(off[0]["status"], "disabled");
    let on = read(&house.approved(&["mcp", "enable", "ada", "files", "--json"]));
    assert_eq!(on[0]["status"], "unknown");
    let lines = house.done(&["mcp", "list", "ada", "--jsonl"]);
    let names: Vec<Value> = lines
        .lines()
        .map(|line| read(line)["name"].clone())
        .collect();
    assert_eq!(names, ["files", "web"]);
    assert_eq!(
        house.done(&["mcp", "remove", "ada", "files", "-q"]),
        "web\n"
    );
    assert_eq!(
        house.refused(&["mcp", "show", "ada", "files"]),
        "SERVER_NOT_FOUND"
    );
}

#[test]
fn what_a_folder_names_is_shown_and_imported() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let project = json!({"mcpServers": {"true": {"command": "/bin/true"}, "bad": {}}});
    house.file(".mcp.json", project.to_string());
    let found = house.run(&["mcp", "discover", "ada"]);
    assert!(
        found.stdout.contains("/bin/true") && found.stderr.contains("bad"),
        "{found:?}"
    );
    let imported = read(&house.approved(&["mcp", "import", "ada", "true", "--json"]));
    assert_eq!(imported[0]["connection"]["command"], "/bin/true");
    assert_eq!(
        house.refused(&["mcp", "import", "ada", "true"]),
        "DUPLICATE_NAME"
    );
}

/// Nothing is kept or started before somebody said yes to the very card that was shown.
#[test]
fn the_owners_command_shows_its_card_and_runs_with_a_yes_to_its_digest() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let marker = std::path::Path::new(house.folder()).join("marker");
    let script = format!("touch '{}'", marker.display());
    let add = |words: &[&str]| {
        let tail = ["--", "/bin/sh", "-c", &script];
        house.run(&[&["mcp", "add", "ada", "run"], words, &tail].concat())
    };
    let nothing = || {
        assert_eq!(house.json(&["mcp", "list", "ada"]), json!([]));
        assert_eq!(
            house.refused(&["mcp", "test", "ada", "run"]),
            "SERVER_NOT_FOUND"
        );
        assert!(!marker.exists());
    };
    let asked = add(&[]);
    assert_eq!((asked.code, &*asked.stdout), (5, ""), "{asked:?}");
    let digest = digest_of(&asked.stderr);
    for part in [
        "command: /bin/sh",
        &script,
        &format!("--yes {digest}"),
        "/asks/",
    ] {
        assert!(asked.stderr.contains(part), "{part}: {asked:?}");
    }
    nothing();
    // Programs are shown the card in the server's own words; it is the same one.
    let card = add(&["--json"]);
    assert_eq!((card.code, &*card.stdout), (5, ""), "{card:?}");
    let approval = read(&card.stderr);
    assert_eq!(approval["state"], "pending");
    assert_eq!(approval["card"]["args"], json!(["-c", script]));
    assert_eq!(digest_of(&card.stderr), digest);
    let other = if digest.starts_with('0') {
        "11111111"
    } else {
        "00000000"
    };
    let wrong = add(&["--yes", other]);
    assert_eq!((wrong.code, &*wrong.stdout), (2, ""), "{wrong:?}");
    assert!(wrong.stderr.contains("not what you saw"), "{wrong:?}");
    for short in ["", "1234567", "1234567x"] {
        assert_eq!(add(&["--yes", short]).code, 2, "{short}");
    }
    nothing();
    let added = add(&["--yes", &digest, "--json"]);
    assert_eq!((added.code, &*added.stderr), (0, ""), "{added:?}");
    assert_eq!(read(&added.stdout)[0]["name"], "run");
    house.run(&["mcp", "test", "ada", "run"]);
    assert!(marker.exists(), "the marker is one");
    // A change of one word is another card.
    let update = [
        "mcp",
        "update",
        "ada",
        "run",
        "--yes",
        &digest,
        "--",
        "/bin/true",
    ];
    assert_eq!(house.run(&update).code, 2);
    // What was approved at another screen meanwhile runs.
    let remote = [
        "mcp",
        "add",
        "ada",
        "web",
        "--address",
        "http://127.0.0.1:9/",
    ];
    let asked = house.run(&[&remote[..], &["--json"]].concat());
    let approval = read(&asked.stderr);
    let id = approval["id"].as_str().unwrap();
    house.done(&["asks", "grant", id, "--digest", &digest_of(&asked.stderr)]);
    house.done(&remote);
    // Going and switching off need none.
    house.done(&["mcp", "disable", "ada", "run"]);
    assert_eq!(house.run(&["mcp", "enable", "ada", "run"]).code, 5);
    house.done(&["mcp", "remove", "ada", "run"]);
}

#[test]
fn at_a_terminal_a_y_adds_what_the_card_shows_and_anything_else_takes_it_back() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let add = ["mcp", "add", "ada", "run", "--", "/bin/true", "--flag"];
    let withdrawn = || {
        let approvals = read(&house.body("/api/approvals?state=withdrawn"));
        approvals["approvals"].as_array().unwrap().len()
    };
    for (before, no) in ["n", "", "yes, but later"].into_iter().enumerate() {
        let mut terminal = house.at_terminal(&add);
        let card = terminal.until("Approve? [y/N] ").to_owned();
        for part in ["command: /bin/true", "--flag", &digest_of(&card)] {
            assert!(card.contains(part), "{part}: {card}");
        }
        // Nothing is stored before the answer.
        assert_eq!(house.json(&["mcp", "list", "ada"]), json!([]));
        terminal.type_line(no);
        let (code, shown) = terminal.ended();
        assert_eq!(code, Some(2), "{shown}");
        assert!(shown.contains("nothing was done"), "{shown}");
        assert_eq!(house.json(&["mcp", "list", "ada"]), json!([]));
        assert_eq!(withdrawn(), before + 1);
    }
    for (name, yes) in [("run", "y"), ("more", " YES ")] {
        let args = ["mcp", "add", "ada", name, "-q", "--", "/bin/true", name];
        let mut terminal = house.at_terminal(&args);
        terminal.until("Approve? [y/N] ");
        terminal.type_line(yes);
        let (code, shown) = terminal.ended();
        assert_eq!(code, Some(0), "{shown}");
        let listed = house.json(&["mcp", "list", "ada"]);
        let mut names = listed.as_array().unwrap().iter().map(|it| &it["name"]);
        assert!(names.any(|it| it == name), "{listed}");
    }
}

#[test]
fn a_command_that_waits_shows_its_card_and_runs_when_somebody_says_yes() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let mut watch = house.follow(&["asks", "watch", "--jsonl", "--after", "0"]);
    let mut waits = house.follow(&[
        "mcp",
        "add",
        "ada",
        "web",
        "-q",
        "--wait",
        "600",
        "--address",
        "http://127.0.0.1:9/",
    ]);
    let approval = watch.json()["data"]["approval"].take();
    let text = |member: &str| approval[member].as_str().unwrap();
    house.done(&["asks", "grant", text("id"), "--digest", text("digest")]);
    assert_eq!(waits.line(), "web");
    let (code, told) = waits.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("http://127.0.0.1:9/"), "{told}");
}

#[test]
fn a_command_that_names_no_way_or_two_is_wrong_usage() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    for args in [
        &["mcp", "add", "ada", "x"][..],
        &["mcp", "update", "ada", "x"],
        &["mcp", "add", "ada", "x", "--env", "A=1"],
        &["mcp", "add", "ada", "x", "--env", "A", "--", "y"],
        &[
            "mcp",
            "add",
            "ada",
            "x",
            "--env-from",
            "NO_SUCH_VARIABLE",
            "--",
            "y",
        ],
        &[
            "mcp", "add", "ada", "x", "--env", "A=1", "--env", "A=2", "--", "y",
        ],
        &["mcp", "add", "ada", "x", "--address", "http://x", "--", "y"],
        &["mcp", "add", "ada", "x", "--header", "A=1", "--", "y"],
        &["mcp", "add", "ada", "x", "--wait", "601", "--", "y"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
    }
    let wrong = house.run(&["mcp", "add", "ada", "x", "--env", SECRET, "--", "y"]);
    assert!(!wrong.stderr.contains(SECRET), "{wrong:?}");
}

/// A tool server in a few lines: it names a tool by a variable of its own, and says in which
/// folder it runs and whether it was given an agent's token.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%s","title":"%s %s","inputSchema":{"type":"object"}}]}}\n' "$id" "$TOOL" "${GUILDHALL_AGENT_TOKEN:-none}" "$(pwd)" ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn a_program_is_tested_in_its_agents_folder_without_the_agents_token() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let file = house.file("server.sh", SERVER);
    house.approved(&[
        "mcp",
        "add",
        "ada",
        "sh",
        "--env",
        "TOOL=echo",
        "--",
        "/bin/sh",
        "server.sh",
    ]);
    let tested = house.json(&["mcp", "test", "ada", "sh"]);
    assert_eq!(
        (&tested["ok"], &tested["toolCount"]),
        (&json!(true), &json!(1)),
        "{tested}"
    );
    let folder = std::fs::canonicalize(house.folder()).unwrap();
    assert_eq!(tested["tools"][0]["name"], "echo");
    assert_eq!(
        tested["tools"][0]["title"],
        format!("none {}", folder.display())
    );
    let shown = house.json(&["mcp", "show", "ada", "sh"]);
    assert_eq!(
        (&shown["status"], &shown["toolCount"]),
        (&json!("ready"), &json!(1))
    );
    let script = std::fs::canonicalize(&file).unwrap();
    assert_eq!(shown["pin"]["scriptPath"], json!(script));
    // Another script is another program: it is not started.
    house.file("server.sh", format!("{SERVER}\n"));
    let changed = house.run(&["mcp", "test", "ada", "sh"]);
    assert_eq!(changed.code, 1);
    assert!(
        changed.stderr.contains("not the one that was approved"),
        "{changed:?}"
    );
}

#[test]
fn a_program_that_ends_or_talks_nonsense_says_why_without_its_secrets() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let add = |name: &str, script: &str| {
        let file = house.file(name, script);
        let secret = format!("KEY={SECRET}");
        let args = ["mcp", "add", "ada", name, "--env", &secret, "--"];
        house.approved(&[&args[..], &["/bin/sh", &file]].concat());
    };
    let test = |name: &str| {
        let outcome = house.run(&["mcp", "test", "ada", name, "--json"]);
        assert_eq!(outcome.code, 1, "{outcome:?}");
        assert!(!outcome.stdout.contains(SECRET), "{outcome:?}");
        read(&outcome.stdout)
    };
    add(
        "ends",
        "#!/bin/sh\necho \"reading\" >&2\necho \"the key $KEY is no good\" >&2\nexit 3\n",
    );
    let ends = test("ends");
    assert_eq!(
        (&ends["code"], &ends["error"]),
        (
            &json!("ENDED"),
            &json!("the server ended with exit code 3:\nreading\nthe key *** is no good")
        )
    );
    assert_eq!(ends["toolCount"], Value::Null);
    let told = house.run(&["mcp", "test", "ada", "ends"]);
    assert!(told.stderr.contains("the key *** is no good"), "{told:?}");
    add("chats", "#!/bin/sh\nexec yes Hello\n");
    let chats = test("chats");
    assert_eq!(chats["ok"], false, "{chats}");
    assert_eq!(chats["code"], "PROTOCOL_ERROR", "{chats}");
    // What was not reached is as unknown as before.
    let listed = house.json(&["mcp", "list", "ada"]);
    let statuses: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["status"])
        .collect();
    assert_eq!(statuses, ["unknown", "unknown"]);
}

#[test]
fn a_sign_in_is_started_asked_after_and_ended_from_the_terminal() {
    let house = ServerForCli::open();
    house.done(&["agents", "add", "Ada", "--cwd", house.folder()]);
    let address = "http://127.0.0.1:9/mcp";
    house.approved(&["mcp", "add", "ada", "web", "--address", address]);
    let started = house.json(&["mcp", "signin", "ada", "web"]);
    assert_eq!(started["alreadyConnected"], false);
    let flow = started["flowId"].as_str().unwrap();
    let shown = house.done(&["mcp", "signin", "ada", "web"]);
    assert!(shown.contains("/api/oauth/start/"), "{shown}");
    // The first one is over by the second.
    let polled = house.run(&["mcp", "poll", "ada", "web", flow, "--json"]);
    assert_eq!(polled.code, 1);
    assert_eq!(read(&polled.stdout)["code"], "SIGNIN_SUPERSEDED");
    let started = house.json(&["mcp", "signin", "ada", "web"]);
    let flow = started["flowId"].as_str().unwrap();
    let polled = house.json(&["mcp", "poll", "ada", "web", flow]);
    assert_eq!(polled["phase"], "waiting");
    let secret = [
        "mcp",
        "client",
        "set",
        "ada",
        "web",
        "mine",
        "--secret-file",
        "-",
    ];
    let saved = house.run_with(SECRET.as_bytes(), &secret);
    assert_eq!((saved.code, saved.stdout.contains(SECRET)), (0, false));
    let shown = house.json(&["mcp", "show", "ada", "web"]);
    assert_eq!(shown["authClientOrigin"], "manual");
    house.done(&["mcp", "client", "remove", "ada", "web"]);
    let shown = house.json(&["mcp", "show", "ada", "web"]);
    assert_eq!(shown["authClientOrigin"], Value::Null);
    let out = house.json(&["mcp", "signout", "ada", "web"]);
    assert_eq!(out, json!({"signedOut": false}));
}
