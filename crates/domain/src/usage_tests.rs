//! Figures of turns, and their sums.

use super::*;

fn tokens(input: u64, output: u64) -> TokenCounts {
    TokenCounts {
        input,
        output,
        total: input + output,
        ..TokenCounts::default()
    }
}

fn cost(nanos: i64, currency: &str) -> Cost {
    Cost {
        nanos,
        currency: currency.to_owned(),
    }
}

#[test]
fn a_cumulative_cost_is_stored_as_the_difference_and_a_falling_one_is_a_fresh_start() {
    let mut meter = UsageMeter::default();
    let dollars = |nanos| Some(cost(nanos, "USD"));
    for (told, expected) in [
        (dollars(5), dollars(5)),
        (dollars(12), dollars(7)),
        (None, None),
        (dollars(12), dollars(0)),
        (dollars(4), dollars(4)),
        (dollars(6), dollars(2)),
        (Some(cost(9, "EUR")), Some(cost(9, "EUR"))),
        (Some(cost(10, "EUR")), Some(cost(1, "EUR"))),
    ] {
        let found = meter.turn(UsageScope::Turn, None, told.clone());
        assert_eq!(found.cost, expected, "{told:?}");
        // A restart in between changes nothing.
        let kept = serde_json::to_string(&meter).unwrap();
        meter = serde_json::from_str(&kept).unwrap();
    }
}

#[test]
fn figures_without_end_stop_at_the_greatest() {
    let mut meter = UsageMeter::default();
    let dollars = |nanos| Some(cost(nanos, "USD"));
    for (told, expected) in [(i64::MIN, i64::MIN), (i64::MAX, i64::MAX)] {
        let most = TokenCounts {
            input: u64::MAX,
            output: u64::MAX,
            ..TokenCounts::default()
        };
        let found = meter.turn(UsageScope::Session, Some(most), dollars(told));
        assert_eq!(found.cost, dollars(expected));
        assert_eq!(found.usage().cost, dollars(expected));
    }
    let usage = Usage {
        total_tokens: u64::MAX,
        cost: dollars(i64::MAX),
        ..Usage::default()
    };
    let sum: UsageTotal = [&usage, &usage].into_iter().collect();
    assert_eq!(sum.usage(), usage);
}

#[test]
fn tokens_of_a_session_become_those_of_its_turns() {
    let told = [(10, 1), (30, 5), (30, 5), (4, 1), (9, 3)];
    let of_turn = [(10, 1), (20, 4), (0, 0), (4, 1), (5, 2)];
    for (scope, expected) in [(UsageScope::Session, of_turn), (UsageScope::Turn, told)] {
        let mut meter = UsageMeter::default();
        for ((input, output), (own_input, own_output)) in told.into_iter().zip(expected) {
            let found = meter.turn(scope, Some(tokens(input, output)), None);
            assert_eq!(
                found.tokens,
                Some(tokens(own_input, own_output)),
                "{scope:?}"
            );
        }
    }
}

#[test]
fn a_total_nobody_told_is_the_sum_of_the_parts() {
    let told = TokenCounts {
        input: 1,
        output: 2,
        cached_read: 4,
        cached_write: 8,
        thought: 16,
        total: 0,
    };
    assert_eq!(told.sum(), 31);
    assert_eq!(TokenCounts { total: 7, ..told }.sum(), 7);
}

#[test]
fn currencies_are_never_added_and_one_silent_turn_makes_a_sum_incomplete() {
    let turn = |tokens, cost| TurnUsage { tokens, cost }.usage();
    let dollars = turn(Some(tokens(3, 1)), Some(cost(5, "USD")));
    let euros = turn(Some(tokens(1, 1)), Some(cost(7, "EUR")));
    let silent = turn(None, None);
    let sum: UsageTotal = [&dollars, &dollars].into_iter().collect();
    let usage = sum.usage();
    assert_eq!(
        (usage.turns, usage.total_tokens, usage.input_tokens),
        (2, 8, 6)
    );
    assert_eq!((usage.cost, usage.complete), (Some(cost(10, "USD")), true));
    let sum: UsageTotal = [&dollars, &euros, &silent, &dollars].into_iter().collect();
    assert_eq!(sum.costs(), [cost(7, "EUR"), cost(10, "USD")]);
    let usage = sum.usage();
    assert_eq!((usage.turns, usage.cost, usage.complete), (4, None, false));
    let nothing = UsageTotal::default();
    assert!(nothing.usage().complete && nothing.costs().is_empty());
    let costly = turn(None, Some(cost(1, "USD")));
    assert!(costly.complete, "a cost alone is a report");
}

#[test]
fn rows_of_one_key_are_joined_in_the_order_of_the_keys() {
    let turn = |nanos, currency| TurnUsage {
        tokens: None,
        cost: Some(cost(nanos, currency)),
    };
    let parts = [
        ("b", turn(1, "USD")),
        ("a", turn(2, "USD")),
        ("b", turn(3, "EUR")),
    ];
    let rows = rows(parts.map(|(key, figures)| (key.to_owned(), figures.usage())));
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.key.as_str(), row.sum.costs()))
        .collect();
    let expected = [
        ("a", vec![cost(2, "USD")]),
        ("b", vec![cost(3, "EUR"), cost(1, "USD")]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_span_is_thirty_days_up_to_now_unless_it_is_named() {
    let day = 24 * 3_600 * 1_000;
    let at = |day_of: i64| Timestamp::from_millis(day_of * day);
    let now = at(100);
    let span = |from, to| {
        TimeRange::new(from, to, now)
            .map(|span| (span.from, span.to))
            .ok()
    };
    let end = Timestamp::from_millis(now.as_millis() + 1);
    let begin = Timestamp::from_millis(at(70).as_millis() + 1);
    assert_eq!(span(None, None), Some((begin, end)));
    assert_eq!(span(Some(at(10)), None), Some((at(10), end)));
    assert_eq!(span(None, Some(at(50))), Some((at(20), at(50))));
    assert_eq!(span(Some(at(50)), Some(at(50))), None);
    assert_eq!(span(Some(at(101)), None), None);
}

#[test]
fn an_amount_is_shown_in_units_and_kept_in_billionths() {
    let cost = Cost::new(0.1, "USD".to_owned());
    assert_eq!(cost.nanos, 100_000_000);
    assert_eq!(
        serde_json::to_value(&cost).unwrap(),
        serde_json::json!({"amount": 0.1, "currency": "USD"})
    );
}
