//! The JSON schemas of the values, in the form that the sandbox reads and writes.

/// Implements the schema of a value inline, without a schema name of its own.
macro_rules! described {
    ($name:ident: $schema:expr) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use described;

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
