//! Workspaces that earlier guildhalls left, opened by the real binary. What is in them is looked
//! at one by one where they are furnished, in the tests of `http`.

use std::{fs, path::Path};

use guildhall_testkit::{decompress, unpack};
use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::server_process::ServerProcess;

/// What the rooms of a listing are called, by their ids.
fn rooms(listed: &Value) -> Vec<Value> {
    let rooms = listed["rooms"].as_array().expect("rooms").iter();
    let mut rooms: Vec<_> = rooms
        .map(|room| json!([room["id"], room["kind"], room["title"], room["archived"]]))
        .collect();
    rooms.sort_by_key(Value::to_string);
    rooms
}

#[test]
fn a_server_starts_on_what_an_earlier_guildhall_left() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../http/tests/fixtures/data");
    for fixture in fs::read_dir(fixtures).unwrap() {
        let fixture = fixture.unwrap().path();
        let facts = fs::read(fixture.join("facts.json.packed")).unwrap();
        let facts: Value = serde_json::from_slice(&decompress(&facts)).unwrap();
        let scratch = Scratch::new("stored");
        let data = scratch.path().join("data");
        unpack(&fixture.join("data"), &data);

        let mut server = ServerProcess::start_with(&data, 0, &["--auth", "login"]);
        let key = facts["api_key"].as_str().expect("a key");
        server.authorization = Some(format!("Bearer {key}"));
        let (status, ready) = server.ask("GET", "/readyz", None);
        assert_eq!(status, 200, "{ready}");
        let path = "/api/rooms?includeArchived=true";
        let mut reads = facts["reads"].as_array().expect("reads").iter();
        let then = reads.find(|read| read["by"] == "owner" && read["path"] == path);
        let then = then.expect("the owner's rooms")["body"].as_str();
        let then: Value = serde_json::from_str(then.expect("a body")).unwrap();
        let (status, now) = server.ask("GET", path, None);
        assert_eq!((status, rooms(&now)), (200, rooms(&then)));
        assert_eq!(server.stop(), Some(0));
    }
}
