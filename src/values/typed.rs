//! Numbers as people type and paste them: digits of any script, with what separates them and what nobody sees. The one
//! rule for the package, the hosted page and its forms; `tests/typed.json` has its cases. JSON is written by programs:
//! the values of this module's neighbours take no other form than their own.
//!
//! The tables are our own: those of a library are larger than all that a page may load for this. A test compares them
//! with a library's.

use super::Invalid;

/// Turns the digits of any script into `0` to `9` and removes what separates them: white space, dashes, points,
/// slashes, parentheses and characters that nobody sees. Others stay, so that the text is refused where a number is
/// expected.
///
/// ```
/// use guichet::values::normalize_digits;
/// assert_eq!(normalize_digits("4242\u{a0}4242\u{2011}٤٢٤٢"), "424242424242");
/// ```
#[must_use]
pub fn normalize_digits(text: &str) -> String {
    without_parentheses(&plain(text))
}

/// Reads the year in which a card expires: `34` is 2034.
///
/// ```
/// use guichet::values::normalize_year;
/// assert_eq!(normalize_year("34"), "2034");
/// ```
#[must_use]
pub fn normalize_year(text: &str) -> String {
    let year = normalize_digits(text);
    if year.len() == 2 { ["20", &year].concat() } else { year }
}

/// Reads the one-time code that a customer received: 4 to 10 digits, or letters and digits that nothing separates,
/// because the interface does not say what a code is made of.
///
/// ```
/// use guichet::values::normalize_code;
/// assert_eq!(normalize_code("123-456").as_deref(), Ok("123456"));
/// assert!(normalize_code("Code 123456").is_err());
/// ```
///
/// # Errors
/// [`Invalid`] if the text cannot be a code. Sent, it would end the customer's attempt.
pub fn normalize_code(text: &str) -> Result<String, Invalid> {
    let code = normalize_digits(text);
    let is_whole = text.trim_matches(|c| is_separator(in_ascii(c)) || is_parenthesis(in_ascii(c))) == code;
    let is_of_code = |byte: u8| byte.is_ascii_digit() || is_whole && byte.is_ascii_alphabetic();
    if (4..=10).contains(&code.len()) && code.bytes().all(is_of_code) {
        Ok(code)
    } else {
        Err(Invalid::because("Enter the code alone: 4 to 10 digits or letters."))
    }
}

/// Turns a typed phone number into the service's format: `+237 (0) 670 00 00 00` becomes `237670000000`, and so does
/// `670 00 00 00` with the country `CM`. The country's prefix is added only to a number in the national format of its
/// mobile numbers. A prefix that is typed twice is read once, or the result is empty if the country's numbers are not
/// known. Characters that are not part of a phone number stay, so that the number is refused.
///
/// ```
/// use guichet::values::normalize_phone;
/// assert_eq!(normalize_phone("+237 237 6 70 00 00 00", None), "237670000000");
/// assert_eq!(normalize_phone("6 70 00 00 00", Some("CM")), "237670000000");
/// ```
#[must_use]
pub fn normalize_phone(text: &str, country: Option<&str>) -> String {
    let typed = plain(text);
    let digits = without_parentheses(&typed);
    let own = MOBILES.iter().find(|(known, ..)| Some(*known) == country);
    if let Some(number) = own.and_then(|mobiles| mobile(mobiles, &digits)) {
        return number;
    }
    let number = international(&digits);
    for mobiles @ (_, prefix, length, _) in &MOBILES {
        if let Some(mut national) = number.strip_prefix(prefix) {
            while national.len() > *length
                && let Some(again) = after_zeros(national).strip_prefix(prefix)
            {
                national = again;
            }
            return mobile(mobiles, national).unwrap_or_else(|| [prefix, national].concat());
        }
    }
    // The 0 that is not dialled after a prefix: +44 (0) 7911 123456.
    let zero = typed.as_bytes().windows(3).position(|three| three == b"(0)");
    let number = match zero.and_then(|at| Some((typed.get(..at)?, typed.get(at + 3..)?))) {
        Some((prefix, rest)) if !prefix.is_empty() => without_parentheses(&[prefix, rest].concat()),
        _ => digits,
    };
    let number = international(&number);
    // No mobile number is longer than 13 digits and begins with its prefix twice. +55 55, of 13, is Brazil's area 55.
    let is_twice = |(prefix, rest): (&str, &str)| after_zeros(rest).starts_with(prefix);
    let is_twice = [2, 3].into_iter().filter_map(|length| number.split_at_checked(length)).any(is_twice);
    if number.len() > 13 && is_twice { String::new() } else { number.to_owned() }
}

/// The number after `+` or `00`. What stands before a `+` is dropped if the number begins with it: `237+237670000000`.
fn international(typed: &str) -> &str {
    let number = after_zeros(typed.strip_prefix('+').unwrap_or(typed));
    match number.split_once('+') {
        Some((before, after)) if after.starts_with(before) => after,
        _ => number,
    }
}

fn after_zeros(number: &str) -> &str {
    number.strip_prefix("00").unwrap_or(number)
}

/// The whole number, if this is a mobile number in the national format of the country, with or without a trunk 0.
fn mobile((_, prefix, length, begins): &Mobiles, typed: &str) -> Option<String> {
    let number = if typed.len() > *length { typed.strip_prefix('0')? } else { typed };
    let is_national = number.len() == *length && begins.as_bytes().contains(number.as_bytes().first()?);
    is_national.then(|| [prefix, number].concat())
}

/// A country, its prefix, the number of digits of its mobile numbers without a trunk 0, and their possible first
/// digits.
type Mobiles = (&'static str, &'static str, usize, &'static str);

/// The national format of mobile numbers by country. From libphonenumber's metadata (November 2026), without Cameroon's
/// numbers that begin with 24, which have no mobile money, and without Gabon's numbers from before 2019.
const MOBILES: [Mobiles; 13] = [
    ("BF", "226", 8, "04567"),
    ("BJ", "229", 10, "0"),
    ("CG", "242", 9, "0"),
    ("CI", "225", 10, "0"),
    ("CM", "237", 9, "6"),
    ("GA", "241", 8, "67"),
    ("GH", "233", 9, "25"),
    ("KE", "254", 9, "17"),
    ("RW", "250", 9, "7"),
    ("SN", "221", 9, "7"),
    ("TD", "235", 8, "36789"),
    ("TG", "228", 8, "79"),
    ("UG", "256", 9, "7"),
];

/// The text with digits and fullwidth characters as in ASCII, and without separators. Parentheses stay.
fn plain(text: &str) -> String {
    text.chars().map(in_ascii).filter(|c| !is_separator(*c)).collect()
}

fn without_parentheses(text: &str) -> String {
    text.chars().filter(|c| !is_parenthesis(*c)).collect()
}

fn is_parenthesis(c: char) -> bool {
    matches!(c, '(' | ')')
}

/// A digit of any script, or a fullwidth character, in ASCII.
fn in_ascii(c: char) -> char {
    let code = u32::from(c);
    let (zeros, code) = if code < 0x1_0000 { (&ZEROS[..], code) } else { (&ZEROS_ABOVE[..], code - 0x1_0000) };
    let digit = zeros.iter().find_map(|zero| code.checked_sub((*zero).into()).filter(|digit| *digit < 10));
    match digit.and_then(|digit| char::from_digit(digit, 10)) {
        Some(digit) => digit,
        None if ('\u{ff01}'..='\u{ff5e}').contains(&c) => char::from((code - 0xfee0) as u8),
        None => c,
    }
}

fn is_separator(c: char) -> bool {
    let code = u32::from(c);
    let is_listed = |[first, last]: &[u32; 2]| (*first..=*last).contains(&code);
    c.is_whitespace() || matches!(c, '.' | '/') || SEPARATORS.as_chunks().0.iter().any(is_listed)
}

/// The first and the last of each row of Unicode's dashes (category Pd), minus signs, and format characters (Cf) that
/// nobody sees: marks of a direction, zero-width spaces, soft hyphens, the byte order mark.
const SEPARATORS: [u32; 66] = [
    0x2d, 0x2d, 0xad, 0xad, 0x58a, 0x58a, 0x5be, 0x5be, 0x61c, 0x61c, 0x1400, 0x1400, 0x1806, 0x1806, 0x180e, 0x180e,
    0x200b, 0x200f, 0x2010, 0x2015, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x206f, 0x207b, 0x207b, 0x208b, 0x208b,
    0x2212, 0x2212, 0x2796, 0x2796, 0x2e17, 0x2e17, 0x2e1a, 0x2e1a, 0x2e3a, 0x2e3b, 0x2e40, 0x2e40, 0x2e5d, 0x2e5d,
    0x301c, 0x301c, 0x3030, 0x3030, 0x30a0, 0x30a0, 0xfe31, 0xfe32, 0xfe58, 0xfe58, 0xfe63, 0xfe63, 0xfeff, 0xfeff,
    0x10d6e, 0x10d6e, 0x10ead, 0x10ead, 0xe0001, 0xe0001, 0xe0020, 0xe007f,
];

/// The zero of each script whose digits Unicode has below U+10000, but for fullwidth digits: decimal digits stand in
/// rows of ten.
const ZEROS: [u16; 35] = [
    0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0de6, 0x0e50,
    0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
];

/// The same from U+10000, less that: of mathematical letters, which people paste, and of Adlam. The other scripts there
/// are in no use on phones.
const ZEROS_ABOVE: [u16; 6] = [0xd7ce, 0xd7d8, 0xd7e2, 0xd7ec, 0xd7f6, 0xe950];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Phone;
    use serde_json::Value;
    use unicode_properties::{GeneralCategory as Category, UnicodeGeneralCategory};

    #[test]
    fn what_people_type_and_paste_is_read_as_meant_or_refused() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/typed.json")).unwrap();
        for case in cases["phones"].as_array().unwrap() {
            let typed = case["typed"].as_str().unwrap();
            // A case that names no country holds without one and in Cameroon.
            let country = case.get("country").map_or(vec![None, Some("CM")], |country| vec![country.as_str()]);
            for country in country {
                let phone = Phone::new(normalize_phone(typed, country)).ok();
                assert_eq!(phone.as_ref().map(Phone::as_str), case["phone"].as_str(), "{country:?} {typed:?}");
            }
        }
        for case in cases["codes"].as_array().unwrap() {
            let typed = case["typed"].as_str().unwrap();
            assert_eq!(normalize_code(typed).ok().as_deref(), case["otp"].as_str(), "{typed:?}");
        }
    }

    /// Format characters that are seen, or that no number is pasted with: of Arabic, Syriac, hieroglyphs, shorthand and
    /// music.
    const SIGNS: [std::ops::RangeInclusive<char>; 6] = [
        '\u{600}'..='\u{605}',
        '\u{6dd}'..='\u{8e2}',
        '\u{fff9}'..='\u{fffb}',
        '\u{110bd}'..='\u{13440}',
        '\u{1bca0}'..='\u{1bca3}',
        '\u{1d173}'..='\u{1d17a}',
    ];

    #[test]
    fn every_digit_dash_and_format_character_of_unicode_is_known() {
        let mut ten = 0;
        // The planes between have no such character.
        for c in (0..0x2_0000).chain(0xe_0000..0xe_1000).filter_map(char::from_u32) {
            let read = normalize_digits(&c.to_string());
            match c.general_category() {
                Category::DecimalNumber => {
                    let is_read = c < '\u{10000}' || matches!(c, '\u{1d7ce}'..='\u{1d7ff}' | '\u{1e950}'..='\u{1e959}');
                    assert_eq!(read, if is_read { (ten % 10).to_string() } else { c.to_string() }, "{c:?}");
                    ten += 1;
                }
                Category::DashPunctuation | Category::SpaceSeparator => assert_eq!(read, "", "{c:?}"),
                Category::Format => {
                    assert_eq!(read.is_empty(), !SIGNS.iter().any(|signs| signs.contains(&c)), "{c:?}");
                }
                _ => assert!(read.is_empty() || read.parse::<u8>().is_err(), "{c:?} is no digit"),
            }
        }
    }
}
