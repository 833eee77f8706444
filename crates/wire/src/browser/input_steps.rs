//! Steps of mouse and keyboard on the wire. Source: contract 7.7.

use guildhall_domain::browser::{self as rules, Button, Modifiers};

use crate::request_fields::Fields;

/// The kinds of steps, by their words.
#[derive(Clone, Copy)]
enum Kind {
    Click,
    MouseMove,
    MouseDown,
    MouseUp,
    Wheel,
    KeyDown,
    KeyUp,
    Text,
}

impl Kind {
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
pub(super) fn steps(fields: &mut Fields) -> Vec<rules::Step> {
    fields
        .objects("steps", step)
        .into_iter()
        .flatten()
        .collect()
}

fn step(fields: &mut Fields) -> Option<rules::Step> {
    let kind = fields.known_word("type", &Kind::WORDS)?;
    let place = |fields: &mut Fields| (fields.float("x"), fields.float("y"));
    Some(match kind {
        Kind::Click => {
            let (x, y) = place(fields);
            rules::Step::Click {
                x,
                y,
                button: fields.word("button", &Button::WORDS, Button::Left),
                count: fields.number("count"),
            }
        }
        Kind::MouseMove => {
            let (x, y) = place(fields);
            rules::Step::MouseMove { x, y }
        }
        Kind::MouseDown => {
            let (x, y) = place(fields);
            let button = fields.word("button", &Button::WORDS, Button::Left);
            rules::Step::MouseDown { x, y, button }
        }
        Kind::MouseUp => {
            let (x, y) = place(fields);
            let button = fields.word("button", &Button::WORDS, Button::Left);
            rules::Step::MouseUp { x, y, button }
        }
        Kind::Wheel => {
            let (x, y) = place(fields);
            rules::Step::Wheel {
                x,
                y,
                delta_x: fields.float("deltaX"),
                delta_y: fields.float("deltaY"),
            }
        }
        Kind::KeyDown => rules::Step::KeyDown {
            key: fields.text("key"),
            code: fields.text("code"),
            modifiers: Modifiers(fields.number("modifiers")),
        },
        Kind::KeyUp => rules::Step::KeyUp {
            key: fields.text("key"),
            code: fields.text("code"),
            modifiers: Modifiers(fields.number("modifiers")),
        },
        Kind::Text => rules::Step::Text {
            text: fields.text("text"),
        },
    })
}
