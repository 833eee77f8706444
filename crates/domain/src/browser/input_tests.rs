//! The bounds of every step, and that nothing stays down.

use proptest::prelude::*;

use super::*;

/// The fields that are refused of one step on a page of 800 × 600.
fn wrong(step: InputStep) -> Vec<String> {
    let viewport = Viewport::checked(800, 600, 1.0).unwrap();
    match InputSteps::checked(vec![step], viewport) {
        Ok(_) => Vec::new(),
        Err(Refusal::Validation(invalid)) => invalid
            .field_errors
            .into_keys()
            .map(|field| field.trim_start_matches("steps.0.").to_owned())
            .collect(),
        Err(other) => panic!("{other:?}"),
    }
}

fn click(x: f64, y: f64, count: u8) -> InputStep {
    let button = MouseButton::Left;
    InputStep::Click {
        x,
        y,
        button,
        count,
    }
}

fn wheel(delta_x: f64, delta_y: f64) -> InputStep {
    let (x, y) = (1.0, 1.0);
    InputStep::Wheel {
        x,
        y,
        delta_x,
        delta_y,
    }
}

fn key(key: &str, code: &str, modifiers: u8) -> InputStep {
    InputStep::KeyDown {
        key: key.to_owned(),
        code: code.to_owned(),
        modifiers: KeyModifiers(modifiers),
    }
}

fn text(text: &str) -> InputStep {
    let text = text.to_owned();
    InputStep::Text { text }
}

#[test]
fn each_step_has_its_bounds() {
    let long = "x".repeat(2_048);
    for (step, expected) in [
        (click(0.0, 0.0, 1), &[][..]),
        (click(800.0, 600.0, 3), &[]),
        (click(0.5, 599.9, 2), &[]),
        (click(800.1, 0.0, 1), &["x"]),
        (click(-0.1, 600.1, 0), &["count", "x", "y"]),
        (click(1.0, 1.0, 4), &["count"]),
        (click(f64::NAN, f64::INFINITY, 1), &["x", "y"]),
        (InputStep::MouseMove { x: 801.0, y: 0.0 }, &["x"]),
        (
            InputStep::MouseDown {
                x: 0.0,
                y: 601.0,
                button: MouseButton::Right,
            },
            &["y"],
        ),
        (
            InputStep::MouseUp {
                x: -1.0,
                y: 0.0,
                button: MouseButton::Middle,
            },
            &["x"],
        ),
        (wheel(16_384.0, -16_384.0), &[]),
        (wheel(16_384.1, f64::NAN), &["deltaX", "deltaY"]),
        (key("a", "KeyA", 15), &[]),
        (key("MediaTrackPrevious", "", 0), &[]),
        (key("", "", 16), &["key", "modifiers"]),
        (key(&"x".repeat(33), &"x".repeat(33), 0), &["code", "key"]),
        (text(&long), &[]),
        (text(&format!("{long}x")), &["text"]),
        (text(""), &["text"]),
        (text("a\0"), &["text"]),
    ] {
        assert_eq!(wrong(step.clone()), expected, "{step:?}");
    }
}

#[test]
fn one_to_sixteen_steps_go_together() {
    let viewport = Viewport::default();
    for (count, is_fine) in [(0, false), (1, true), (16, true), (17, false)] {
        let steps = vec![text("a"); count];
        assert_eq!(
            InputSteps::checked(steps, viewport).is_ok(),
            is_fine,
            "{count}"
        );
    }
}

#[test]
fn a_page_has_a_size_that_can_be_shown() {
    for (width, height, scale, is_fine) in [
        (200, 200, 0.5, true),
        (4_096, 4_096, 3.0, true),
        (199, 200, 1.0, false),
        (200, 4_097, 1.0, false),
        (200, 200, 0.49, false),
        (200, 200, f64::NAN, false),
    ] {
        assert_eq!(Viewport::checked(width, height, scale).is_ok(), is_fine);
    }
}

#[test]
fn what_is_down_is_let_go_where_the_pointer_was() {
    let mut held = PressedInputs::default();
    let up = |key: &str, code: &str| InputStep::KeyUp {
        key: key.to_owned(),
        code: code.to_owned(),
        modifiers: KeyModifiers::default(),
    };
    for step in [
        InputStep::MouseDown {
            x: 1.0,
            y: 2.0,
            button: MouseButton::Left,
        },
        InputStep::MouseDown {
            x: 1.0,
            y: 2.0,
            button: MouseButton::Right,
        },
        InputStep::MouseUp {
            x: 1.0,
            y: 2.0,
            button: MouseButton::Right,
        },
        key("Shift", "ShiftLeft", 8),
        key("A", "KeyA", 8),
        key("A", "KeyA", 8),
        key("b", "KeyB", 0),
        up("b", "KeyB"),
        InputStep::MouseMove { x: 5.0, y: 6.0 },
        text("x"),
    ] {
        held.record(&step);
    }
    // It went down as `A`, and comes up as `a` because Shift came up before.
    let mut other = held.clone();
    other.record(&up("a", "KeyA"));
    let pointer = InputStep::MouseUp {
        x: 5.0,
        y: 6.0,
        button: MouseButton::Left,
    };
    assert_eq!(
        held.releases(),
        [pointer.clone(), up("Shift", "ShiftLeft"), up("A", "KeyA")]
    );
    assert_eq!(other.releases(), [pointer, up("Shift", "ShiftLeft")]);
}

proptest! {
    #[test]
    fn nothing_stays_down(deeds in prop::collection::vec((0_u8..4, 0_u8..3), 0..40)) {
        let (mut held, mut down) = (PressedInputs::default(), std::collections::BTreeSet::new());
        let button = |number| [MouseButton::Left, MouseButton::Middle, MouseButton::Right][usize::from(number)];
        for (deed, number) in deeds {
            let name = format!("F{number}");
            let step = match deed {
                0 => InputStep::MouseDown { x: 0.0, y: 0.0, button: button(number) },
                1 => InputStep::MouseUp { x: 0.0, y: 0.0, button: button(number) },
                2 => key(&name, &name, 0),
                _ => InputStep::KeyUp { key: name.clone(), code: name, modifiers: KeyModifiers(0) },
            };
            if deed % 2 == 0 { down.insert((deed, number)); } else { down.remove(&(deed - 1, number)); }
            held.record(&step);
        }
        prop_assert_eq!(held.clone().releases().len(), down.len());
        let mut after = held.clone();
        for step in held.releases() {
            after.record(&step);
        }
        prop_assert_eq!(after, PressedInputs::default());
    }
}
