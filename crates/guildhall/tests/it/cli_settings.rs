//! The owner's settings, repeated posts and conflicting changes, from the terminal.

use serde_json::{Value, json};

use crate::cli_server::ServerForCli;

fn setting(settings: &Value, key: &str) -> Value {
    let settings = settings["settings"].as_array().unwrap().iter();
    let mut found = settings.filter(|setting| setting["key"] == key);
    found.next().unwrap().clone()
}

#[test]
fn a_setting_is_set_in_words_or_json_and_reset() {
    let house = ServerForCli::open();
    let key = "rooms.maxAgentDepth";
    let before = house.json(&["settings", "list"]);
    let changed = house.json(&["settings", "set", key, "5"]);
    let five = setting(&changed, key);
    assert_eq!(
        (&five["value"], &five["source"]),
        (&5.into(), &"stored".into())
    );
    let shown = house.done(&["settings", "list"]);
    assert!(shown.contains(key) && shown.contains("stored"), "{shown}");
    assert_eq!(house.json(&["settings", "reset", key]), before);

    let roots = |changed: &Value| setting(changed, "files.roots")["value"].clone();
    let folder = house.folder();
    let one = house.json(&["settings", "set", "files.roots", folder]);
    assert_eq!(roots(&one), json!([folder]));
    let two = house.json(&["settings", "set", "files.roots", folder, "/tmp"]);
    assert_eq!(roots(&two), json!([folder, "/tmp"]));
    let none = house.json(&["settings", "set", "files.roots", "[]"]);
    assert_eq!(roots(&none), json!([]));
    let people = house.done(&["settings", "set", "files.people", "boundary"]);
    assert!(
        people.contains("boundary") && people.contains("at once"),
        "{people}"
    );
}

#[test]
fn a_setting_that_is_none_changes_nothing() {
    let house = ServerForCli::open();
    let before = house.json(&["settings", "list"]);
    for (args, code) in [
        (
            &["settings", "set", "rooms.none", "5"][..],
            "UNKNOWN_SETTING",
        ),
        (
            &["settings", "set", "rooms.maxAgentDepth", "many"],
            "VALIDATION_FAILED",
        ),
        (
            &["settings", "set", "rooms.maxAgentDepth", "101"],
            "VALIDATION_FAILED",
        ),
        (&["settings", "reset", "rooms.none"], "UNKNOWN_SETTING"),
    ] {
        assert_eq!(house.refused(args), code, "{args:?}");
    }
    let two = house.run(&["settings", "set", "rooms.maxAgentDepth", "1", "2"]);
    assert_eq!((two.code, &*two.stdout), (2, ""));
    assert_eq!(house.json(&["settings", "list"]), before);
}

#[test]
fn a_change_on_a_stale_tag_is_refused_and_the_current_one_is_told() {
    let house = ServerForCli::open();
    let topic = |topic: &str, tag: &str| {
        let args = [
            "rooms",
            "update",
            "team",
            "--topic",
            topic,
            "--if-match",
            tag,
        ];
        house.run(&args)
    };
    let shown = house.done(&["rooms", "show", "team"]);
    let tag = shown.lines().find_map(|line| line.strip_prefix("ETag"));
    let tag = tag.unwrap().trim().to_owned();
    assert_eq!(topic("one", &tag).code, 0);
    let stale = topic("two", &tag);
    assert_eq!((stale.code, &*stale.stdout), (1, ""));
    assert!(stale.stderr.contains("PRECONDITION_FAILED"), "{stale:?}");
    let current = stale
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("  its ETag is ")?.strip_suffix(" now"));
    assert_eq!(house.json(&["rooms", "show", "team"])["topic"], "one");
    // Without its quotes, as a shell hands it over.
    assert_eq!(topic("three", current.unwrap().trim_matches('"')).code, 0);
    assert_eq!(topic("four", "*").code, 0);
    let key = "rooms.maxAgentDepth";
    let stale = ["settings", "set", key, "5", "--if-match", "77"];
    assert_eq!(house.refused(&stale), "PRECONDITION_FAILED");
}

#[test]
fn a_command_sent_again_with_its_key_happens_once() {
    let house = ServerForCli::open();
    let room = ["rooms", "create", "Ops", "--idempotency-key", "k-1", "-q"];
    assert_eq!(house.done(&room), house.done(&room));
    let post = |text: &str| {
        let args = ["post", "ops", text, "--idempotency-key", "k-2"];
        house.run(&args)
    };
    assert_eq!(post("once"), post("once"));
    let other = post("other");
    assert_eq!((other.code, &*other.stdout), (1, ""));
    assert!(other.stderr.contains("IDEMPOTENCY_KEY_REUSED"), "{other:?}");
    // Without a key every command is one of its own.
    house.done(&["post", "ops", "twice"]);
    house.done(&["post", "ops", "twice"]);
    let ids = house.done(&["entries", "list", "ops", "-q"]);
    assert_eq!(ids.lines().count(), 3);
    let wrong = house.run(&["post", "ops", "x", "--idempotency-key", "two words"]);
    assert_eq!((wrong.code, &*wrong.stdout), (2, ""));
}
