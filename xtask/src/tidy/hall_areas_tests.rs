//! What the rule for hall areas catches, and what it lets pass.

use super::*;

/// The places found when `rooms.rs` reads as `rooms`, beside an area `members` and the tasks.
fn places(rooms: &str, allowed: &[(&str, &str)]) -> Vec<String> {
    let tree = WorkspaceTree::of(&[
        (
            "crates/hall/src/lib.rs",
            "//! Hall.\npub use members::{Member, Role as MemberRole};\n",
        ),
        (
            "crates/hall/src/tasks.rs",
            "//! Tasks.\nuse crate::members;\n",
        ),
        (
            "crates/hall/src/members/mod.rs",
            "//! Members.\nuse crate::tasks::Tasks;\n",
        ),
        (
            "crates/hall/src/members/roles.rs",
            "//! Roles.\nuse super::super::members::Member;\n",
        ),
        ("crates/hall/src/rooms.rs", rooms),
    ]);
    check_against(&tree, allowed)
        .into_iter()
        .map(|finding| finding.place)
        .collect()
}

#[test]
fn an_import_of_another_area_is_caught_however_it_is_written() {
    for rooms in [
        "use crate::members;",
        "use crate::members::Member;",
        "use crate::{tasks::Tasks, members::{Member}};",
        "use super::members;",
        "fn f() { crate::members::add(); }",
        "mod inner { use super::super::members; }",
        "use crate::Member;",
        "use crate::MemberRole;",
    ] {
        assert_eq!(
            places(rooms, &[]),
            ["crates/hall/src/rooms.rs:1"],
            "{rooms}"
        );
    }
}

#[test]
fn what_is_no_other_area_is_fine() {
    for rooms in [
        "use crate::tasks::Tasks;",
        "use crate::{tasks::{members}, Hall};",
        "use crate::rooms::Room;",
        "use guildhall_store::members;",
        "// use crate::members;",
        "mod inner { use super::members; }",
        "#[cfg(test)]\nmod tests { use crate::members; }",
    ] {
        assert_eq!(places(rooms, &[]), [""; 0], "{rooms}");
    }
}

#[test]
fn a_crossing_allows_one_direction_and_must_be_used() {
    assert_eq!(
        places("use crate::members;", &[("rooms", "members")]),
        [""; 0]
    );
    assert_eq!(
        places("use crate::members;", &[("members", "rooms")]),
        ["crates/hall/src/rooms.rs:1", "docs/crossings.md"]
    );
}

#[test]
fn the_document_and_the_rule_must_list_the_same_crossings() {
    let document =
        "# House\n## Crossings\n- rooms → entries: a reason\n\n## Later\n- a → b: not here\n";
    let tree = WorkspaceTree::of(&[
        ("docs/crossings.md", document),
        ("crates/hall/src/members.rs", ""),
        ("crates/hall/src/rooms.rs", "use crate::members;"),
    ]);
    let says: Vec<_> = check_against(&tree, &[("rooms", "members")])
        .into_iter()
        .map(|finding| finding.says)
        .collect();
    assert_eq!(
        says,
        [
            "tell why rooms → members under Crossings",
            "rooms → entries stands under Crossings but not in hall_areas.rs",
        ]
    );
}

#[test]
fn a_crossing_without_a_reason_does_not_count() {
    assert_eq!(
        crossings_told("## Crossings\n- rooms → members:\n"),
        Some(BTreeSet::new())
    );
    assert_eq!(crossings_told("## Floors\n"), None);
}
