//! Parts of the JSON schemas of the values.

/// The schema of a string: with the given restriction, or else not empty.
#[must_use]
pub fn text_schema<const N: usize>(restriction: [schemars::Schema; N]) -> schemars::Schema {
    let mut schema = restriction.into_iter().next().unwrap_or_else(|| schemars::json_schema!({ "minLength": 1 }));
    schema.insert("type".into(), "string".into());
    schema
}

/// A pattern for a text that is not only white space, as `str::trim` defines it. The characters are listed because the
/// character classes of pattern dialects differ.
pub const NOT_BLANK: &str = r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

pub(super) fn pattern_of_an_email() -> String {
    // White space and control characters, listed one by one: the character classes of pattern dialects differ.
    let not = r"@\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
    let label = format!(r"[^{not}.\-]([^{not}.]*[^{not}.\-])?");
    format!(r"^[^{not}]+@{label}(\.{label})+$")
}
