//! Prism over our subset of Stripe's interface: what the client sends is what the document wants.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::json;

use crate::billing::paid_at;

/// Where `cargo xtask counterparts install` put it.
fn program() -> PathBuf {
    let below = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/prism");
    let program = below.join("node_modules/@stoplight/prism-cli/dist/index.js");
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    program
}

/// Prism over the document; it ends with the test.
struct PrismProcess {
    process: Child,
    url: String,
}

impl Drop for PrismProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl PrismProcess {
    fn open() -> Self {
        let document = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stripe.yaml");
        let mut process = Command::new("node")
            .arg(program())
            .args(["mock", "-h", "127.0.0.1", "-p", "0", "--errors"])
            .arg(document)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok);
        // A port that was free a moment ago may be another's; the system chose the one it tells.
        let address = |line: String| Some(line.split_once("Prism is listening on ")?.1.to_owned());
        let url = lines.find_map(address).unwrap();
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.count());
        Self { process, url }
    }
}

#[tokio::test]
async fn prism_takes_every_call_that_is_made_of_the_payment_service() {
    let prism = PrismProcess::open();
    let (cloud, key) = paid_at(&prism.url).await;
    let offers = cloud
        .get_with_key("GET", "/v1/offers", &key, None)
        .await
        .ok();
    assert_eq!(offers["offers"][0]["skuId"], "price_month");
    let ask = json!({"skuId": "price_month"});
    let page = cloud
        .get_with_key("POST", "/v1/checkout", &key, Some(ask))
        .await
        .ok();
    assert_eq!(
        page,
        json!({"url": "https://checkout.stripe.com/c/pay/cs_test_1"})
    );
    let page = cloud
        .get_with_key("POST", "/v1/topup", &key, None)
        .await
        .ok();
    assert_eq!(
        page,
        json!({"url": "https://checkout.stripe.com/c/pay/cs_test_1"})
    );
    let page = cloud
        .get_with_key("POST", "/v1/portal", &key, None)
        .await
        .ok();
    assert_eq!(
        page,
        json!({"url": "https://billing.stripe.com/p/session/test_1"})
    );
}
