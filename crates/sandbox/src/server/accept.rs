//! Reads what a client accepts: `Accept`, `Accept-Encoding`, `Accept-Language`.

use axum::http::{HeaderMap, HeaderName};

/// The items of a header and their weights, in the order in which they were sent.
pub(crate) fn items<'a>(request: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = (&'a str, f32)> {
    let values = request.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(parse_weight)
}

/// Parses `br;q=0.5` into a name and its weight.
fn parse_weight(item: &str) -> (&str, f32) {
    let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
    let weight = parameters.trim().strip_prefix("q=").map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
    (name.trim(), weight)
}
