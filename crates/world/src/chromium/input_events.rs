//! Steps of mouse and keyboard, as Chromium wants to be told them. Source: contract 7.7.

use std::future::Future;

use guildhall_domain::{
    browser::{InputStep, InputSteps, MouseButton, ToolDenial},
    ids::TabId,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{BrowserError, Chromium, keys};

const MOUSE: &str = "Input.dispatchMouseEvent";
const KEY: &str = "Input.dispatchKeyEvent";

impl Chromium {
    /// Does these steps, in order. That they were done means that Chromium took them.
    ///
    /// # Errors
    /// [`ToolDenial::DialogOpen`] while a dialog is open, or when a step opens one and others follow;
    /// [`BrowserError::Refused`] at a page about a certificate; [`BrowserError::NoTab`],
    /// [`BrowserError::Timeout`].
    pub async fn input(&self, tab: TabId, steps: &InputSteps) -> Result<(), BrowserError> {
        let session = self.session(tab)?;
        for step in steps.all() {
            self.step(tab, &session, step).await?;
        }
        Ok(())
    }

    async fn step(&self, tab: TabId, session: &str, step: &InputStep) -> Result<(), BrowserError> {
        match step {
            InputStep::Click {
                x,
                y,
                button,
                count,
            } => {
                let forget =
                    |page: &mut super::target_registry::RegisteredPage| page.presses.forget();
                self.shared.book.page(tab, forget)?;
                self.click_at(tab, session, (*x, *y), *button, *count).await
            }
            InputStep::MouseMove { x, y } => self.move_to(tab, session, (*x, *y)).await,
            InputStep::MouseDown { x, y, button } => {
                let (at, now) = ((*x, *y), Instant::now());
                let press = |page: &mut super::target_registry::RegisteredPage| {
                    page.presses.press(*button, at, now)
                };
                let count = self.shared.book.page(tab, press)?;
                self.press(tab, session, at, *button, count).await
            }
            InputStep::MouseUp { x, y, button } => {
                let release = |page: &mut super::target_registry::RegisteredPage| {
                    page.presses.release(*button)
                };
                let count = self.shared.book.page(tab, release)?;
                self.release(tab, session, (*x, *y), *button, count).await
            }
            InputStep::Wheel {
                x,
                y,
                delta_x,
                delta_y,
            } => {
                let event = json!({
                    "type": "mouseWheel", "x": x, "y": y, "deltaX": delta_x, "deltaY": delta_y,
                });
                self.dispatch(tab, session, MOUSE, event).await
            }
            InputStep::KeyDown {
                key,
                code,
                modifiers,
            } => self.key_down(tab, session, key, code, modifiers.0).await,
            InputStep::KeyUp {
                key,
                code,
                modifiers,
            } => self.key_up(tab, session, key, code, modifiers.0).await,
            InputStep::Text { text } => {
                let text = json!({ "text": text });
                self.dispatch(tab, session, "Input.insertText", text).await
            }
        }
    }

    pub(super) async fn click_at(
        &self,
        tab: TabId,
        session: &str,
        at: (f64, f64),
        button: MouseButton,
        count: u8,
    ) -> Result<(), BrowserError> {
        self.move_to(tab, session, at).await?;
        for number in 1..=count {
            self.press(tab, session, at, button, number).await?;
            self.release(tab, session, at, button, number).await?;
        }
        Ok(())
    }

    pub(super) async fn move_to(
        &self,
        tab: TabId,
        session: &str,
        (x, y): (f64, f64),
    ) -> Result<(), BrowserError> {
        let buttons = self.shared.book.page(tab, |page| page.buttons)?;
        let held = [MouseButton::Left, MouseButton::Right, MouseButton::Middle];
        let held = held.into_iter().find(|button| buttons & bit(*button) != 0);
        let event = json!({
            "type": "mouseMoved", "x": x, "y": y, "buttons": buttons,
            "button": held.map_or("none", MouseButton::as_str),
        });
        self.dispatch(tab, session, MOUSE, event).await
    }

    async fn press(
        &self,
        tab: TabId,
        session: &str,
        at: (f64, f64),
        button: MouseButton,
        count: u8,
    ) -> Result<(), BrowserError> {
        let held = |page: &mut super::target_registry::RegisteredPage| {
            page.buttons |= bit(button);
            page.buttons
        };
        let buttons = self.shared.book.page(tab, held)?;
        let event = mouse("mousePressed", at, button, buttons, count);
        self.dispatch(tab, session, MOUSE, event).await
    }

    async fn release(
        &self,
        tab: TabId,
        session: &str,
        at: (f64, f64),
        button: MouseButton,
        count: u8,
    ) -> Result<(), BrowserError> {
        let held = |page: &mut super::target_registry::RegisteredPage| {
            page.buttons &= !bit(button);
            page.buttons
        };
        let buttons = self.shared.book.page(tab, held)?;
        let event = mouse("mouseReleased", at, button, buttons, count);
        self.dispatch(tab, session, MOUSE, event).await
    }

    pub(super) async fn key_down(
        &self,
        tab: TabId,
        session: &str,
        key: &str,
        code: &str,
        modifiers: u8,
    ) -> Result<(), BrowserError> {
        let mut event = key_event(key, code, modifiers);
        match keys::typed_text(key, modifiers) {
            Some(text) => {
                event["type"] = "keyDown".into();
                event["text"] = text.into();
            }
            None => event["type"] = "rawKeyDown".into(),
        }
        self.dispatch(tab, session, KEY, event).await
    }

    pub(super) async fn key_up(
        &self,
        tab: TabId,
        session: &str,
        key: &str,
        code: &str,
        modifiers: u8,
    ) -> Result<(), BrowserError> {
        let mut event = key_event(key, code, modifiers);
        event["type"] = "keyUp".into();
        self.dispatch(tab, session, KEY, event).await
    }

    /// Tells Chromium of one input, and waits until it took it.
    pub(super) async fn dispatch(
        &self,
        tab: TabId,
        session: &str,
        method: &str,
        event: Value,
    ) -> Result<(), BrowserError> {
        let is_refused =
            |page: &mut super::target_registry::RegisteredPage| page.is_certificate_refused;
        if self.shared.book.page(tab, is_refused)? {
            return Err(BrowserError::Refused(
                "there is no way round a certificate that is not valid".to_owned(),
            ));
        }
        let call = self.call(session, method, event);
        self.unless_dialog(tab, async { call.await.map(|_| ()) })
            .await
    }

    /// Waits for an input, or for the dialog that it opened: until that is answered, Chromium
    /// answers nothing.
    pub(super) async fn unless_dialog(
        &self,
        tab: TabId,
        input: impl Future<Output = Result<(), BrowserError>>,
    ) -> Result<(), BrowserError> {
        let dialogs = self.shared.book.page(tab, |page| page.dialogs.subscribe());
        let mut dialogs = dialogs?;
        if *dialogs.borrow() {
            return Err(ToolDenial::DialogOpen.into());
        }
        tokio::select! {
            taken = input => taken,
            // An error means that the tab is gone.
            opened = dialogs.wait_for(|is_open| *is_open) => {
                opened.map(|_| ()).map_err(|_| BrowserError::NoTab)
            }
        }
    }
}

/// A button's bit among those that are down (UI Events `buttons`).
fn bit(button: MouseButton) -> u8 {
    match button {
        MouseButton::Left => 1,
        MouseButton::Right => 2,
        MouseButton::Middle => 4,
    }
}

fn mouse(kind: &str, (x, y): (f64, f64), button: MouseButton, buttons: u8, count: u8) -> Value {
    json!({
        "type": kind, "x": x, "y": y, "button": button.as_str(), "buttons": buttons,
        "clickCount": count,
    })
}

fn key_event(key: &str, code: &str, modifiers: u8) -> Value {
    // Which of two equal keys (UI Events `location`).
    let location = match code {
        "ShiftLeft" | "ControlLeft" | "AltLeft" | "MetaLeft" => 1,
        "ShiftRight" | "ControlRight" | "AltRight" | "MetaRight" => 2,
        _ => 0,
    };
    json!({
        "key": key, "code": code, "modifiers": modifiers, "location": location,
        "isKeypad": code.starts_with("Numpad"),
        "windowsVirtualKeyCode": keys::key(key).number,
    })
}
