//! Page cursors: where the next page begins, bound to the list and filters it belongs to.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Makes the cursor behind the item `last` of a list with these filters.
pub(crate) fn write(last: &[u8; 16], list: impl Hash) -> String {
    let mut text = String::with_capacity(48);
    for byte in last.iter().chain(&seal(last, list)) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Reads a cursor back; `None` when it belongs to another list or filter, or is none of ours.
pub(crate) fn read(text: &str, list: impl Hash) -> Option<[u8; 16]> {
    if text.len() != 48 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 24];
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    let (last, sealed) = bytes.split_first_chunk::<16>()?;
    (sealed == seal(last, list)).then_some(*last)
}

/// Makes the cursor behind an item of a list that is ordered by a number.
pub(crate) fn write_place(last: u64, list: impl Hash) -> String {
    write(&u128::from(last).to_be_bytes(), list)
}

/// Reads such a cursor back; `None` as for [`read`].
pub(crate) fn read_place(text: &str, list: impl Hash) -> Option<u64> {
    u64::try_from(u128::from_be_bytes(read(text, list)?)).ok()
}

/// Ties a position to its list; it guards against mix-ups, not against malice: whatever a
/// cursor says, a page holds only what the caller may see.
fn seal(last: &[u8; 16], list: impl Hash) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    last.hash(&mut hasher);
    list.hash(&mut hasher);
    hasher.finish().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list_and_filters() {
        let cursor = write(&[7; 16], ("authors", Some("a")));
        assert_eq!(read(&cursor, ("authors", Some("a"))), Some([7; 16]));
        assert_eq!(read(&cursor, ("authors", Some("b"))), None);
        assert_eq!(
            read(&cursor.replace("07", "08"), ("authors", Some("a"))),
            None
        );
        for wrong in ["", "x", "é".repeat(24).as_str(), "0".repeat(48).as_str()] {
            assert_eq!(read(wrong, ("authors", Some("a"))), None, "{wrong}");
        }
    }
}
