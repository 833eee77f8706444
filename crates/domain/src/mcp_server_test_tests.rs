//! What a test shows and changes, and which sign-in goes along with a connection.

use serde_json::json;

use super::{
    tests::{http, server, stdio},
    *,
};
use crate::mcp_tools::ToolDefinition;

fn tool(name: &str, description: &str) -> ToolDefinition {
    let listed = json!({"name": name, "description": description, "inputSchema": {}});
    ToolDefinition::of(&listed).unwrap()
}

#[test]
fn the_first_tools_are_pinned_missing_ones_narrow_it_and_others_are_not_taken() {
    let now = Timestamp::from_millis(5);
    let reached = |tools: &[(&str, &str)]| ServerTestResult {
        tools: Some(tools.iter().map(|(name, text)| tool(name, text)).collect()),
        ..ServerTestResult::default()
    };
    let mut entry = server(stdio("x", &[], &[]));
    let mut first = reached(&[("a", "1"), ("b", "2")]);
    let kept = server_test::listed(&mut entry, &mut first, None, now).unwrap();
    let kept = kept.unwrap();
    assert!(first.ok && !first.pin_changed);
    assert_eq!(
        (entry.status, entry.tool_count),
        (ServerStatus::Ready, Some(2))
    );
    let pinned = entry.pin.clone();
    assert_eq!(pinned.pinned_at, Some(now));
    let mut again = reached(&[("b", "2"), ("a", "1")]);
    let same = server_test::listed(&mut entry, &mut again, Some(&kept), now).unwrap();
    assert!(again.ok && same.is_none() && entry.pin == pinned);
    for other in [
        &[("a", "1"), ("b", "other")][..],
        &[("a", "1"), ("b", "2"), ("c", "3")],
    ] {
        let mut before = entry.clone();
        let mut test = reached(other);
        let kept = server_test::listed(&mut before, &mut test, Some(&kept), now).unwrap();
        assert!(kept.is_none() && !test.ok && test.pin_changed);
        assert_eq!(test.code.as_deref(), Some("TOOLS_CHANGED"));
        assert_eq!(before, entry, "nothing of it is taken over");
    }
    let mut fewer = reached(&[("a", "1")]);
    let narrowed = server_test::listed(&mut entry, &mut fewer, Some(&kept), now).unwrap();
    assert_eq!(narrowed.unwrap().len(), 1);
    assert!(fewer.ok && entry.pin != pinned && entry.tool_count == Some(1));
}

#[test]
fn a_sign_in_is_wanted_of_the_kind_its_challenge_names() {
    for (challenge, kind) in [
        (
            Some("Bearer resource_metadata=\"x\""),
            Some(ServerAuthKind::Oauth2),
        ),
        (Some("bearer"), Some(ServerAuthKind::Oauth2)),
        (Some("Basic realm=\"Bearer\""), None),
        (None, None),
    ] {
        let mut entry = server(http("http://x", &[]));
        server_test::wants_sign_in(&mut entry, challenge);
        assert_eq!(entry.connection.remote().unwrap().auth_kind, kind);
        assert_eq!(entry.status, ServerStatus::NeedsSignIn);
        assert_eq!(entry.auth_status, Some(AuthStatus::NeedsAuth));
    }
}

#[test]
fn what_refused_its_own_key_and_takes_it_again_is_ready() {
    let own = http("http://x", &[("Authorization", "Bearer canary")]);
    for (connection, challenge, status, auth) in [
        (
            http("http://x", &[("X-Key", "k")]),
            None,
            ServerStatus::Ready,
            None,
        ),
        (own, Some("Bearer"), ServerStatus::Ready, None),
        // Somebody can sign in here, and has to.
        (
            http("http://x", &[]),
            Some("Bearer"),
            ServerStatus::NeedsSignIn,
            Some(AuthStatus::NeedsAuth),
        ),
    ] {
        let mut entry = server(connection);
        server_test::wants_sign_in(&mut entry, challenge);
        let mut test = ServerTestResult {
            tools: Some(vec![tool("a", "1")]),
            ..ServerTestResult::default()
        };
        server_test::listed(&mut entry, &mut test, None, Timestamp::from_millis(5)).unwrap();
        assert_eq!((entry.status, entry.auth_status), (status, auth));
    }
}

#[test]
fn what_a_server_says_back_of_its_secrets_is_hidden() {
    let entry = server(http(
        "http://x",
        &[("Authorization", "Bearer canary"), ("A", "1")],
    ));
    let said = "no canary here, and no Bearer canary, but 1";
    let shown = server_test::without_values(&entry, said);
    assert_eq!(shown, "no *** here, and no ***, but 1");
}

#[test]
fn what_is_off_unseen_or_lost_is_not_reached() {
    let on = server(stdio("x", &[], &[("A", "1")]));
    let mut off = on.clone();
    off.enabled = false;
    let mut waits = on.clone();
    waits.status = ServerStatus::NeedsApproval;
    for (entry, expected) in [
        (on.clone(), None),
        (off, Some(TestBlocker::Disabled)),
        (waits, Some(TestBlocker::NeedsApproval)),
        (on.redacted(), Some(TestBlocker::ValuesLost)),
    ] {
        assert_eq!(TestBlocker::of(&entry), expected);
    }
    let long = ServerTestResult::failed("X", &"x".repeat(1_000));
    assert_eq!(long.error.unwrap().len(), 400);
}

#[test]
fn a_sign_in_goes_along_to_the_exact_address_that_says_nothing_of_its_own() {
    let bare = http("http://x/a", &[("A", "1")]);
    let own = http("http://x/a", &[("authorization", "1")]);
    assert!(bare.may_be_asked_for_sign_in() && !own.may_be_asked_for_sign_in());
    let known = bare.clone().with_auth_kind(Some(ServerAuthKind::Oauth2));
    assert!(!known.may_be_asked_for_sign_in());
    assert!(!stdio("x", &[], &[]).may_be_asked_for_sign_in());
    for (other, shares) in [
        (http("http://x/a", &[]), true),
        (http("http://x/b", &[]), false),
        (own, false),
        (stdio("x", &[], &[]), false),
    ] {
        assert_eq!(bare.shares_sign_in(&other), shares, "{other:?}");
        assert_eq!(other.shares_sign_in(&bare), shares, "{other:?}");
    }
}

#[test]
fn a_value_is_hidden_whole_also_beside_its_like_and_where_the_text_ends_in_it() {
    let entry = server(http(
        "http://x",
        &[
            ("A", "canary"),
            ("B", "canary-bird"),
            ("C", "Bearer nightingale"),
            ("D", "nightnight"),
        ],
    ));
    for (said, shown) in [
        ("canary-bird and canary", "*** and ***"),
        ("it was canary-bi", "it was ***"),
        ("it was nightin", "it was ***"),
        ("it was Bearer nig", "it was ***"),
        ("it was nightnight", "it was ***"),
        // So little of one is as good as nothing.
        ("it was nig", "it was nig"),
        ("can", "can"),
    ] {
        assert_eq!(server_test::without_values(&entry, said), shown);
    }
}

#[test]
fn the_last_words_of_a_program_are_told_short_and_without_secrets() {
    let entry = server(stdio("x", &[], &[("KEY", "canary-bird")]));
    let told = |stderr: &str| server_test::with_last_words(&entry, "It ended", stderr);
    assert_eq!(told(""), "It ended");
    assert_eq!(told(" \n\n"), "It ended");
    assert_eq!(
        told("first\n\x1b[31mno key canary-bird\r\n\n"),
        "It ended:\nfirst\n [31mno key ***"
    );
    let many: String = (0..20).map(|line| format!("line {line}\n")).collect();
    assert_eq!(
        told(&many),
        "It ended:\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19"
    );
    // What is cut away is cut away at the beginning, and never half of a secret.
    for before in 370..400 {
        let long = format!("canary-bird{}.", "x".repeat(before));
        let told = told(&long);
        assert!(told.chars().count() <= limits::MCP_UPSTREAM_CHARS_MAX);
        assert!(told.ends_with("x.") && !told.contains("bird"), "{told}");
    }
}
