//! How often in a row a button is pressed at one place: a second press makes a double click, as
//! the toolkits of desktops have it. Source: contract 7.7, `mouseDown`, which says no count.

use std::time::Duration;

use guildhall_domain::browser::MouseButton;
use tokio::time::Instant;

/// A press within this time after the one before may belong to it.
const AGAIN_WITHIN: Duration = Duration::from_millis(500);
/// CSS pixels that it may be away, in either direction.
const AWAY_MAX: f64 = 5.0;
/// Three are as many as mean something of their own: a word, then a paragraph.
const COUNT_MAX: u8 = 3;

/// The last press of a tab, when the next may belong to it.
#[derive(Debug, Default)]
pub(super) struct ClickCounter(Option<LastPress>);

#[derive(Debug)]
struct LastPress {
    button: MouseButton,
    at: (f64, f64),
    when: Instant,
    count: u8,
}

impl ClickCounter {
    /// Takes note of a press; answers the how manieth in a row it is.
    pub(super) fn press(&mut self, button: MouseButton, at: (f64, f64), when: Instant) -> u8 {
        let before = self.0.as_ref().filter(|last| {
            last.button == button
                && when.duration_since(last.when) <= AGAIN_WITHIN
                && (at.0 - last.at.0).abs() <= AWAY_MAX
                && (at.1 - last.at.1).abs() <= AWAY_MAX
        });
        let count = before.map_or(1, |last| COUNT_MAX.min(last.count + 1));
        self.0 = Some(LastPress {
            button,
            at,
            when,
            count,
        });
        count
    }

    /// The count that the release of a button has: that of its press.
    pub(super) fn release(&self, button: MouseButton) -> u8 {
        let last = self.0.as_ref().filter(|last| last.button == button);
        last.map_or(1, |last| last.count)
    }

    /// A click that says its own count stands alone.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: (f64, f64) = (100.0, 100.0);

    #[test]
    fn presses_in_quick_succession_at_one_place_count_up_to_three() {
        let mut presses = ClickCounter::default();
        let begin = Instant::now();
        let mut when = begin;
        for expected in [1, 2, 3, 3] {
            assert_eq!(presses.press(MouseButton::Left, PLACE, when), expected);
            assert_eq!(presses.release(MouseButton::Left), expected);
            when += AGAIN_WITHIN;
        }
        let late = when + Duration::from_millis(1);
        assert_eq!(presses.press(MouseButton::Left, PLACE, late), 1, "too late");
        assert_eq!(
            presses.press(MouseButton::Left, (105.0, 95.0), late),
            2,
            "near enough"
        );
        assert_eq!(
            presses.press(MouseButton::Left, (105.0, 89.9), late),
            1,
            "too far"
        );
        assert_eq!(
            presses.press(MouseButton::Right, (105.0, 89.9), late),
            1,
            "another button"
        );
        assert_eq!(presses.release(MouseButton::Left), 1);
        presses.press(MouseButton::Left, PLACE, late);
        presses.forget();
        assert_eq!(
            presses.press(MouseButton::Left, PLACE, late),
            1,
            "forgotten"
        );
    }
}
