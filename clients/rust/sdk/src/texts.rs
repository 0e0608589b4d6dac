//! Keeps what is told to people short.

/// How long a text of ours may be, in bytes.
const MAX_BYTES: usize = 2 << 10;

/// Cuts a text to 2 KiB between two characters.
pub(crate) fn bounded(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let end = (0..=MAX_BYTES).rev().find(|i| text.is_char_boundary(*i));
        text.truncate(end.unwrap_or(0));
    }
    text
}

/// Shows the beginning of a text in a message: 40 characters of it.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(bounded(format!("x{}", "é".repeat(2000))), format!("x{}", "é".repeat(1023)));
        assert_eq!(bounded("é".repeat(1024)), "é".repeat(1024));
        assert_eq!(excerpt(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
        assert_eq!(excerpt(&"é".repeat(40)), "é".repeat(40));
    }
}
