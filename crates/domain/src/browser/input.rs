//! What a person does with mouse and keyboard, step by step. Source: contract 7.7.

use std::ops::RangeInclusive;

use crate::{Refusal, field_validation::FieldValidator, limits};

/// The size of an embedded page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// Physical pixels of one of them.
    pub scale: f64,
}

impl Default for Viewport {
    fn default() -> Self {
        Self {
            width: 1_280,
            height: 800,
            scale: 1.0,
        }
    }
}

impl Viewport {
    /// A size within [`limits::BROWSER_VIEWPORT_PX`] and [`limits::BROWSER_SCALE`].
    ///
    /// # Errors
    /// [`Refusal::Validation`] with every field that is outside.
    pub fn checked(width: u32, height: u32, scale: f64) -> Result<Self, Refusal> {
        let mut check = FieldValidator::new();
        check.number("width", width, &limits::BROWSER_VIEWPORT_PX);
        check.number("height", height, &limits::BROWSER_VIEWPORT_PX);
        within(&mut check, "scale", scale, &limits::BROWSER_SCALE);
        check.finish()?;
        Ok(Self {
            width,
            height,
            scale,
        })
    }
}

/// A button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MouseButton {
    /// The first.
    Left,
    /// The wheel.
    Middle,
    /// The second.
    Right,
}

impl MouseButton {
    /// Each with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Left, "left"),
        (Self::Middle, "middle"),
        (Self::Right, "right"),
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
        }
    }
}

/// Which of Alt (1), Ctrl (2), Meta (4) and Shift (8) are down, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyModifiers(pub u8);

/// One deed. Coordinates are CSS pixels of the picture.
#[derive(Clone, Debug, PartialEq)]
pub enum InputStep {
    /// A button goes down and up, `count` times.
    Click {
        /// From the left.
        x: f64,
        /// From above.
        y: f64,
        /// Which one.
        button: MouseButton,
        /// 1 to 3.
        count: u8,
    },
    /// The pointer moves.
    MouseMove {
        /// From the left.
        x: f64,
        /// From above.
        y: f64,
    },
    /// A button goes down.
    MouseDown {
        /// From the left.
        x: f64,
        /// From above.
        y: f64,
        /// Which one.
        button: MouseButton,
    },
    /// A button goes up.
    MouseUp {
        /// From the left.
        x: f64,
        /// From above.
        y: f64,
        /// Which one.
        button: MouseButton,
    },
    /// The wheel turns.
    Wheel {
        /// From the left.
        x: f64,
        /// From above.
        y: f64,
        /// CSS pixels to the right.
        delta_x: f64,
        /// CSS pixels down.
        delta_y: f64,
    },
    /// A key goes down.
    KeyDown {
        /// What it means (UI Events key value).
        key: String,
        /// Where it is (UI Events code value); may be empty.
        code: String,
        /// What else is down.
        modifiers: KeyModifiers,
    },
    /// A key goes up.
    KeyUp {
        /// What it means.
        key: String,
        /// Where it is; may be empty.
        code: String,
        /// What else is down.
        modifiers: KeyModifiers,
    },
    /// Text appears, typed or pasted.
    Text {
        /// The text.
        text: String,
    },
}

impl InputStep {
    fn place(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Click { x, y, .. }
            | Self::MouseMove { x, y }
            | Self::MouseDown { x, y, .. }
            | Self::MouseUp { x, y, .. }
            | Self::Wheel { x, y, .. } => Some((x, y)),
            Self::KeyDown { .. } | Self::KeyUp { .. } | Self::Text { .. } => None,
        }
    }

    fn check(&self, check: &mut FieldValidator, at: &str, viewport: Viewport) {
        if let Some((x, y)) = self.place() {
            for (name, place, side) in [("x", x, viewport.width), ("y", y, viewport.height)] {
                let side = f64::from(side).min(limits::BROWSER_COORDINATE_MAX);
                within(check, &format!("{at}.{name}"), place, &(0.0..=side));
            }
        }
        match self {
            Self::Click { count, .. } => {
                check.number(&format!("{at}.count"), (*count).into(), &(1..=3));
            }
            Self::Wheel {
                delta_x, delta_y, ..
            } => {
                let range = -limits::BROWSER_WHEEL_MAX..=limits::BROWSER_WHEEL_MAX;
                within(check, &format!("{at}.deltaX"), *delta_x, &range);
                within(check, &format!("{at}.deltaY"), *delta_y, &range);
            }
            Self::KeyDown {
                key,
                code,
                modifiers,
            }
            | Self::KeyUp {
                key,
                code,
                modifiers,
            } => {
                let max = limits::BROWSER_KEY_CHARS_MAX;
                check.chars(&format!("{at}.key"), key, 1, max);
                check.chars(&format!("{at}.code"), code, 0, max);
                check.number(&format!("{at}.modifiers"), modifiers.0.into(), &(0..=15));
            }
            Self::Text { text } => {
                let max = limits::BROWSER_TEXT_CHARS_MAX;
                check.chars(&format!("{at}.text"), text, 1, max);
            }
            Self::MouseMove { .. } | Self::MouseDown { .. } | Self::MouseUp { .. } => {}
        }
    }
}

fn within(check: &mut FieldValidator, field: &str, number: f64, range: &RangeInclusive<f64>) {
    // What is no number is in no range.
    if !range.contains(&number) {
        check.fail(
            field,
            format!("must be {} to {}", range.start(), range.end()),
        );
    }
}

/// Steps that may be done, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSteps(Vec<InputStep>);

impl InputSteps {
    /// Checks [`limits::BROWSER_STEPS`] steps against a page of this size.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with everything that is out of bounds, by `steps.0.x` and the like.
    pub fn checked(steps: Vec<InputStep>, viewport: Viewport) -> Result<Self, Refusal> {
        let mut check = FieldValidator::new();
        if !limits::BROWSER_STEPS.contains(&steps.len()) {
            let (min, max) = limits::BROWSER_STEPS.into_inner();
            check.fail("steps", format!("must have {min} to {max} steps"));
        } else {
            for (number, step) in steps.iter().enumerate() {
                step.check(&mut check, &format!("steps.{number}"), viewport);
            }
        }
        check.finish()?;
        Ok(Self(steps))
    }

    /// In order.
    pub fn all(&self) -> &[InputStep] {
        &self.0
    }
}

/// What one connection holds down, so that it can be let go when the connection is gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PressedInputs {
    buttons: Vec<(MouseButton, f64, f64)>,
    keys: Vec<(String, String)>,
}

impl PressedInputs {
    /// Takes note of a step that was done.
    pub fn record(&mut self, step: &InputStep) {
        match step {
            InputStep::MouseDown { x, y, button } => {
                self.buttons.retain(|(held, ..)| held != button);
                self.buttons.push((*button, *x, *y));
            }
            InputStep::MouseUp { button, .. } | InputStep::Click { button, .. } => {
                self.buttons.retain(|(held, ..)| held != button);
            }
            // A button is let go where the pointer is.
            InputStep::MouseMove { x, y } => {
                for (_, held_x, held_y) in &mut self.buttons {
                    (*held_x, *held_y) = (*x, *y);
                }
            }
            InputStep::KeyDown { key, code, .. } => {
                let held = (key.clone(), code.clone());
                // Nobody has more fingers; more would only be memory.
                if !self.keys.contains(&held) && self.keys.len() < limits::BROWSER_INPUT_QUEUE_MAX {
                    self.keys.push(held);
                }
            }
            // With another modifier the same key means something else when it comes up.
            InputStep::KeyUp { key, code, .. } => self
                .keys
                .retain(|(held, place)| held != key && (code.is_empty() || place != code)),
            InputStep::Wheel { .. } | InputStep::Text { .. } => {}
        }
    }

    /// The steps that let go of everything.
    pub fn releases(self) -> Vec<InputStep> {
        let buttons = self.buttons.into_iter();
        let buttons = buttons.map(|(button, x, y)| InputStep::MouseUp { x, y, button });
        let keys = self.keys.into_iter().map(|(key, code)| InputStep::KeyUp {
            key,
            code,
            modifiers: KeyModifiers::default(),
        });
        buttons.chain(keys).collect()
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
