//! Reading an address by the URL Standard, with the `url` library.

use crate::values::Parts;

/// What the parser says of an address; `None` when it is none.
pub(crate) fn read_address(text: &str) -> Option<Parts> {
    let url = url::Url::parse(text).ok()?;
    Some(Parts {
        protocol: format!("{}:", url.scheme()),
        hostname: url.host_str()?.to_owned(),
        origin: url.origin().ascii_serialization(),
        has_userinfo: !url.username().is_empty() || url.password().is_some(),
    })
}

/// The origin that a text is, as browsers write it: a slash at its end and capitals in its host are mended. `None` for what
/// is more or less than an origin.
#[cfg(feature = "native")]
pub(crate) fn read_origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_bare && is_anonymous && is_http).then(|| url.origin().ascii_serialization())
}
