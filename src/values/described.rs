//! How the values describe themselves: as the sandbox takes and writes them.

/// Describes a value where it is used, without a name of its own.
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

/// The schema of a text: a string, of which something is said, or only that it is there.
pub(crate) fn text_schema<const N: usize>(said: [schemars::Schema; N]) -> schemars::Schema {
    let mut schema = said.into_iter().next().unwrap_or_else(|| schemars::json_schema!({ "minLength": 1 }));
    schema.insert("type".into(), "string".into());
    schema
}

/// A text that holds something beside white space, as `str::trim` knows it. The classes of the dialects of patterns hold
/// different characters, so that these are written out.
pub(crate) const NOT_BLANK: &str =
    r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
