//! Keys: what Chromium must be told of a key beside its name. Source: UI Events KeyboardEvent
//! code and key values; the numbers are those of Windows, which pages still read as `keyCode`.

/// What is told of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyDefinition {
    /// Its Windows number, or 0.
    pub(super) number: u32,
    /// What it writes, if it is none of its own name.
    pub(super) writes: Option<&'static str>,
}

/// Keys that write nothing, or something else than their names.
const NAMED: [(&str, u32, Option<&str>); 37] = [
    ("Backspace", 8, None),
    ("Tab", 9, None),
    ("Enter", 13, Some("\r")),
    ("Shift", 16, None),
    ("Control", 17, None),
    ("Alt", 18, None),
    ("Pause", 19, None),
    ("CapsLock", 20, None),
    ("Escape", 27, None),
    ("PageUp", 33, None),
    ("PageDown", 34, None),
    ("End", 35, None),
    ("Home", 36, None),
    ("ArrowLeft", 37, None),
    ("ArrowUp", 38, None),
    ("ArrowRight", 39, None),
    ("ArrowDown", 40, None),
    ("PrintScreen", 44, None),
    ("Insert", 45, None),
    ("Delete", 46, None),
    ("Meta", 91, None),
    ("ContextMenu", 93, None),
    ("F1", 112, None),
    ("F2", 113, None),
    ("F3", 114, None),
    ("F4", 115, None),
    ("F5", 116, None),
    ("F6", 117, None),
    ("F7", 118, None),
    ("F8", 119, None),
    ("F9", 120, None),
    ("F10", 121, None),
    ("F11", 122, None),
    ("F12", 123, None),
    ("NumLock", 144, None),
    ("ScrollLock", 145, None),
    ("AltGraph", 225, None),
];

/// What is known of a key by its `key` value.
pub(super) fn key(name: &str) -> KeyDefinition {
    let named = NAMED.iter().find(|(known, ..)| *known == name);
    if let Some(&(_, number, writes)) = named {
        return KeyDefinition { number, writes };
    }
    let mut chars = name.chars();
    let number = match (chars.next(), chars.next()) {
        (Some(one), None) if one.is_ascii_alphanumeric() => one.to_ascii_uppercase().into(),
        (Some(' '), None) => 32,
        _ => 0,
    };
    KeyDefinition {
        number,
        writes: None,
    }
}

/// What a key writes: one character writes itself, unless Ctrl or Meta makes it a command.
pub(super) fn typed_text(name: &str, modifiers: u8) -> Option<&str> {
    const CTRL_AND_META: u8 = 2 | 4;
    if modifiers & CTRL_AND_META != 0 {
        return None;
    }
    let is_one = name.chars().count() == 1;
    key(name).writes.or(is_one.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_writes_itself_or_nothing() {
        for (name, modifiers, number, writes) in [
            ("a", 0, 65, Some("a")),
            ("A", 8, 65, Some("A")),
            ("a", 2, 65, None),
            ("7", 0, 55, Some("7")),
            (" ", 0, 32, Some(" ")),
            ("ß", 0, 0, Some("ß")),
            ("Enter", 0, 13, Some("\r")),
            ("Tab", 0, 9, None),
            ("F5", 0, 116, None),
            ("Dead", 0, 0, None),
        ] {
            assert_eq!(key(name).number, number, "{name}");
            assert_eq!(typed_text(name, modifiers), writes, "{name}");
        }
    }
}
