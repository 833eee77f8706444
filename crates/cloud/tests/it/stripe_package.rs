//! Stripe's own npm package, of the version whose interface the companion names: its types take
//! what is sent and what the stub answers, and its client asks the same with the same words.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use guildhall_testkit::stripe_stub::{RecordedRequest, StripeFault, StripeStub};
use guildhall_world::scratch::Scratch;
use serde_json::{Map, Value, json};
use tokio::process::Command;

use crate::{billing::paid_at, companion::STRIPE_KEY, soon};

/// What the companion calls: the type of what is sent, and of what comes back.
const CALLS: [(&str, &str, &str); 4] = [
    (
        "GET /v1/prices",
        "Stripe.PriceListParams",
        "Stripe.ApiList<Stripe.Price>",
    ),
    (
        "POST /v1/customers",
        "Stripe.CustomerCreateParams",
        "Stripe.Customer",
    ),
    (
        "POST /v1/checkout/sessions",
        "Stripe.Checkout.SessionCreateParams",
        "Stripe.Checkout.Session",
    ),
    (
        "POST /v1/billing_portal/sessions",
        "Stripe.BillingPortal.SessionCreateParams",
        "Stripe.BillingPortal.Session",
    ),
];

/// The package's client, and what each call is named there.
const CLIENT: &str = r#"
import { readFileSync } from "node:fs";
import Stripe from "stripe";

const [key, url] = process.argv.slice(2);
const { hostname: host, port } = new URL(url);
const stripe = new Stripe(key, { host, port, protocol: "http", maxNetworkRetries: 0 });
const calls = {
  "GET /v1/prices": (ask) => stripe.prices.list(ask),
  "POST /v1/customers": (ask) => stripe.customers.create(ask),
  "POST /v1/checkout/sessions": (ask) => stripe.checkout.sessions.create(ask),
  "POST /v1/billing_portal/sessions": (ask) => stripe.billingPortal.sessions.create(ask),
};
const asks = JSON.parse(readFileSync("asks.json", "utf8"));
for (const [call, ask] of asks) {
  console.log(await calls[call](ask).then(() => "done", (error) => error.type));
}
"#;

/// Fields that the types want as numbers and as booleans; in a form all is text.
const NUMBERS: [&str; 2] = ["limit", "line_items.quantity"];
const BOOLEANS: [&str; 1] = ["active"];

/// A folder in which programs find the package, where `cargo xtask counterparts install` put it.
fn folder() -> Scratch {
    let modules =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/stripe/node_modules");
    assert!(
        modules.join("stripe/package.json").is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    let folder = Scratch::new("stripe-package");
    let modules = modules.canonicalize().unwrap();
    symlink(modules, folder.path().join("node_modules")).unwrap();
    folder
}

async fn node(folder: &Path, words: &[&str]) -> (bool, String) {
    let mut node = Command::new("node");
    let node = node.current_dir(folder).args(words).kill_on_drop(true);
    let output = soon("an end of node", node.output()).await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Has Stripe's own client make these calls; what it says of each.
async fn client(stub: &StripeStub, asks: Vec<Value>) -> Vec<String> {
    let folder = folder();
    fs::write(folder.path().join("client.mjs"), CLIENT).unwrap();
    fs::write(folder.path().join("asks.json"), json!(asks).to_string()).unwrap();
    let (is_done, said) = node(folder.path(), &["client.mjs", STRIPE_KEY, &stub.url]).await;
    assert!(is_done, "{said}");
    said.lines().map(str::to_owned).collect()
}

/// Which of these values are not of their types, by their places.
async fn complaints(typed: &[(String, Value)]) -> Vec<usize> {
    // Of an answer the stub sends what is read and no more.
    let mut source = "import type Stripe from 'stripe'; type Part<T> = T extends (infer E)[] \
        ? Part<E>[] : T extends object ? { [K in keyof T]?: Part<T[K]> } : T;\n"
        .to_owned();
    for (place, (kind, value)) in typed.iter().enumerate() {
        source += &format!("export const value{place}: {kind} = {value};\n");
    }
    let folder = folder();
    fs::write(folder.path().join("typed.ts"), source).unwrap();
    let words = "node_modules/typescript/bin/tsc --noEmit --strict --pretty false --target es2022 \
        --module esnext --moduleResolution bundler --skipLibCheck typed.ts";
    let words: Vec<&str> = words.split_whitespace().collect();
    let (is_right, said) = node(folder.path(), &words).await;
    let mut places = Vec::new();
    for line in said.lines().filter(|line| line.contains("): error TS")) {
        let at = line
            .strip_prefix("typed.ts(")
            .unwrap_or_else(|| panic!("{said}"));
        let at: usize = at.split(',').next().unwrap().parse().unwrap();
        places.push(at.checked_sub(2).unwrap_or_else(|| panic!("{said}")));
    }
    assert_eq!(is_right, places.is_empty(), "{said}");
    places.dedup();
    places
}

/// The fields of a form as the object they stand for: `a[b][0]=c` is `{"a": {"b": ["c"]}}`.
fn object(fields: &[(String, String)]) -> Value {
    let mut whole = Value::Object(Map::new());
    for (name, text) in fields {
        let name = name.replace(']', "");
        let steps: Vec<&str> = name.split('[').collect();
        let named: Vec<&str> = steps
            .iter()
            .copied()
            .filter(|step| !is_place(step))
            .collect();
        let named = named.join(".");
        let value = match () {
            () if NUMBERS.contains(&named.as_str()) => json!(text.parse::<i64>().unwrap()),
            () if BOOLEANS.contains(&named.as_str()) => json!(text.parse::<bool>().unwrap()),
            () => json!(text),
        };
        put(&mut whole, &steps, value);
    }
    whole
}

/// Whether a step leads into a list; no field has a number as its name.
fn is_place(step: &str) -> bool {
    step.bytes().all(|byte| byte.is_ascii_digit())
}

fn put(into: &mut Value, steps: &[&str], value: Value) {
    let Some((step, further)) = steps.split_first() else {
        *into = value;
        return;
    };
    if is_place(step) {
        if into.is_null() {
            *into = json!([]);
        }
        let list = into.as_array_mut().unwrap();
        // `[]` is one more.
        let place = step.parse().unwrap_or(list.len());
        if place >= list.len() {
            list.resize(place + 1, Value::Null);
        }
        put(&mut list[place], further, value);
    } else {
        put(&mut into[*step], further, value);
    }
}

/// Everything the companion asks of the payment service, in the order it does.
async fn all_asked(stub: &StripeStub) -> Vec<RecordedRequest> {
    let (cloud, key) = paid_at(&stub.url).await;
    cloud
        .get_with_key("GET", "/v1/offers", &key, None)
        .await
        .ok();
    for sku in ["price_month", "price_once"] {
        let ask = Some(json!({ "skuId": sku }));
        cloud
            .get_with_key("POST", "/v1/checkout", &key, ask)
            .await
            .ok();
    }
    for path in ["/v1/topup", "/v1/portal"] {
        cloud.get_with_key("POST", path, &key, None).await.ok();
    }
    stub.seen()
}

#[tokio::test]
async fn the_types_take_what_is_sent_and_what_the_stub_answers() {
    let stub = StripeStub::open().await;
    let mut typed = Vec::new();
    for seen in all_asked(&stub).await {
        let (_, ask, answer) = CALLS
            .iter()
            .find(|(call, ..)| *call == seen.call())
            .unwrap();
        assert_eq!(seen.answer.0, 200);
        typed.push(((*ask).to_owned(), object(&seen.fields())));
        typed.push((format!("Part<{answer}>"), seen.answer.1));
    }
    for (call, ask, _) in CALLS {
        let is_asked = typed.iter().any(|(kind, _)| kind == ask);
        assert!(is_asked, "{call} is not made");
    }
    let complaints = complaints(&typed).await;
    let refused: Vec<_> = complaints.iter().map(|place| &typed[*place]).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[tokio::test]
async fn the_types_refuse_what_stripe_does_not_know() {
    let session = "Stripe.Checkout.SessionCreateParams";
    let typed = [
        (
            session,
            json!({"mode": "payment", "success_url": "https://a"}),
            true,
        ),
        (
            session,
            json!({"mode": "payment", "sucess_url": "https://a"}),
            false,
        ),
        (session, json!({"mode": "subscribe"}), false),
        (
            session,
            json!({"line_items": [{"price": "a", "quantity": 1}]}),
            true,
        ),
        (
            session,
            json!({"line_items": [{"price": "a", "quantity": "1"}]}),
            false,
        ),
        (session, json!({"line_items": [{"prize": "a"}]}), false),
        (
            "Stripe.CustomerCreateParams",
            json!({"metadata": {"any": 1}}),
            true,
        ),
        ("Stripe.CustomerCreateParams", json!({"meta": {}}), false),
        (
            "Stripe.BillingPortal.SessionCreateParams",
            json!({"customer": "a"}),
            true,
        ),
        ("Stripe.BillingPortal.SessionCreateParams", json!({}), false),
        ("Stripe.PriceListParams", json!({"active": "true"}), false),
        (
            "Part<Stripe.Price>",
            json!({"product": {"name": "a"}}),
            true,
        ),
        (
            "Part<Stripe.Price>",
            json!({"product": {"nome": "a"}}),
            false,
        ),
        (
            "Part<Stripe.BillingPortal.Session>",
            json!({"object": "checkout.session"}),
            false,
        ),
    ];
    let refused = typed
        .iter()
        .enumerate()
        .filter(|(_, (.., is_right))| !is_right);
    let refused: Vec<usize> = refused.map(|(place, _)| place).collect();
    let typed = typed.map(|(kind, value, _)| (kind.to_owned(), value));
    assert_eq!(complaints(&typed).await, refused);
}

#[tokio::test]
async fn stripes_own_client_asks_the_same_with_the_same_words() {
    let stub = StripeStub::open().await;
    let ours = all_asked(&stub).await;
    let asks = ours
        .iter()
        .map(|seen| json!([seen.call(), object(&seen.fields())]));
    let said = client(&stub, asks.collect()).await;
    assert!(said.iter().all(|said| said == "done"), "{said:?}");
    let told = |seen: &RecordedRequest| {
        let headers = ["authorization", "stripe-version"].map(|name| seen.headers[name].clone());
        (seen.call().to_owned(), object(&seen.fields()), headers)
    };
    let theirs: Vec<_> = stub.seen().iter().map(told).collect();
    assert_eq!(ours.iter().map(told).collect::<Vec<_>>(), theirs);
}

#[tokio::test]
async fn what_the_stub_plays_is_to_stripes_own_client_what_stripe_would_say() {
    let stub = StripeStub::open().await;
    let plays = [
        (StripeFault::Well, "done"),
        (StripeFault::Refuse(400), "StripeInvalidRequestError"),
        (StripeFault::Refuse(401), "StripeAuthenticationError"),
        (StripeFault::Refuse(402), "StripeCardError"),
        (StripeFault::Refuse(403), "StripePermissionError"),
        (StripeFault::Later(7), "StripeRateLimitError"),
        (StripeFault::Refuse(500), "StripeAPIError"),
        (StripeFault::HangUp, "StripeConnectionError"),
    ];
    stub.then(&plays.map(|(play, _)| play));
    // Where a connection breaks off, it asks once more.
    stub.then(&[StripeFault::HangUp]);
    let ask = json!(["POST /v1/customers", {}]);
    let said = client(&stub, vec![ask; plays.len()]).await;
    assert_eq!(said, plays.map(|(_, expected)| expected));
}

#[test]
fn a_form_stands_for_an_object() {
    let fields = [
        ("active", "true"),
        ("expand[]", "one"),
        ("expand[]", "two"),
        ("line_items[0][price]", "price_1"),
        ("line_items[0][quantity]", "1"),
        ("metadata[account_id]", "1"),
    ];
    let fields = fields.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let expected = json!({
        "active": true,
        "expand": ["one", "two"],
        "line_items": [{"price": "price_1", "quantity": 1}],
        "metadata": {"account_id": "1"},
    });
    assert_eq!(object(&fields), expected);
}
