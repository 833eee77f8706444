//! Money: amounts of Stripe, which counts in a currency's smallest unit, as integer micro units.

/// Currencies Stripe counts in whole units.
const WHOLE: [&str; 15] = [
    "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf",
    "xof", "xpf",
];
/// Currencies Stripe counts in thousandths.
const THOUSANDTHS: [&str; 5] = ["bhd", "jod", "kwd", "omr", "tnd"];

/// How many decimals Stripe's amounts in `currency` have, a code of ISO 4217.
///
/// By Stripe's list and not by ISO's: Icelandic krónur and Ugandan shillings have no cents any
/// more, and are still counted in hundredths.
pub fn decimals(currency: &str) -> u32 {
    let currency = currency.to_ascii_lowercase();
    match currency.as_str() {
        whole if WHOLE.contains(&whole) => 0,
        thousandths if THOUSANDTHS.contains(&thousandths) => 3,
        _ => 2,
    }
}

/// An amount of Stripe in millionths of its currency; `None` for one that is negative.
pub fn to_micro(unit_amount: i64, currency: &str) -> Option<u128> {
    let amount = u128::try_from(unit_amount).ok()?;
    amount.checked_mul(10_u128.pow(6 - decimals(currency)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_of_currency_has_its_factor() {
        for (amount, currency, expected) in [
            (1_000, "usd", Some(10_000_000)),
            (1_000, "EUR", Some(10_000_000)),
            (500, "jpy", Some(500_000_000)),
            (5_120, "kwd", Some(5_120_000)),
            (500, "isk", Some(5_000_000)),
            (500, "ugx", Some(5_000_000)),
            (0, "usd", Some(0)),
            (-1, "usd", None),
            (i64::MAX, "jpy", Some(9_223_372_036_854_775_807_000_000)),
        ] {
            assert_eq!(to_micro(amount, currency), expected, "{amount} {currency}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(amount in 0_i64.., currency in "[a-z]{3}") {
            let micro = to_micro(amount, &currency).unwrap();
            let factor = 10_u128.pow(6 - decimals(&currency));
            prop_assert_eq!((micro / factor, micro % factor), (amount.unsigned_abs().into(), 0));
        }
    }
}
