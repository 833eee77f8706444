//! What is stored stays readable, from one guildhall to the next.
//!
//! A workspace is furnished with something of every kind that is stored, left, and opened again:
//! everything is read and replayed byte for byte as before, every secret opens, what waits is
//! decided, and sign-ins, accounts and links go on. The same is demanded of each fixture in
//! `fixtures/data`: a workspace that an earlier guildhall left. And what is stored today has the
//! form of the newest one: a renamed word, label or member of JSON is not there any more.
//!
//! A fixture is made by a guildhall and not by hand. Make a new one, and keep the others, whenever
//! more kinds of things are stored, or what is stored has another form on purpose:
//!
//! ```text
//! GUILDHALL_KEEP_FIXTURE=$PWD/crates/http/tests/fixtures/data/2026-11-26 \
//!     cargo test -p guildhall-http --test it stored_data::what_is_furnished
//! ```

mod check;
mod connectors;
mod facts;
mod format;
mod furnish;
mod reading;
mod secrets;
mod services;

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use guildhall_world::scratch::Scratch;

use self::{facts::Facts, services::Services};

/// Names the folder in which the furnished workspace is kept as a fixture.
const KEEP_FIXTURE: &str = "GUILDHALL_KEEP_FIXTURE";

/// Every fixture, the oldest first.
fn fixtures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/data");
    let entries = fs::read_dir(folder).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(!found.is_empty(), "there are fixtures");
    found
}

#[tokio::test]
async fn what_is_furnished_today_is_all_there_when_it_is_opened_again() {
    let services = Services::start().await;
    let (mut t, facts) = furnish::furnish(&services).await;
    let scratch = Scratch::new("fixture");
    let fixture = env::var_os(KEEP_FIXTURE).map_or(scratch.path().join("it"), PathBuf::from);
    t.restart_after(|data| facts.keep(data.path(), &fixture))
        .await;
    t.close().await;
    check::check(&fixture, &services).await;
}

#[tokio::test]
async fn what_an_earlier_guildhall_left_is_all_there() {
    for fixture in fixtures() {
        let services = Services::start().await;
        check::check(&fixture, &services).await;
    }
}

#[tokio::test]
async fn what_is_stored_today_has_the_form_of_the_newest_fixture() {
    let services = Services::start().await;
    let newest = fixtures().pop().unwrap();
    let facts = Facts::of(&newest);
    let left = check::open(&newest, &facts, &services).await;
    let then = format::of(&left.database(), &left.data_dir());
    left.close().await;
    let (t, _) = furnish::furnish(&services).await;
    let now = format::of(&t.database(), &t.data_dir());
    t.close().await;
    let gone: BTreeSet<_> = then.difference(&now).collect();
    let new: BTreeSet<_> = now.difference(&then).collect();
    assert!(
        gone.is_empty(),
        "what earlier guildhalls stored is stored in another form now, so that neither they nor \
         their data can be relied on; gone: {gone:#?}; new: {new:#?}"
    );
}
