//! Picking: values out of answers, and one of several by chance that repeats itself.

use guildhall_testkit::TestCaller;
use serde_json::Value;

/// A text that must be one.
#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// A list that must be one.
#[track_caller]
pub(crate) fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// One field of every item, as text.
#[track_caller]
pub(crate) fn column(items: &Value, field: &str) -> Vec<String> {
    list(items).iter().map(|item| text(&item[field])).collect()
}

/// The fields of a validation refusal that are wrong.
#[track_caller]
pub(crate) fn wrong_fields(details: &Value) -> Vec<String> {
    let fields = details["fieldErrors"].as_object().expect("field errors");
    assert!(details["formErrors"].is_array(), "{details}");
    fields.keys().cloned().collect()
}

/// The room as the caller's listing shows it, archived ones too; null when it does not.
pub(crate) async fn listed(by: &TestCaller, room: &str) -> Value {
    let path = "/api/rooms?includeArchived=true";
    let rooms = by.get(path).await.ok(200)["rooms"].take();
    let found = list(&rooms).iter().find(|found| found["id"] == room);
    found.cloned().unwrap_or_default()
}

/// Chance that is the same in every run (xorshift).
pub(crate) struct SeededRandom(pub(crate) u64);

impl SeededRandom {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// One of them.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}
