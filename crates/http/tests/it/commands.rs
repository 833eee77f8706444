//! Slash commands: what can be typed where, and how long a listing is kept. Source: contract 3.9.

use std::{fs, path::Path};

use guildhall_domain::{commands::AgentCommand, ids::SessionId};
use guildhall_testkit::{TestCaller, TestHall, TestResponse, soon};
use serde_json::{Value, json};

use crate::test_values::{column, wrong_fields};

fn write(folder: impl AsRef<Path>, path: &str, text: &str) {
    let path = folder.as_ref().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

async fn ask(by: &TestCaller, folder: &str, more: &str) -> TestResponse {
    by.get(&format!("/api/commands?cwd={folder}{more}")).await
}

async fn names(by: &TestCaller, folder: &str, more: &str) -> Vec<String> {
    let listing = ask(by, folder, more).await.ok(200);
    column(&listing["commands"], "fullCommand")
}

#[tokio::test]
async fn a_folder_has_the_commands_of_project_and_user() {
    let t = TestHall::open().await;
    let folder = t.folder("tally");
    let front = "---\r\ndescription: Counts\r\nargument-hint: [file]\r\nallowed-tools: Read, Bash(wc:*)\r\n---\r\nCount.";
    write(&folder, ".claude/commands/words/count.md", front);
    write(
        &folder,
        ".agents/skills/draw/SKILL.md",
        "---\na: [\n---\nDraws a chart\n",
    );
    write(t.home(), ".claude/commands/words/count.md", "another");
    write(t.home(), ".claude/skills/cook/SKILL.md", "Cooks");
    let answer = ask(&t.owner(), &folder, "").await;
    assert_eq!(answer.header("cache-control"), "private, no-cache");
    let command = |namespace: &str, command: &str, full: &str, says: &str, path: &str| {
        json!({
            "namespace": namespace, "command": command, "fullCommand": full, "description": says,
            "argumentHint": "", "allowedTools": [], "filePath": path,
        })
    };
    let mut count = command(
        "words",
        "count",
        "/words:count",
        "Counts",
        ".claude/commands/words/count.md",
    );
    count["argumentHint"] = "[file]".into();
    count["allowedTools"] = json!(["Read", "Bash(wc:*)"]);
    let cook = command(
        "",
        "cook",
        "/cook",
        "Cooks",
        "~/.claude/skills/cook/SKILL.md",
    );
    let draw = command(
        "",
        "draw",
        "/draw",
        "Draws a chart",
        ".agents/skills/draw/SKILL.md",
    );
    let listing = answer.ok(200);
    assert_eq!(
        listing,
        json!({
            "commands": [cook, draw, count],
            "lastScanned": "2026-09-21T14:13:20.000Z",
            "warnings": [{
                "filePath": ".agents/skills/draw/SKILL.md",
                "message": "the front matter is no plain YAML of at most 8 KiB; it is read as lines of key and value",
            }],
        })
    );
    // Without a folder there are the user's own, and `~` is home.
    let own = t.owner().get("/api/commands").await.ok(200);
    assert_eq!(
        column(&own["commands"], "fullCommand"),
        ["/cook", "/words:count"]
    );
    let home = names(&t.owner(), "~", "").await;
    assert_eq!(home, ["/cook", "/words:count"]);
}

#[tokio::test]
async fn a_listing_is_kept_until_a_file_changes_time_passes_or_somebody_asks_anew() {
    let t = TestHall::open().await;
    let (owner, folder) = (t.owner(), t.folder("tally"));
    assert_eq!(names(&owner, &folder, "").await, [""; 0]);
    let first = ask(&owner, &folder, "").await;
    let tag = first.header("etag").to_owned();
    let again = owner.ask("GET", &format!("/api/commands?cwd={folder}"));
    assert_eq!(again.header("if-none-match", &tag).send().await.status, 304);
    // A file that appears is seen by itself, also where there was no folder before.
    let seen = async |expected: &[&str]| {
        soon("the new listing", async {
            while names(&owner, &folder, "").await != expected {
                tokio::task::yield_now().await;
            }
        })
        .await;
    };
    write(&folder, ".claude/commands/a.md", "A");
    seen(&["/a"]).await;
    write(&folder, ".claude/commands/git/b.md", "B");
    seen(&["/a", "/git:b"]).await;
    fs::remove_file(Path::new(&folder).join(".claude/commands/a.md")).unwrap();
    seen(&["/git:b"]).await;
    // And at the latest after five minutes, or at once for who insists; nothing happens in this
    // folder.
    let quiet = t.folder("quiet");
    let scanned = async |more: &str| {
        let listing = ask(&owner, &quiet, more).await.ok(200);
        listing["lastScanned"].as_str().unwrap().to_owned()
    };
    let before = scanned("&refresh=true").await;
    t.advance(299);
    let kept = scanned("&refresh=false").await;
    t.advance(1);
    let due = scanned("").await;
    t.advance(1);
    let asked = scanned("&refresh=true").await;
    assert!(
        before <= kept && kept < due && due < asked,
        "{before} {kept} {due} {asked}"
    );
}

#[tokio::test]
async fn a_query_is_checked_before_the_disk_is_touched() {
    let t = TestHall::open().await;
    let folder = t.folder("tally");
    write(&folder, "file", "x");
    for (query, field) in [
        ("refresh=1", "refresh"),
        ("refresh=yes", "refresh"),
        ("cwd=relative", "cwd"),
        ("cwd=~other", "cwd"),
        ("cwd=/a%00b", "cwd"),
    ] {
        let answer = t.owner().get(&format!("/api/commands?{query}")).await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field], "{query}");
    }
    for (path, status, code) in [
        (format!("{folder}/none"), 404, "NOT_FOUND"),
        (format!("{folder}/file"), 400, "NOT_A_DIRECTORY"),
        ("/etc".to_owned(), 403, "OUTSIDE_BOUNDARY"),
        ("/no/such/folder".to_owned(), 403, "OUTSIDE_BOUNDARY"),
        (format!("{folder}/../.."), 403, "OUTSIDE_BOUNDARY"),
        (t.data_dir().display().to_string(), 403, "OUTSIDE_BOUNDARY"),
    ] {
        ask(&t.owner(), &path, "").await.refused(status, code);
    }
}

#[tokio::test]
async fn an_agent_asks_within_its_own_folder() {
    let mut t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let registered = t
        .owner()
        .get(&format!("/api/agents/{}", ada.agent()))
        .await
        .ok(200);
    let own = registered["cwd"].as_str().unwrap().to_owned();
    write(&own, ".claude/commands/a.md", "A");
    write(&own, "inner/.claude/commands/b.md", "B");
    assert_eq!(names(&ada, &own, "").await, ["/a"]);
    assert_eq!(names(&ada, &format!("{own}/inner"), "").await, ["/b"]);
    let other = t.folder("other");
    for outside in [other, format!("{own}/.."), format!("{own}x")] {
        ask(&ada, &outside, "")
            .await
            .refused(403, "OUTSIDE_BOUNDARY");
    }
    t.restart().await;
    assert_eq!(names(&ada, &own, "").await, ["/a"]);
}

#[tokio::test]
async fn other_people_name_a_folder_only_where_the_owner_opened_theirs() {
    let t = TestHall::open_login().await;
    let (pia, folder) = (t.person("Pia").await, t.folder("tally"));
    ask(&pia, &folder, "").await.refused(403, "OWNER_ONLY");
    pia.get("/api/commands").await.ok(200);
    let ask_for = json!({"files.people": "boundary"});
    t.owner().patch("/api/settings", ask_for).await.ok(200);
    assert_eq!(names(&pia, &folder, "").await, [""; 0]);
}

#[tokio::test]
async fn what_agents_report_adds_to_the_files_and_is_told() {
    let t = TestHall::open().await;
    let (owner, folder) = (t.owner(), t.folder("tally"));
    write(&folder, ".claude/commands/a.md", "");
    let report = |name: &str, hint: &str| AgentCommand {
        name: name.to_owned(),
        description: "reported".to_owned(),
        hint: hint.to_owned(),
    };
    let session = SessionId::from_bytes([7; 16]);
    let note = async |runtime: &str, commands| {
        let noted = t
            .hall()
            .record_agent_commands(session, runtime, &folder, commands);
        noted.await.unwrap();
    };
    let mut events = t.events();
    note("rehearsal", vec![report("a", "[x]"), report("mcp:b", "")]).await;
    let told = events.next("commands_changed");
    let expected = json!({"sessionId": session.to_string(), "runtime": "rehearsal", "cwd": folder});
    assert_eq!(told, expected);
    note("rehearsal", vec![report("a", "[x]"), report("mcp:b", "")]).await;
    events.none();
    note("codex", vec![report("c", "")]).await;
    let listing = ask(&owner, &folder, "").await.ok(200);
    let shown: Vec<Value> = listing["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            json!([
                one["fullCommand"],
                one["namespace"],
                one["description"],
                one["argumentHint"],
                one["filePath"]
            ])
        })
        .collect();
    let expected = [
        json!(["/a", "", "reported", "[x]", ".claude/commands/a.md"]),
        json!(["/c", "", "reported", "", ""]),
        json!(["/mcp:b", "mcp", "reported", "", ""]),
    ];
    assert_eq!(shown, expected);
    assert_eq!(names(&owner, &folder, "&runtime=codex").await, ["/a", "/c"]);
    let elsewhere = t.folder("elsewhere");
    assert_eq!(names(&owner, &elsewhere, "").await, [""; 0]);
    t.hall().forget_agent_commands("rehearsal", &folder);
    assert_eq!(names(&owner, &folder, "").await, ["/a", "/c"]);
}
