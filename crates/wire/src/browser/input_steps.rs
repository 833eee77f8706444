//! Steps of mouse and keyboard on the wire. Source: contract 7.7.

use guildhall_domain::browser::{self as rules, KeyModifiers, MouseButton};

use crate::request_fields::Fields;

/// The kinds of steps, by their words.
#[derive(Clone, Copy)]
enum InputStepKind {
    Click,
    MouseMove,
    MouseDown,
    MouseUp,
    Wheel,
    KeyDown,
    KeyUp,
    Text,
}

impl InputStepKind {
    const WORDS: [(Self, &str); 8] = [
        (Self::Click, "click"),
        (Self::MouseMove, "mouseMove"),
        (Self::MouseDown, "mouseDown"),
        (Self::MouseUp, "mouseUp"),
        (Self::Wheel, "wheel"),
        (Self::KeyDown, "keyDown"),
        (Self::KeyUp, "keyUp"),
        (Self::Text, "text"),
    ];
}

/// The steps of a body; what they may be is the domain's to check.
pub(super) fn steps(fields: &mut Fields) -> Vec<rules::InputStep> {
    fields
        .objects("steps", step)
        .into_iter()
        .flatten()
        .collect()
}

fn step(fields: &mut Fields) -> Option<rules::InputStep> {
    let kind = fields.known_choice("type", &InputStepKind::WORDS)?;
    let place = |fields: &mut Fields| (fields.float("x"), fields.float("y"));
    Some(match kind {
        InputStepKind::Click => {
            let (x, y) = place(fields);
            rules::InputStep::Click {
                x,
                y,
                button: fields.choice("button", &MouseButton::WORDS, MouseButton::Left),
                count: fields.number("count"),
            }
        }
        InputStepKind::MouseMove => {
            let (x, y) = place(fields);
            rules::InputStep::MouseMove { x, y }
        }
        InputStepKind::MouseDown => {
            let (x, y) = place(fields);
            let button = fields.choice("button", &MouseButton::WORDS, MouseButton::Left);
            rules::InputStep::MouseDown { x, y, button }
        }
        InputStepKind::MouseUp => {
            let (x, y) = place(fields);
            let button = fields.choice("button", &MouseButton::WORDS, MouseButton::Left);
            rules::InputStep::MouseUp { x, y, button }
        }
        InputStepKind::Wheel => {
            let (x, y) = place(fields);
            rules::InputStep::Wheel {
                x,
                y,
                delta_x: fields.float("deltaX"),
                delta_y: fields.float("deltaY"),
            }
        }
        InputStepKind::KeyDown => rules::InputStep::KeyDown {
            key: fields.text("key"),
            code: fields.text("code"),
            modifiers: KeyModifiers(fields.number("modifiers")),
        },
        InputStepKind::KeyUp => rules::InputStep::KeyUp {
            key: fields.text("key"),
            code: fields.text("code"),
            modifiers: KeyModifiers(fields.number("modifiers")),
        },
        InputStepKind::Text => rules::InputStep::Text {
            text: fields.text("text"),
        },
    })
}
