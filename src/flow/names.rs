//! Finds the name that a mistyped one was meant to be.

use strsim::generic_levenshtein;

/// The name of `known` that is nearest to a mistyped one; `None` if none is near.
///
/// Case and underscores are ignored: `feeBearer` is meant to be `fee_bearer`. Otherwise one letter in three may differ.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = letters(name);
    let distance = |name: &str| generic_levenshtein(&typed, &letters(name));
    known
        .map(|name| (distance(name), name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()
        .map(|near| near.1)
}

fn letters(name: &str) -> Vec<char> {
    // A name of more than 64 letters is near to no known one, so its end does not matter.
    name.chars().filter(|letter| *letter != '_').map(|letter| letter.to_ascii_lowercase()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// `explain.js` passes the same: `tests/rules/run.mjs`.
    #[test]
    fn a_mistyped_name_is_recognized() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/rules/names.json")).expect("JSON");
        for case in cases["cases"].as_array().expect("cases") {
            let known = case["known"].as_array().expect("names").iter().filter_map(Value::as_str);
            assert_eq!(nearest(case["typed"].as_str().expect("a name"), known), case["meant"].as_str(), "{case}");
        }
    }
}
