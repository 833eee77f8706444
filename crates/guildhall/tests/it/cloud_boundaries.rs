//! What the program leaves to the companion service. Source: contract 5.14 (13).

use std::fs;

/// Where the payment service is, and how its keys begin.
const FOREIGN: [&[u8]; 3] = [b"api.stripe.com", b"sk_live_", b"Stripe-Version"];

#[test]
fn the_program_knows_no_payment_service() {
    let program = fs::read(env!("CARGO_BIN_EXE_guildhall")).unwrap();
    let holds = |text: &[u8]| program.windows(text.len()).any(|window| window == text);
    assert!(holds(b"/api/cloud/billing/"), "the right file is read");
    for text in FOREIGN {
        assert!(!holds(text), "{}", String::from_utf8_lossy(text));
    }
}
