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

fn letters(name: &str) -> Vec<u8> {
    // A name of more than 64 letters is near to no known one, so its end does not matter.
    name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_recognized() {
        let known = ["amount", "currency", "fee_bearer", "checkoutOrigins", "baseUrl", "id"];
        for (typed, meant) in [
            ("feeBearer", Some("fee_bearer")),
            ("FEE_BEARER", Some("fee_bearer")),
            ("ammount", Some("amount")),
            ("curency", Some("currency")),
            ("checkoutOrigin", Some("checkoutOrigins")),
            ("baseURL", Some("baseUrl")),
            ("ID", Some("id")),
            ("no", None),
            ("", None),
            ("order", None),
        ] {
            assert_eq!(nearest(typed, known.into_iter()), meant, "{typed}");
        }
    }
}
