//! Chromium is killed at any moment: each time a named state follows, and nothing of it is left.
//! Source: contract 7.12 (6).

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    browser_lifecycle::{PAGE, StateWatcher},
    browser_observation::{kill, seen_below, text, until_some},
    browser_server::ServerWithChromium,
    test_sites::{SitePage, TestSite},
};

/// Numbers that look random and are the same for the same seed (splitmix64).
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap() % end
    }
}

/// What a person does last before Chromium is hit.
#[derive(Clone, Copy, Debug)]
enum LastAction {
    /// It is looked for, or just starts.
    Opening,
    /// Its first process runs.
    Starting,
    Open,
    Navigating,
    Closing,
}

const MOMENTS: [LastAction; 5] = [
    LastAction::Opening,
    LastAction::Starting,
    LastAction::Open,
    LastAction::Navigating,
    LastAction::Closing,
];

const VICTIMS: [Option<&str>; 4] = [
    None,
    Some("--type=renderer"),
    Some("--utility-sub-type=network"),
    Some("--type=gpu-process"),
];

#[test]
fn twenty_kills_at_any_moment_each_end_in_a_named_state_and_leave_nothing() {
    let site = TestSite::new(|_| SitePage::html(PAGE));
    let Some(house) = ServerWithChromium::open() else {
        return;
    };
    let seed = std::env::var("GUILDHALL_TEST_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let [_, .., a, b, c] = guildhall_world::ids::new().into_bytes();
        u64::from_be_bytes([0, 0, 0, 0, 0, a, b, c])
    });
    println!("GUILDHALL_TEST_SEED={seed}");
    let mut dice = SeededRandom(seed);
    let watcher = StateWatcher::start(house.server.port(), BTreeMap::new());
    for round in 0..20 {
        // Every moment comes four times, each time with another victim.
        let (moment, victim) = (MOMENTS[round % 5], VICTIMS[(round / 5 + round) % 4]);
        let what = format!("round {round} of {seed}: {moment:?}, {victim:?}");
        house.post("/open", json!({"mode": "embedded", "url": site.url("/")}));
        match moment {
            LastAction::Opening => {}
            LastAction::Starting => {
                until_some(&what, || house.main_process());
            }
            LastAction::Open | LastAction::Navigating | LastAction::Closing => {
                house.until(|state| state["status"] == "connected");
            }
        }
        let tab = text(&house.state()["selectedTabId"]);
        match moment {
            LastAction::Navigating => {
                let ask = json!({"url": site.url("/next")});
                house.ask("POST", &format!("/tabs/{tab}/navigate"), &ask);
            }
            LastAction::Closing => {
                house.post("/close", json!({}));
            }
            LastAction::Opening | LastAction::Starting | LastAction::Open => {}
        }
        // Any moment of the next: as many looks as the dice say.
        for _ in 0..dice.below(8) {
            house.state();
        }
        let mut seen = seen_below(house.server.pid());
        let of_kind = house.of_type(victim);
        let hit = of_kind.get(dice.below(of_kind.len().max(1)));
        if let Some(pid) = hit {
            kill(*pid);
        }
        let settled = house.until(|state| {
            let is_on_its_way = ["connecting", "closing"]
                .contains(&state["status"].as_str().unwrap())
                || state["preparation"]["stage"] == "checking";
            // One whose end nobody has seen yet looks well.
            let is_unseen = victim.is_none() && hit.is_some() && state["status"] == "connected";
            !is_on_its_way && !is_unseen
        });
        println!("{what}: {}", settled["status"]);
        match settled["status"].as_str().unwrap() {
            "failed" => {
                let code = settled["lastError"]["code"].as_str().unwrap();
                assert!(
                    ["BROWSER_CRASHED", "LAUNCH_FAILED"].contains(&code),
                    "{what}: {settled}"
                );
            }
            "connected" => {
                seen.extend(seen_below(house.server.pid()));
                house.post("/close", json!({}));
                let closed = house.until(|state| {
                    ["disconnected", "failed"].contains(&state["status"].as_str().unwrap())
                });
                assert_eq!(closed["status"], "disconnected", "{what}: {closed}");
            }
            status => assert_eq!(status, "disconnected", "{what}: {settled}"),
        }
        house.gone(&seen);
    }
    assert!(watcher.end().len() > 20, "each round is seen");
    house.connected(json!({"mode": "embedded", "url": site.url("/")}));
    house.until_title("a page");
}
