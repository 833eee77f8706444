//! Authors: who sees whom, pages, and changing their look. Source: contract 1.6, 2.1.

use std::collections::BTreeSet;

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::json;

use crate::test_values::{column, list, text};

async fn names(by: &TestCaller, query: &str) -> Vec<String> {
    let page = by.get(&format!("/api/rooms/authors{query}")).await.ok(200);
    let mut names = column(&page["authors"], "displayName");
    names.sort();
    names
}

#[tokio::test]
async fn people_see_everybody_and_agents_those_they_share_a_room_with() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let me = text(&owner.get("/api/rooms/authors/me").await.ok(200)["displayName"]);
    let loner = t
        .agent_of(json!({"name": "zoe", "cwd": t.folder("zoe"), "joinTeam": false}))
        .await;
    let ada = t.agent("ada").await;
    let mut all = vec![
        me.clone(),
        "ada".to_owned(),
        "guildhall".to_owned(),
        "zoe".to_owned(),
    ];
    all.sort();
    assert_eq!(names(&owner, "").await, all);
    assert_eq!(names(&loner, "").await, ["guildhall", "zoe"]);
    let mut adas = vec![me.clone(), "ada".to_owned(), "guildhall".to_owned()];
    adas.sort();
    assert_eq!(names(&ada, "").await, adas);
    for (caller, other) in [(&ada, &loner), (&loner, &ada), (&loner, &owner)] {
        caller
            .get(&other.author_url())
            .await
            .refused(404, "AUTHOR_NOT_FOUND");
    }
    assert_eq!(
        ada.get(&owner.author_url()).await.ok(200)["displayName"],
        me
    );
    for caller in [&owner, &ada, &loner] {
        let own = caller.get("/api/rooms/authors/me").await.ok(200);
        assert_eq!(own, caller.get(&caller.author_url()).await.ok(200));
    }
    // Meeting in a room is enough.
    t.channel(&owner, "Ops", &[&ada, &loner]).await;
    ada.get(&loner.author_url()).await.ok(200);
}

#[tokio::test]
async fn the_list_is_narrowed_by_part_of_a_name_or_handle_and_by_kind() {
    let t = TestHall::open().await;
    let owner = t.owner();
    for name in ["Ada 100%", "Adam_1", "Bob"] {
        t.agent(name).await;
    }
    let bob = owner.get("/api/rooms/authors?q=bob").await.ok(200);
    let url = format!(
        "/api/rooms/authors/{}/handle",
        text(&bob["authors"][0]["id"])
    );
    owner.patch(&url, json!({"handle": "xenia"})).await.ok(200);
    let none: [&str; 0] = [];
    for (query, expected) in [
        ("?q=ada", &["Ada 100%", "Adam_1"][..]),
        ("?q=ADA&kind=agent", &["Ada 100%", "Adam_1"]),
        ("?q=ada&kind=human", &none),
        ("?q=xen", &["Bob"]),
        ("?q=%25", &["Ada 100%"]),
        ("?q=_", &["Adam_1"]),
        ("?q=nobody", &none),
        ("?kind=system", &["guildhall"]),
    ] {
        assert_eq!(names(&owner, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn paging_never_repeats_or_skips_whoever_was_there_throughout() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let register = |n: usize| {
        let ask =
            json!({"name": format!("a{n}"), "cwd": t.folder(&n.to_string()), "joinTeam": false});
        let owner = owner.clone();
        async move { text(&owner.post("/api/agents", ask).await.ok(201)["authorId"]) }
    };
    let mut throughout = BTreeSet::new();
    for n in 0..23 {
        throughout.insert(register(n).await);
    }
    for limit in [1, 4, 22, 23, 24, 50] {
        let mut seen = Vec::new();
        let mut path = format!("/api/rooms/authors?kind=agent&limit={limit}");
        let mut added = 0;
        loop {
            let answer = owner.get(&path).await;
            let link = answer.header("link").to_owned();
            let page = answer.ok(200);
            let authors = column(&page["authors"], "id");
            assert!(
                authors.len() <= limit && (authors.len() == limit || page["nextCursor"].is_null())
            );
            seen.extend(authors);
            let Some(cursor) = page["nextCursor"].as_str() else {
                assert_eq!(link, "");
                break;
            };
            let next = format!("/api/rooms/authors?kind=agent&limit={limit}&cursor={cursor}");
            assert_eq!(link, format!("<{next}>; rel=\"next\""));
            path = next;
            if limit == 4 && added < 2 {
                added += 1;
                register(100 + added).await;
            }
        }
        let unique: BTreeSet<String> = seen.iter().cloned().collect();
        assert_eq!(unique.len(), seen.len(), "nobody twice with limit {limit}");
        assert!(
            throughout.is_subset(&unique),
            "nobody missing with limit {limit}"
        );
    }
    // A cursor belongs to its list and filters.
    let page = owner
        .get("/api/rooms/authors?kind=agent&limit=2")
        .await
        .ok(200);
    let cursor = text(&page["nextCursor"]);
    for query in [
        format!("?cursor={cursor}"),
        format!("?kind=human&cursor={cursor}"),
        format!("?kind=agent&q=a&cursor={cursor}"),
        format!("?kind=agent&includeRetired=1&cursor={cursor}"),
        format!(
            "?kind=agent&cursor={}",
            cursor
                .to_uppercase()
                .replace(|c: char| c.is_ascii_digit(), "0")
        ),
        format!("?kind=agent&cursor={}", "0".repeat(513)),
        "?kind=agent&cursor=x".to_owned(),
    ] {
        let answer = owner.get(&format!("/api/rooms/authors{query}")).await;
        assert_eq!(
            crate::test_values::wrong_fields(&answer.refused(400, "VALIDATION_FAILED")),
            ["cursor"]
        );
    }
    let wider = format!("/api/rooms/authors?kind=agent&limit=7&cursor={cursor}");
    assert_eq!(list(&owner.get(&wider).await.ok(200)["authors"]).len(), 7);
}

#[tokio::test]
async fn a_look_is_changed_field_by_field_and_told_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let path = ada.author_url();
    let mut author = owner.get(&path).await.ok(200);
    let mut events = t.events();
    for (field, value) in [
        ("emoji", "🦉"),
        ("color", "#0a9fF0"),
        ("imageUrl", "https://example.org/a.png"),
        ("imageUrl", "/assets/owl.png"),
        ("displayName", "Ada Lovelace"),
        ("emoji", ""),
        ("color", ""),
        ("imageUrl", ""),
    ] {
        let changed = owner.patch(&path, json!({field: value})).await.ok(200);
        if field != "color" {
            author[field] = value.into();
        } else {
            assert!(text(&changed[field]).eq_ignore_ascii_case(value));
            author[field] = changed[field].clone();
        }
        assert_eq!(changed, author, "{field}");
        assert_eq!(events.next("author_updated")["author"], author);
        owner.patch(&path, json!({field: value})).await.ok(200);
        events.none();
    }
    let fixed = json!({"id": "x", "kind": "human", "handle": "x", "retired": true, "agentRef": ""});
    assert_eq!(owner.patch(&path, fixed).await.ok(200), author);
    for wrong in [
        json!({"displayName": "   "}),
        json!({"displayName": "a\nb"}),
        json!({"displayName": "n".repeat(81)}),
        json!({"displayName": null}),
        json!({"color": "#12345"}),
        json!({"color": "#gggggg"}),
        json!({"imageUrl": "//evil.example/x"}),
        json!({"imageUrl": "data:image/svg+xml,x"}),
    ] {
        let answer = owner.patch("/api/rooms/authors/x", wrong).await;
        answer.refused(400, "VALIDATION_FAILED");
    }
    let look = json!({"emoji": "x"});
    owner
        .patch("/api/rooms/authors/x", look.clone())
        .await
        .refused(404, "AUTHOR_NOT_FOUND");
    let system = owner.get("/api/rooms/authors?kind=system").await.ok(200);
    let system = format!("/api/rooms/authors/{}", text(&system["authors"][0]["id"]));
    owner
        .patch(&system, look.clone())
        .await
        .refused(409, "AUTHOR_NOT_CHANGEABLE");
    ada.patch(&path, look).await.refused(403, "HUMANS_ONLY");
    ada.get(&format!("{path}/handles"))
        .await
        .refused(403, "HUMANS_ONLY");
    events.none();
    let handles = owner.get(&format!("{path}/handles")).await.ok(200);
    assert_eq!(handles, json!({"current": "ada", "reserved": []}));
}
