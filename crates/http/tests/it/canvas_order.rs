//! Order, revisions and capacity of a canvas, against a list that a child could keep.
//! Source: contract 2.5.

use guildhall_testkit::{TestCaller, TestHall};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::{
    canvas::{at, of, page},
    test_values::{list, text},
};

/// One thing somebody does; documents are named by their place, counted round.
#[derive(Clone, Debug)]
enum CanvasAction {
    Open {
        page: u64,
        pinned: bool,
    },
    Change {
        place: usize,
        content: bool,
        pinned: Option<bool>,
        activate: bool,
    },
    Close {
        place: usize,
    },
}

fn step() -> impl Strategy<Value = CanvasAction> {
    prop_oneof![
        5 => (0_u64..20, prop::bool::weighted(0.2))
            .prop_map(|(page, pinned)| CanvasAction::Open { page, pinned }),
        4 => (0_usize..20, any::<bool>(), any::<Option<bool>>(), any::<bool>()).prop_map(
            |(place, content, pinned, activate)| CanvasAction::Change { place, content, pinned, activate }
        ),
        1 => (0_usize..20).prop_map(|place| CanvasAction::Close { place }),
    ]
}

/// What is known of one document.
#[derive(Clone, Debug, PartialEq)]
struct ExpectedDocument {
    /// The page it was opened with, by which it is opened again.
    page: u64,
    id: String,
    pinned: bool,
    rev: u64,
}

/// The documents, the front one first.
#[derive(Default)]
struct ExpectedCanvas(Vec<ExpectedDocument>);

impl ExpectedCanvas {
    fn open(&mut self, page: u64, pinned: bool, id: &str) {
        let known = self.0.iter().position(|card| card.page == page);
        let mut card = match known {
            Some(place) => self.0.remove(place),
            None => ExpectedDocument {
                page,
                id: id.to_owned(),
                pinned,
                rev: 0,
            },
        };
        card.rev += 1;
        self.0.insert(0, card);
        self.make_room(id);
    }

    fn change(&mut self, place: usize, content: bool, pinned: Option<bool>, activate: bool) {
        let card = &mut self.0[place];
        let repinned = pinned.is_some_and(|pinned| pinned != card.pinned);
        card.pinned = pinned.unwrap_or(card.pinned);
        card.rev += u64::from(content || repinned || activate);
        let id = card.id.clone();
        if activate {
            let card = self.0.remove(place);
            self.0.insert(0, card);
        }
        self.make_room(&id);
    }

    fn make_room(&mut self, written: &str) {
        while self.0.iter().filter(|card| !card.pinned).count() > 12 {
            let last = self
                .0
                .iter()
                .rposition(|card| !card.pinned && card.id != written);
            self.0.remove(last.unwrap());
        }
    }
}

async fn play(owner: &TestCaller, room: &str, steps: &[CanvasAction]) {
    let mut cards = ExpectedCanvas::default();
    for step in steps {
        let count = cards.0.len();
        let document = |place: &usize| json!({"id": cards.0[place % count].id});
        match step {
            CanvasAction::Open { page: n, pinned } => {
                let mut ask = page(*n);
                ask["pinned"] = json!(pinned);
                let answer = owner.post(&of(room), ask).await;
                let is_new = cards.0.iter().all(|card| card.page != *n);
                let opened = answer.ok(if is_new { 201 } else { 200 });
                cards.open(*n, *pinned, &text(&opened["id"]));
            }
            CanvasAction::Change { .. } | CanvasAction::Close { .. } if count == 0 => continue,
            CanvasAction::Change {
                place,
                content,
                pinned,
                activate,
            } => {
                let mut ask = json!({"activate": activate});
                if *content {
                    ask["content"] = json!({"type": "json", "data": ask["activate"]});
                }
                if let Some(pinned) = pinned {
                    ask["pinned"] = json!(pinned);
                }
                owner.patch(&at(room, &document(place)), ask).await.ok(200);
                cards.change(place % count, *content, *pinned, *activate);
            }
            CanvasAction::Close { place } => {
                owner.delete(&at(room, &document(place))).await.ok(204);
                cards.0.remove(place % count);
            }
        }
        let canvas = owner.get(&of(room)).await.ok(200);
        let shown = list(&canvas["documents"]).iter();
        let found: Vec<Value> = shown
            .clone()
            .map(|found| json!([found["id"], found["pinned"], found["rev"]]))
            .collect();
        let expected: Vec<Value> = cards
            .0
            .iter()
            .map(|card| json!([card.id, card.pinned, card.rev]))
            .collect();
        assert_eq!(found, expected, "after {step:?}");
        let positions: Vec<u64> = shown
            .map(|found| found["position"].as_u64().unwrap())
            .collect();
        assert!(
            positions.is_sorted_by(|one, next| one > next),
            "{positions:?}"
        );
    }
}

#[test]
fn order_revisions_and_capacity_are_those_of_a_simple_list() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let t = runtime.block_on(TestHall::open());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let rooms = std::cell::Cell::new(0);
    let outcome = runner.run(&prop::collection::vec(step(), 1..60), |steps| {
        rooms.set(rooms.get() + 1);
        let title = format!("Canvas {}", rooms.get());
        runtime.block_on(async {
            let room = t.channel(&t.owner(), &title, &[]).await;
            play(&t.owner(), &room, &steps).await;
        });
        Ok(())
    });
    outcome.unwrap();
}
