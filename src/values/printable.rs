use std::fmt::{self, Write};

/// Escapes a text from an untrusted source for a log or a terminal. Characters that would begin a line, control a
/// terminal or change the reading order are escaped (`\n`, `\u{1b}`, `\u{202e}`), so the text stays on one line.
///
/// guichet prints every text of a reply through it. Print what you take from a reply in the same way:
///
/// ```
/// use guichet::values::printable;
/// let description = "Shoes\n2026-11-21 INFO order ORDER-18 is paid \u{1b}[2J";
/// assert_eq!(
///     printable(description).to_string(),
///     r"Shoes\n2026-11-21 INFO order ORDER-18 is paid \u{1b}[2J"
/// );
/// ```
pub fn printable<T: fmt::Display>(text: T) -> Printable<T> {
    Printable(text)
}

/// A text that prints in one line: [`printable`].
///
/// ```
/// let printable: guichet::values::Printable<&str> = guichet::values::printable("two\nlines");
/// assert_eq!(printable.to_string(), r"two\nlines");
/// ```
#[derive(Clone, Copy)]
pub struct Printable<T>(T);

impl<T: fmt::Display> fmt::Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// Prints the same as `Display`, so that it can be logged either way.
impl<T: fmt::Display> fmt::Debug for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, mut text: &str) -> fmt::Result {
        while let Some((at, c)) = text.char_indices().find(|(_, c)| !is_plain(*c)) {
            let (plain, rest) = text.split_at(at);
            self.0.write_str(plain)?;
            match c {
                '\n' | '\r' | '\t' => write!(self.0, "{}", c.escape_default())?,
                _ => write!(self.0, "{}", c.escape_unicode())?,
            }
            text = rest.get(c.len_utf8()..).unwrap_or_default();
        }
        self.0.write_str(text)
    }
}

/// Whether a character shows as itself: it is no control character, no line or paragraph separator, and no invisible
/// character that turns, hides or marks its neighbours. (The two joiners are plain: scripts and emoji need them.)
#[must_use]
pub fn is_plain(c: char) -> bool {
    match c {
        '\u{61c}'
        | '\u{ad}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => false,
        _ => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_control_a_terminal_or_reorder_a_line_are_escaped() {
        for (text, printed) in [
            ("", ""),
            ("Une paire de souliers, 45 000 XAF: été 👩‍👩‍👧", "Une paire de souliers, 45 000 XAF: été 👩‍👩‍👧"),
            ("a\nb\r\n\tc", r"a\nb\r\n\tc"),
            ("\u{1b}[2J\u{7}\0", r"\u{1b}[2J\u{7}\u{0}"),
            ("\u{7f}\u{85}\u{9b}31m", r"\u{7f}\u{85}\u{9b}31m"),
            ("\u{202e}dlos\u{2066}\u{2069}\u{200f}\u{61c}", r"\u{202e}dlos\u{2066}\u{2069}\u{200f}\u{61c}"),
            ("\u{2028}\u{2029}\u{feff}\u{e0041}", r"\u{2028}\u{2029}\u{feff}\u{e0041}"),
        ] {
            assert_eq!(printable(text).to_string(), printed);
            assert_eq!(format!("{:?}", printable(text)), printed);
            assert_eq!(printable(printed).to_string(), printed, "again, it stays as it is");
        }
    }
}
