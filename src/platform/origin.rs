/// Reads an origin and writes it as browsers do: without a slash at its end, and with its host in lower case. `None` if
/// the text is no origin, or a pattern of several.
#[must_use]
pub fn read_origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let is_one = !url.host_str()?.contains('*');
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_one && is_bare && is_anonymous && is_http).then(|| url.origin().ascii_serialization())
}
