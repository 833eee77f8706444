//! Search: what is found, by whom, in which order. Source: contract 2.3, "Search".

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{column, list, text, wrong_fields};

async fn hits(by: &TestCaller, query: &str) -> Value {
    by.get(&format!("/api/search?{query}")).await.ok(200)
}

/// The excerpts a query finds.
async fn found(by: &TestCaller, query: &str) -> Vec<String> {
    column(&hits(by, query).await["results"], "excerpt")
}

#[tokio::test]
async fn an_entry_is_found_by_its_words_and_shown_with_their_places() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    t.say(&owner, &room, "nothing of it").await;
    let entry = t.say(&owner, &room, "😀 The Café is GREEN again").await;
    let answer = hits(&owner, "q=cafe+green").await;
    let expected = json!({
        "results": [{
            "source": "rooms", "roomId": room, "entryId": entry["id"], "seq": 2,
            "authorId": owner.author(), "createdAt": entry["createdAt"],
            "excerpt": "😀 The Café is GREEN again",
            "spans": [{"offset": 7, "length": 4}, {"offset": 15, "length": 5}],
        }],
        "nextCursor": null, "warnings": [],
    });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn all_words_must_be_there_and_the_last_may_go_on() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let other = t.channel(&owner, "Else", &[]).await;
    for words in [
        "the build is green",
        "the builder is e-mail",
        "build 東京タワー",
    ] {
        t.say(&owner, &room, words).await;
    }
    t.say(&owner, &other, "build elsewhere").await;
    let (green, mail, tokyo, elsewhere) = (
        "the build is green",
        "the builder is e-mail",
        "build 東京タワー",
        "build elsewhere",
    );
    for (query, expected) in [
        ("q=build", vec![elsewhere, tokyo, mail, green]),
        ("q=build%20", vec![elsewhere, tokyo, green]),
        ("q=BUILD.", vec![elsewhere, tokyo, green]),
        ("q=bu", vec![elsewhere, tokyo, mail, green]),
        ("q=the+build", vec![mail, green]),
        ("q=build+the%20", vec![green]),
        ("q=green+builder", vec![]),
        ("q=e-mail", vec![mail]),
        ("q=mail-e", vec![]),
        ("q=%E6%9D%B1%E4%BA%AC", vec![tokyo]),
        ("q=ops", vec![]),
        (&format!("q=build&roomId={other}"), vec![elsewhere]),
        (&format!("q=build+the%20&roomId={room}"), vec![green]),
        (&format!("q={}", room.replace('-', "")), vec![]),
        ("q=build&roomId=none", vec![]),
    ] {
        assert_eq!(found(&owner, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn whatever_a_person_writes_is_words_and_never_a_fault() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    t.say(&owner, &room, "say \"NEAR\" or room : text* ^x AND NOT y")
        .await;
    for q in [
        "%22NEAR%22",
        "NEAR(a+b)",
        "NEAR",
        "text%3A",
        "room+%3A+text",
        "text*",
        "-say",
        "%5Esay",
        "AND",
        "NOT+say",
        "say+AND+NOT",
        "%22",
        "say+%22",
        "say+%22%22",
        "(say",
        "say)",
        "{say",
        "say%27%3B--",
        "say+%2B+or",
        "%5Csay",
        "%F0%9F%98%80%F0%9F%98%80",
        "say+%F0%9F%98%80",
        "s%CC%81ay",
        "%CC%81%CC%81ab",
        "a%E2%80%8Db",
    ] {
        let answer = owner.get(&format!("/api/search?q={q}")).await;
        assert!(matches!(answer.status, 200 | 400), "{q}: {}", answer.text());
    }
    for q in [
        "%22NEAR%22",
        "text*",
        "-say",
        "AND",
        "say+%F0%9F%98%80",
        "s%CC%81ay",
    ] {
        assert_eq!(found(&owner, &format!("q={q}")).await.len(), 1, "{q}");
    }
}

#[tokio::test]
async fn a_query_needs_a_word_and_its_bounds() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let long = "a".repeat(201);
    for (query, field) in [
        ("", "q"),
        ("q=", "q"),
        ("q=a", "q"),
        ("q=a+b", "q"),
        ("q=%2B%2B", "q"),
        (&format!("q={long}"), "q"),
        ("q=ab&q=cd", "q"),
        ("q=ab%00", "q"),
        ("q=ab&limit=0", "limit"),
        ("q=ab&limit=51", "limit"),
        ("q=ab&cursor=x", "cursor"),
    ] {
        let answer = owner.get(&format!("/api/search?{query}")).await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field], "{query}");
    }
    hits(&owner, &format!("q={}", "a".repeat(200))).await;
}

#[tokio::test]
async fn results_come_newest_first_in_pages_bound_to_their_query() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let rooms = [
        t.channel(&owner, "Ops", &[]).await,
        t.channel(&owner, "Else", &[]).await,
    ];
    let mut said: Vec<String> = Vec::new();
    for n in 0..9 {
        let entry = t.say(&owner, &rooms[n % 2], "the same words").await;
        said.insert(0, text(&entry["id"]));
    }
    let mut path = "/api/search?q=same&limit=4".to_owned();
    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    loop {
        let answer = owner.get(&path).await;
        let link = answer.header("link").to_owned();
        let page = answer.ok(200);
        sizes.push(list(&page["results"]).len());
        seen.extend(column(&page["results"], "entryId"));
        let Some(cursor) = page["nextCursor"].as_str() else {
            assert_eq!(link, "");
            break;
        };
        // What is said meanwhile moves no page.
        t.say(&owner, &rooms[0], "the same words").await;
        path = format!("/api/search?q=same&limit=4&cursor={cursor}");
        assert_eq!(link, format!("<{path}>; rel=\"next\""));
        for other in ["q=words&limit=4", &format!("q=same&roomId={}", rooms[0])] {
            owner
                .get(&format!("/api/search?{other}&cursor={cursor}"))
                .await
                .refused(400, "VALIDATION_FAILED");
        }
    }
    assert_eq!(sizes, [4, 4, 1]);
    assert_eq!(seen, said);
}

#[tokio::test]
async fn an_agent_finds_what_was_said_in_its_rooms_since_it_joined() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let ops = t.channel(&owner, "Ops", &[]).await;
    let hers = t.channel(&owner, "Hers", &[&ada]).await;
    let others = t.channel(&owner, "Others", &[&bob]).await;
    t.say(&owner, &ops, "word before").await;
    let members = format!("/api/rooms/{ops}/members");
    let join = json!({"authorId": ada.author()});
    owner.post(&members, join.clone()).await.ok(201);
    t.say(&owner, &ops, "word behind").await;
    t.say(&owner, &hers, "word of hers").await;
    t.say(&owner, &others, "word of others").await;
    t.restart().await;
    let all = [
        "word of others",
        "word of hers",
        "word behind",
        "word before",
    ];
    assert_eq!(found(&owner, "q=word").await, all);
    assert_eq!(found(&ada, "q=word").await, ["word of hers", "word behind"]);
    for (room, expected) in [
        (&ops, vec!["word behind"]),
        (&hers, vec!["word of hers"]),
        (&others, vec![]),
    ] {
        let query = format!("q=word&roomId={room}");
        assert_eq!(found(&ada, &query).await, expected, "{room}");
    }
    assert_eq!(found(&ada, "q=word&limit=1").await, ["word of hers"]);
    owner
        .delete(&format!("{members}/{}", ada.author()))
        .await
        .ok(204);
    assert_eq!(found(&ada, "q=word").await, ["word of hers"]);
    owner.post(&members, join).await.ok(201);
    assert_eq!(found(&ada, "q=word").await, ["word of hers"]);
    t.say(&owner, &ops, "word again").await;
    assert_eq!(found(&ada, "q=word").await, ["word again", "word of hers"]);
}
