//! The parts of an address as text. No parser is used, so that every part stays as it was written.

use crate::platform::form_decode;
use crate::values::RETURN_PARAMETER;

/// Splits an address: the text before the query, the query without its `?`, the fragment without its `#`.
pub(super) fn split(address: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, fragment) = cut(address, b'#');
    let (before, query) = cut(rest, b'?');
    (before, query, fragment)
}

/// Splits a text at the first mark. Byte by byte, here and below: `str`'s search for a text adds 2.7 KB to a page's
/// module.
pub(super) fn cut(text: &str, mark: u8) -> (&str, Option<&str>) {
    match text.bytes().position(|byte| byte == mark) {
        Some(at) => (part(text, 0, at), Some(part(text, at + 1, text.len()))),
        None => (text, None),
    }
}

/// A part of a text between two marks, which are ASCII.
fn part(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// Joins the parts of an address. An empty query or fragment is left out together with its `?` or `#`.
pub(super) fn join(before: &str, query: &str, fragment: Option<&str>) -> String {
    let mut address = String::from(before);
    if !query.is_empty() {
        address += "?";
        address += query;
    }
    if let Some(fragment) = fragment {
        address += "#";
        address += fragment;
    }
    address
}

/// The pieces of a query, as they were written. A service that does not expect a query appends its own with a second
/// `?`. Such a `?` separates pieces too, if one of `names` follows it, or the nonce stands before it.
pub(crate) fn pieces<'a>(query: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, byte) in query.bytes().enumerate() {
        let before = || part(query, start, at);
        let after = || part(query, at + 1, query.len());
        if byte == b'&' || (byte == b'?' && (is_one_of(before(), &[RETURN_PARAMETER]) || is_one_of(after(), names))) {
            found.push(part(query, start, at));
            start = at + 1;
        }
    }
    found.push(part(query, start, query.len()));
    found
}

/// Splits a fragment at the first `?` or `&` that one of these names follows: the text before it, and the rest from the
/// name on.
///
/// The time is linear in the length: anyone may write an address, so the rest is not searched again at every `?`.
pub(super) fn second_query<'a>(fragment: &'a str, names: &[&str]) -> Option<(&'a str, &'a str)> {
    let after = |at| part(fragment, at + 1, fragment.len());
    let mut marks = fragment.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'?' | b'&'));
    let (at, _) = marks.find(|(at, _)| is_one_of(after(*at), names))?;
    Some((part(fragment, 0, at), after(at)))
}

/// Whether a piece, or a text that begins with one, has one of these names: it is the name alone, or the name and a
/// `=`.
pub(super) fn is_one_of(text: &str, names: &[&str]) -> bool {
    let follows = |name| text.strip_prefix(name).map(|rest| rest.is_empty() || rest.starts_with('='));
    names.iter().any(|name| follows(*name) == Some(true))
}

/// The value of the last piece with this name: a service appends its own parameters at the end.
pub(crate) fn value(pieces: &[&str], name: &str) -> Option<String> {
    let value = pieces.iter().rev().find_map(|piece| piece.strip_prefix(name)?.strip_prefix('='))?;
    Some(form_decode(value)).filter(|value| !value.is_empty())
}

/// The query without the pieces of these names, up to the one of the name `last`.
pub(super) fn without(pieces: &[&str], names: &[&str], last: &str) -> String {
    let mut query = String::new();
    let own = pieces.iter().take_while(|piece| !is_one_of(piece, &[last]));
    for piece in own.filter(|piece| !piece.is_empty() && !is_one_of(piece, names)) {
        if !query.is_empty() {
            query += "&";
        }
        query += piece;
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_decoded_and_a_broken_escape_stays() {
        assert_eq!(form_decode("ORDER%2F17+caf%C3%A9"), "ORDER/17 café");
        assert_eq!(form_decode("100%"), "100%");
        assert_eq!(form_decode("%zz%4"), "%zz%4");
        assert_eq!(form_decode("%ff"), "");
    }

    #[test]
    fn a_question_mark_inside_a_value_is_a_value() {
        assert_eq!(pieces("q=what?ever&a=1", &["status"]), ["q=what?ever", "a=1"]);
        assert_eq!(pieces("q=what?status=ok", &["status"]), ["q=what", "status=ok"]);
    }
}
