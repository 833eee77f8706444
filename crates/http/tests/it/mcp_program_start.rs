//! Programs of tool servers as they are started: the file that was looked at, and no other one.
//! Source: contract 4.4, 4.6.

use guildhall_testkit::TestHall;
use serde_json::json;

use crate::{
    mcp_gateway::told,
    mcp_servers::{ask, at},
    sessions,
    test_values::text,
};

/// Keeps nothing, but starts what it should keep.
pub(crate) const KEEPER: &str =
    "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nread -r _\nexec \"$@\"\n";

/// A tool server without tools; `BEGIN` is what it does first.
const SERVER: &str = r#"#!/bin/sh
BEGIN
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) say '"result":{"tools":[]}' ;;
    *'"notifications/'*) ;;
    *) say '"error":{"code":-32601,"message":"unknown"}' ;;
    esac
done
"#;

#[tokio::test]
async fn the_file_that_was_looked_at_is_started_by_the_name_of_its_link() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let (link, words) = (t.programs().join("link"), t.programs().join("words"));
    t.install("tool", "#!/bin/sh\n");
    std::os::unix::fs::symlink("tool", &link).unwrap();
    // What keeps programs here says what it was asked to keep.
    let keeper = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >'{}'\n", words.display());
    t.install("guildhall", &keeper);
    let connection = json!({"transport": "stdio", "command": link, "args": ["--x"]});
    owner
        .post_approved(&at(&ada), ask("tool", &connection))
        .await
        .ok(200);
    let path = format!("{}/tool/test", at(&ada));
    owner.post(&path, json!({})).await.ok(200);
    let words = std::fs::read_to_string(words).unwrap();
    let file = t.programs().join("tool").canonicalize().unwrap();
    let expected = format!("--name\n{}\n--\n{}\n--x\n", link.display(), file.display());
    assert!(words.ends_with(&expected), "{words}");
}

#[tokio::test]
async fn a_program_that_was_away_while_it_was_started_is_not_used() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let session = sessions::open(&owner, &ada, json!({})).await;
    t.bind_tokens(&ada, &text(&session["id"]));
    t.install("guildhall", KEEPER);
    let at_home = t.programs().display().to_string();
    let moves =
        format!("/bin/mv '{at_home}/away' '{at_home}/x'; /bin/mv '{at_home}/x' '{at_home}/away'");
    for (name, begin) in [("stays", ":"), ("away", moves.as_str())] {
        t.install(name, &SERVER.replace("BEGIN", begin));
        let command = format!("{at_home}/{name}");
        let connection = json!({"transport": "stdio", "command": command});
        owner
            .post_approved(&at(&ada), ask(name, &connection))
            .await
            .ok(200);
        let tested = owner
            .post(&format!("{}/{name}/test", at(&ada)), json!({}))
            .await;
        let tested = tested.ok(200);
        let listed = told(&ada, name, "tools/list", json!({})).await;
        if name == "stays" {
            assert_eq!(tested["ok"], true, "{tested}");
            assert_eq!(listed["result"], json!({"tools": []}), "{listed}");
            continue;
        }
        assert_eq!(
            (&tested["ok"], &tested["code"]),
            (&json!(false), &json!("CHANGED"))
        );
        assert_eq!(listed["error"]["data"]["code"], "CHANGED", "{listed}");
        let entry = owner.get(&format!("{}/{name}", at(&ada))).await.ok(200);
        assert_eq!(
            entry["toolCount"],
            json!(null),
            "nothing of it is taken over"
        );
    }
}
