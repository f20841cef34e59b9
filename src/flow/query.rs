//! The parts of an address as text. No parser is used, so that every part stays as it was written.

use crate::platform::form_decode;

/// Splits an address: the text before the query, the query without its `?`, the fragment without its `#`.
pub(super) fn split(address: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, fragment) = match address.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (address, None),
    };
    match rest.split_once('?') {
        Some((before, query)) => (before, Some(query), fragment),
        None => (rest, None, fragment),
    }
}

/// Joins the parts of an address. An empty query or fragment is left out together with its `?` or `#`.
pub(super) fn join(before: &str, query: &str, fragment: Option<&str>) -> String {
    let mut address = String::from(before);
    if !query.is_empty() {
        address.push('?');
        address.push_str(query);
    }
    if let Some(fragment) = fragment {
        address.push('#');
        address.push_str(fragment);
    }
    address
}

/// The pieces of a query, as they were written. A service that does not expect a query appends its own with a second
/// `?`. Such a `?` separates pieces too, if one of `names` follows it.
pub(super) fn pieces<'a>(query: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for mut piece in query.split('&') {
        while let Some((before, after)) = second_query(piece, names) {
            found.push(before);
            piece = after;
        }
        found.push(piece);
    }
    found
}

/// Splits a piece at the first `?` or `&` that one of these names follows: the text before it, and the rest from the
/// name on.
///
/// The time is linear in the length of `piece`: anyone may write an address, so the rest is not searched again at every
/// `?`.
pub(super) fn second_query<'a>(piece: &'a str, names: &[&str]) -> Option<(&'a str, &'a str)> {
    piece.match_indices(['?', '&']).find_map(|(at, mark)| {
        let (before, after) = (piece.get(..at)?, piece.get(at + mark.len()..)?);
        names.iter().any(|name| is_named(after, name)).then_some((before, after))
    })
}

/// Whether the text is this name alone, or this name and a `=`.
fn is_named(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The name of a piece.
pub(super) fn name(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

/// The value of the last piece with this name: a service appends its own parameters at the end.
pub(super) fn value(pieces: &[&str], wanted: &str) -> Option<String> {
    let piece = pieces.iter().rev().find(|piece| name(piece) == wanted)?;
    let (_, value) = piece.split_once('=')?;
    Some(form_decode(value)).filter(|value| !value.is_empty())
}

/// The query without the pieces of these names.
pub(super) fn without(pieces: &[&str], names: &[&str]) -> String {
    let kept = |piece: &&str| !piece.is_empty() && !names.contains(&name(piece));
    pieces.iter().copied().filter(kept).collect::<Vec<_>>().join("&")
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
