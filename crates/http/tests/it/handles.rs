//! Handles. Source: spec, "PATCH /api/rooms/authors/{authorId}/handle"; contract 2.1.

use std::collections::BTreeSet;

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::test_values::{SeededRandom, text, wrong_fields};

async fn set(t: &TestHall, author: &TestCaller, handle: &str) -> TestResponse {
    t.owner()
        .patch(&author.handle_url(), json!({"handle": handle}))
        .await
}

async fn handles(t: &TestHall, author: &TestCaller) -> (String, Vec<String>) {
    let path = format!("{}/handles", author.author_url());
    let kept = t.owner().get(&path).await.ok(200);
    let reserved = crate::test_values::column(&kept["reserved"], "handle");
    (text(&kept["current"]), reserved)
}

#[tokio::test]
async fn with_an_agent_header_the_answer_is_401_or_403_and_the_body_is_never_read() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let gone = t.agent("gone").await;
    let revoked = t.agent("revoked").await;
    let tokens = format!("/api/agents/{}/tokens", revoked.agent());
    let kept = t.owner().get(&tokens).await.ok(200);
    let token = text(&kept["tokens"][0]["id"]);
    t.owner().delete(&format!("{tokens}/{token}")).await.ok(204);
    let agent = format!("/api/agents/{}", gone.agent());
    t.owner().delete(&agent).await.ok(200);
    let twice = ada.clone().with("x-service-agent", ada.token());

    let before = t.rows();
    let bodies: [(&str, &[u8]); 6] = [
        ("application/json", b"{\"handle\":\"boss\"}"),
        ("application/json", b"{\"handle\":7}"),
        ("application/json", b"{\"handle\":\"!\"}"),
        ("application/json", b"{{{"),
        ("text/plain", b"boss"),
        ("application/json", &[b' '; 2_000_000]),
    ];
    for (caller, status, code) in [
        (&ada, 403, "HUMANS_ONLY"),
        (&gone, 401, "AGENT_IDENTITY_UNVERIFIED"),
        (&revoked, 401, "AGENT_IDENTITY_UNVERIFIED"),
        (&twice, 401, "AGENT_IDENTITY_UNVERIFIED"),
        (&t.unverifiable(), 401, "AGENT_IDENTITY_UNVERIFIED"),
        (&t.stranger(), 401, "NOT_THE_OWNER"),
        (&t.unknown_socket_caller(), 401, "NOT_THE_OWNER"),
    ] {
        for (kind, body) in bodies {
            for url in [
                ada.handle_url(),
                t.owner().handle_url(),
                "/api/rooms/authors/x/handle".to_owned(),
            ] {
                let ask = caller.ask("PATCH", &url).header("content-type", kind);
                let details = ask.body(body.to_vec()).send().await.refused(status, code);
                assert_eq!(details, Value::Null);
            }
        }
    }
    // A promised body that never comes is not waited for.
    let head = format!(
        "PATCH {} HTTP/1.1\r\nHost: localhost\r\nX-Service-Agent: {}\r\n\
         Content-Type: application/json\r\nContent-Length: 20\r\n\r\n",
        ada.handle_url(),
        ada.token(),
    );
    t.raw(head.as_bytes()).await.refused(403, "HUMANS_ONLY");
    let tokens_aside = |rows: String| -> Vec<String> {
        let rows = rows.lines().filter(|row| !row.starts_with("tokens\t"));
        rows.map(str::to_owned).collect()
    };
    assert_eq!(tokens_aside(t.rows()), tokens_aside(before));
}

#[tokio::test]
async fn refusals_come_in_the_order_of_the_table() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let gone = t.agent("gone").await;
    owner
        .delete(&format!("/api/agents/{}", gone.agent()))
        .await
        .ok(200);
    set(&t, &owner, "first").await.ok(200);
    set(&t, &owner, "boss").await.ok(200);
    let system = owner.get("/api/rooms/authors?kind=system").await.ok(200);
    let system = format!(
        "/api/rooms/authors/{}/handle",
        text(&system["authors"][0]["id"])
    );
    let unknown = "/api/rooms/authors/none/handle".to_owned();
    let long = "a".repeat(65);
    let mut events = t.events();
    for (url, handle, status, code) in [
        (&unknown, &long[..], 400, "VALIDATION_FAILED"),
        (&unknown, "!!", 400, "INVALID_HANDLE"),
        (&unknown, "fine", 404, "AUTHOR_NOT_FOUND"),
        (&unknown, "", 404, "AUTHOR_NOT_FOUND"),
        (&system, "fine", 409, "AUTHOR_NOT_CHANGEABLE"),
        (&system, "boss", 409, "AUTHOR_NOT_CHANGEABLE"),
        (&system, "", 409, "AUTHOR_NOT_CHANGEABLE"),
        (&gone.handle_url(), "gone", 409, "AUTHOR_NOT_CHANGEABLE"),
        (&gone.handle_url(), "", 409, "AUTHOR_NOT_CHANGEABLE"),
        (&ada.handle_url(), "boss", 409, "HANDLE_TAKEN"),
        (&ada.handle_url(), " @BOSS ", 409, "HANDLE_TAKEN"),
        (&ada.handle_url(), "guildhall", 409, "HANDLE_TAKEN"),
        (&ada.handle_url(), "first", 409, "HANDLE_RESERVED"),
        (&ada.handle_url(), "FIRST", 409, "HANDLE_RESERVED"),
        (&ada.handle_url(), "gone", 409, "HANDLE_RESERVED"),
        (&ada.handle_url(), "everyone", 409, "HANDLE_RESERVED"),
        (&ada.handle_url(), "Here", 409, "HANDLE_RESERVED"),
        (&ada.handle_url(), "@channel", 409, "HANDLE_RESERVED"),
    ] {
        let answer = owner.patch(url, json!({"handle": handle})).await;
        let details = answer.refused(status, code);
        if code == "VALIDATION_FAILED" {
            assert_eq!(wrong_fields(&details), ["handle"]);
        } else {
            assert_eq!(details, Value::Null, "{handle}");
        }
    }
    events.none();
    assert_eq!(handles(&t, &ada).await, ("ada".to_owned(), vec![]));
}

#[tokio::test]
async fn text_is_normalised_and_nothing_else_is_let_in() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let longest = "a".repeat(32);
    for (asked, stored) in [
        ("ada", "ada"),
        ("  Ada  ", "ada"),
        ("@Ada", "ada"),
        (" @ ada ", "ada"),
        ("A1", "a1"),
        ("a.b_c-9", "a.b_c-9"),
        ("a..b", "a..b"),
        (&longest, &longest),
        ("\tx0\n", "x0"),
    ] {
        let author = set(&t, &owner, asked).await.ok(200);
        assert_eq!(author["handle"], stored, "{asked:?}");
    }
    let before = handles(&t, &owner).await;
    let too_long = "a".repeat(33);
    for (asked, told) in [
        ("a", "2 to 32"),
        (&too_long, "2 to 32"),
        ("@@ada", "only a-z"),
        ("a b", "only a-z"),
        ("ädä", "only a-z"),
        ("İİ", "only a-z"),
        ("ada😀", "only a-z"),
        ("a/b", "only a-z"),
        ("-ada", "begins and ends"),
        ("ada.", "begins and ends"),
        ("__", "begins and ends"),
    ] {
        let answer = set(&t, &owner, asked).await;
        let sentence = text(&answer.body["error"]);
        answer.refused(400, "INVALID_HANDLE");
        assert!(sentence.contains(told), "{asked:?}: {sentence}");
    }
    assert_eq!(handles(&t, &owner).await, before);
}

#[tokio::test]
async fn no_text_whatever_leaves_a_handle_outside_the_grammar() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let mut chance = SeededRandom(0x5eed);
    let alphabet: Vec<char> = "aZ09._-@ \t\n\u{a0}\u{3000}éßİKſ😀\u{200b}/'\"%"
        .chars()
        .collect();
    let alnum = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    for _ in 0..250 {
        let length = chance.below(8);
        let asked: String = (0..length).map(|_| *chance.one(&alphabet)).collect();
        let answer = set(&t, &owner, &asked).await;
        if answer.status != 200 {
            answer.refused(400, "INVALID_HANDLE");
            continue;
        }
        let stored = text(&answer.body["handle"]);
        let legal = stored.is_empty()
            || ((2..=32).contains(&stored.len())
                && stored
                    .chars()
                    .all(|c| alnum(c) || matches!(c, '.' | '_' | '-'))
                && stored.starts_with(alnum)
                && stored.ends_with(alnum));
        assert!(legal, "{asked:?} became {stored:?}");
    }
}

#[tokio::test]
async fn taking_releasing_and_taking_back_follow_the_table_of_states() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let bob = t.agent("bob").await;
    let mut events = t.events();
    // What the owner asks, then holds, then may take back; whether anybody is told; and what
    // another author asks in vain meanwhile.
    for (asked, current, reserved, told, vain) in [
        ("alpha", "alpha", &[][..], true, ("alpha", "HANDLE_TAKEN")),
        (
            "beta",
            "beta",
            &["alpha"],
            true,
            ("alpha", "HANDLE_RESERVED"),
        ),
        ("beta", "beta", &["alpha"], false, ("beta", "HANDLE_TAKEN")),
        (
            "@BETA",
            "beta",
            &["alpha"],
            false,
            ("alpha", "HANDLE_RESERVED"),
        ),
        (
            "alpha",
            "alpha",
            &["beta"],
            true,
            ("beta", "HANDLE_RESERVED"),
        ),
        (
            "",
            "",
            &["alpha", "beta"],
            true,
            ("alpha", "HANDLE_RESERVED"),
        ),
        (
            "",
            "",
            &["alpha", "beta"],
            false,
            ("beta", "HANDLE_RESERVED"),
        ),
        (
            " @ ",
            "",
            &["alpha", "beta"],
            false,
            ("alpha", "HANDLE_RESERVED"),
        ),
        ("beta", "beta", &["alpha"], true, ("beta", "HANDLE_TAKEN")),
    ] {
        t.advance(1);
        let before = t.rows();
        let author = set(&t, &owner, asked).await.ok(200);
        assert_eq!(author["handle"], current, "{asked}");
        let reserved = reserved.iter().map(|handle| (*handle).to_owned()).collect();
        assert_eq!(handles(&t, &owner).await, (current.to_owned(), reserved));
        if told {
            assert_eq!(events.next("author_updated")["author"], author, "{asked}");
        } else {
            assert_eq!(
                t.rows(),
                before,
                "{asked:?} changes nothing and tells nobody"
            );
        }
        let (wanted, code) = vain;
        set(&t, &bob, wanted).await.refused(409, code);
        events.none();
    }
    t.restart().await;
    set(&t, &bob, "alpha").await.refused(409, "HANDLE_RESERVED");
    set(&t, &bob, "beta").await.refused(409, "HANDLE_TAKEN");
    assert_eq!(set(&t, &owner, "alpha").await.ok(200)["handle"], "alpha");
    // Any person may change an agent's handle, and it shows wherever the author does.
    set(&t, &bob, "bobby").await.ok(200);
    let team = t.team().await;
    let members = owner
        .get(&format!("/api/rooms/{team}/members"))
        .await
        .ok(200);
    let seen: BTreeSet<String> = members["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| text(&member["author"]["handle"]))
        .collect();
    assert_eq!(
        seen,
        BTreeSet::from(["alpha".to_owned(), "bobby".to_owned()])
    );
    assert_eq!(
        owner
            .get(&format!("/api/agents/{}", bob.agent()))
            .await
            .ok(200)["handle"],
        "bobby"
    );
}

#[tokio::test]
async fn of_two_who_ask_for_one_free_handle_at_once_exactly_one_gets_it() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    for round in 0..20 {
        let wanted = format!("prize-{round}");
        let mut events = t.events();
        let (first, second) = tokio::join!(set(&t, &ada, &wanted), set(&t, &bob, &wanted));
        let mut outcomes = [first.status, second.status];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 409], "{wanted}");
        for answer in [first, second] {
            if answer.status == 409 {
                answer.refused(409, "HANDLE_TAKEN");
            }
        }
        events.next("author_updated");
        let held = [handles(&t, &ada).await.0, handles(&t, &bob).await.0];
        assert_eq!(held.iter().filter(|handle| **handle == wanted).count(), 1);
    }
}
