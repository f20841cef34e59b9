//! Refuses JSON that a parser would change: a key that appears twice in an object, or a number that is not exact.
//! Otherwise two different bodies could be treated as equal (`decisions.md` 2).
//!
//! And refuses texts with the character U+0000, which PostgreSQL does not store.

use guichet::protocol::{ErrorCode, FieldError, GREATEST_INTEGER};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// The most errors of this kind in one response.
const MAX_ERRORS: usize = 16;
/// The most characters of a field's path in a response.
const LONGEST_PATH: usize = 128;

/// The errors of a JSON text that a parser would change or that cannot be stored, at most 16. Empty for a text that is
/// not JSON, which the parser refuses.
#[must_use]
pub fn json_errors(text: &str) -> Vec<FieldError> {
    let mut faults = Vec::new();
    if let Ok(value) = serde_json::from_str(text) {
        check_value(value, "", &mut faults);
    }
    faults
}

fn check_value(value: &RawValue, path: &str, faults: &mut Vec<FieldError>) {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let Ok(Members(members)) = serde_json::from_str(text) else { return };
            let mut known = HashSet::new();
            for (key, value) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if key.contains('\0') {
                    add_fault(&path, "is a name with the character U+0000. Remove it.", faults);
                }
                if !known.insert(key) {
                    add_fault(&path, "is given twice in one object. Give each name once.", faults);
                }
                check_value(value, &path, faults);
            }
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            for (index, value) in values.into_iter().enumerate() {
                check_value(value, &format!("{path}[{index}]"), faults);
            }
        }
        // Decoded only if it may contain the character: it is always escaped in JSON.
        Some(b'"')
            if text.contains("\\u0000")
                && serde_json::from_str::<String>(text).is_ok_and(|text| text.contains('\0')) =>
        {
            add_fault(path, "contains the character U+0000. Remove it.", faults);
        }
        Some(b'-' | b'0'..=b'9') if !is_exact(text) => {
            add_fault(path, "is a number that JSON parsers round. Send it as a string.", faults);
        }
        _ => {}
    }
}

fn add_fault(path: &str, what: &str, faults: &mut Vec<FieldError>) {
    if faults.len() < MAX_ERRORS {
        let param: String = path.replace('\0', "\\u0000").chars().take(LONGEST_PATH).collect();
        let message = format!("{param} {what}");
        faults.push(FieldError::of(&param, &ErrorCode::ParameterInvalid, message));
    }
}

/// Whether a JSON number keeps its value as a double, which JavaScript and many parsers use.
fn is_exact(text: &str) -> bool {
    if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) {
        return text.trim_start_matches('-').parse::<u64>().is_ok_and(|number| number <= GREATEST_INTEGER);
    }
    let Ok(number) = text.parse::<f64>() else { return false };
    number.is_finite() && decimal(text).is_some_and(|written| decimal(&format!("{number:e}")) == Some(written))
}

/// The absolute value of a JSON number in a unique form: its significant digits and the power of ten to multiply them
/// by.
fn decimal(text: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) =
        text.trim_start_matches('-').split_once(['e', 'E']).unwrap_or((text.trim_start_matches('-'), "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - digits.len()).ok()?;
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some((String::new(), 0));
    }
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    Some((significant.to_owned(), exponent.checked_add(zeros)?))
}

/// The members of an object in their order, repeated keys included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_accepted_if_its_value_is_exact() {
        let kept =
            ["0", "-0", "1", "-17", "9007199254740992", "0.1", "1.50", "-2.5e-7", "1e2", "100.0", "1e22", "0e999"];
        for number in kept {
            assert!(is_exact(number), "{number}");
        }
        let changed = [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551616",
            "9007199254740993.0",
            "0.1000000000000000055511151231257827",
            "1e400",
            "1e-400",
            "1e99999999999999999999",
        ];
        for number in changed {
            assert!(!is_exact(number), "{number}");
        }
    }

    #[test]
    fn each_error_names_its_path() {
        let named = |text: &str| -> Vec<String> { json_errors(text).into_iter().map(|fault| fault.param).collect() };
        assert_eq!(named(r#"{"a":1,"b":{"a":2}}"#), [""; 0]);
        assert_eq!(named(r#"{"a":1,"\u0061":1}"#), ["a"], "an escaped key is the same key");
        assert_eq!(named(r#"{"m":{"x":[{"y":1},{"y":1,"y":1}]}}"#), ["m.x[1].y"]);
        assert_eq!(named(r#"{"m":[1,9007199254740993],"n":1e999}"#), ["m[1]", "n"]);
        assert_eq!(named(r#"{"a":"9007199254740993"}"#), [""; 0], "a string is exact");
        assert_eq!(named(r#"{"a":1,"a":"#), [""; 0], "a text that is not JSON is refused elsewhere");
        assert_eq!(named(r#"{"a":"\u0000","b":["x\u0000"],"c":{"\u0000":1}}"#), ["a", "b[0]", r"c.\u0000"]);
        assert_eq!(named(r#"{"a":"\\u0000"}"#), [""; 0], "a backslash and five characters");
        let many = format!("{{{}}}", vec![format!(r#""{}":1"#, "k".repeat(1_000)); 60].join(","));
        let faults = json_errors(&many);
        assert_eq!((faults.len(), faults[0].param.len()), (MAX_ERRORS, LONGEST_PATH));
    }

    proptest! {
        #[test]
        fn every_double_is_accepted_as_it_is_written(number in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL) {
            let written = format!("{number:e}");
            prop_assert!(is_exact(&written), "{}", written);
        }

        #[test]
        fn two_accepted_integers_are_two_doubles(one in 0..=GREATEST_INTEGER, other in 0..=GREATEST_INTEGER) {
            prop_assert_eq!(one == other, (one as f64).to_bits() == (other as f64).to_bits());
        }
    }
}
