//! Reads a reply's envelope from its bytes. The browser reads the same fields from its own JSON objects.

use super::{AttemptResult, FieldError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// Reads the output of a reply: `data` if it is present, else the root (the document shows replies of both kinds).
///
/// # Errors
/// If the bytes are not JSON or do not have the shape of `T`.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    match data(body) {
        Some(data) => serde_json::from_str(data),
        None => serde_json::from_slice(without_mark(body)),
    }
}

/// Whether what [`decode`] reads is a list.
#[cfg(feature = "shop")]
pub(crate) fn is_list(body: &[u8]) -> bool {
    data(body).map_or(without_mark(body), str::as_bytes).trim_ascii_start().starts_with(b"[")
}

/// The text that [`decode`] reads.
#[cfg(feature = "shop")]
pub(crate) fn data_text(body: &str) -> &str {
    data(body.as_bytes()).unwrap_or(body.trim_start_matches('\u{feff}'))
}

/// The bytes that [`decode`] reads.
#[cfg(feature = "native-no-provider")]
pub(crate) fn payload(body: &[u8]) -> &[u8] {
    data(body).map_or(body, str::as_bytes)
}

/// The members of a reply that say what it is, as they are written.
#[derive(Deserialize)]
struct Open<'a> {
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status_code: Option<&'a RawValue>,
}

impl<'a> Open<'a> {
    fn read(body: &'a [u8]) -> Option<Self> {
        let body = without_mark(body);
        // A bare array has no members. Without this check, serde would read the array as the struct, with its first
        // entry as `data`.
        let is_object = body.trim_ascii_start().starts_with(b"{");
        if is_object { serde_json::from_slice(body).ok() } else { None }
    }
}

/// The text of `data`, if it is present.
fn data(body: &[u8]) -> Option<&str> {
    Open::read(body)?.data.map(RawValue::get)
}

/// The status of a reply. Some services answer every request with 200 and say in the body that it failed.
///
/// ```
/// use guichet::protocol::ReplyStatus;
/// let busy = ReplyStatus::read(200, br#"{"status_code": 429, "response_type": "error", "message": "Too many requests."}"#);
/// assert_eq!((busy.counts_as, busy.of_attempt), (429, 429));
/// // One that names no status counts as 400.
/// let refused = ReplyStatus::read(200, br#"{"success": false}"#);
/// assert_eq!((refused.counts_as, refused.of_attempt), (400, 200));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReplyStatus {
    /// What the reply counts as: its HTTP status, or that of the refusal which its body is.
    pub counts_as: u16,
    /// What it says of the request: nothing was refused for its data by a refusal that names no status.
    pub of_attempt: u16,
}

impl ReplyStatus {
    /// A body is a refusal by `response_type: "error"`, `success: false` or a `status_code` of 400 and more.
    #[must_use]
    pub fn read(http: u16, body: &[u8]) -> Self {
        let Some(open) = Open::read(body) else { return Self::stated(http, 0, false) };
        let is = |member: Option<&RawValue>, text| member.is_some_and(|member| member.get() == text);
        let is_error = is(open.response_type, "\"error\"") || is(open.success, "false");
        let code = open.status_code.and_then(|code| code.get().parse().ok());
        Self::stated(http, code.unwrap_or_default(), is_error)
    }

    /// The status of a reply whose body has this `status_code`, or 0, and says that it is an error, or does not.
    pub(crate) fn stated(http: u16, code: u16, is_error: bool) -> Self {
        match code {
            _ if !(200..300).contains(&http) => Self { counts_as: http, of_attempt: http },
            400..600 => Self { counts_as: code, of_attempt: code },
            _ if is_error || code >= 600 => Self { counts_as: 400, of_attempt: http },
            _ => Self { counts_as: http, of_attempt: http },
        }
    }
}

/// One page of a list: its entries, and where the next page begins.
///
/// ```
/// use guichet::protocol::decode_page;
/// let reply = br#"{"data": ["a", "b"], "pagination": {"has_more": true, "next_cursor": "b"}}"#;
/// let page = decode_page::<String>(reply)?;
/// assert_eq!(page.entries.len(), 2);
/// // The next page is requested with `starting_after`.
/// assert_eq!(page.next.as_deref(), Some("b"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// The cursor after which the next page starts; `None` on the last page, and if the service sends a plain array.
    pub next: Option<String>,
    /// Whether the service says that there are more entries. `next` is `None` all the same if it sends no cursor.
    pub has_more: bool,
}

/// Reads one page of a list: the array as [`decode`] finds it, and `pagination.next_cursor` beside it (a decision).
///
/// # Errors
/// If the bytes are not JSON, or contain no array of `T`.
pub fn decode_page<T: DeserializeOwned>(body: &[u8]) -> Result<Page<T>, serde_json::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Beside {
        #[serde(deserialize_with = "lenient")]
        pagination: Pagination,
        meta: Value,
        links: Value,
        total: Value,
        next_page_url: Value,
    }
    impl Beside {
        /// Whether it says in another form that these are not all entries.
        fn goes_on(&self, entries: usize) -> bool {
            let Self { meta, links, total, next_page_url, .. } = self;
            let is_longer = |total: &Value| total.as_u64() > u64::try_from(entries).ok();
            links["next"].is_string()
                || next_page_url.is_string()
                || meta["last_page"].as_u64() > meta["current_page"].as_u64()
                || [total, &meta["total"]].into_iter().any(is_longer)
        }
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Pagination {
        #[serde(deserialize_with = "lenient")]
        has_more: Option<bool>,
        #[serde(deserialize_with = "lenient")]
        next_cursor: Option<String>,
    }
    let entries: Vec<T> = decode(body)?;
    // A body that is the array itself has no `pagination`.
    let beside: Beside = serde_json::from_slice(without_mark(body)).unwrap_or_default();
    let has_more = beside.pagination.has_more.unwrap_or_else(|| beside.goes_on(entries.len()));
    let next = beside.pagination.next_cursor.filter(|cursor| !cursor.is_empty());
    let next = next.filter(|_| beside.pagination.has_more != Some(false));
    let has_more = has_more || next.is_some();
    Ok(Page { entries, next, has_more })
}

/// Reads a field that nothing depends on: `null` and a value of another shape count as absent. One unexpected field
/// (PHP writes an empty object as `[]`) must not make a good reply unreadable.
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(in_any_form(raw.get()).unwrap_or_default())
}

/// Reads a field that must not be guessed: a value of another shape makes the reply unreadable.
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
pub(crate) fn strict<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    in_any_form(raw.get()).ok_or_else(|| serde::de::Error::custom("it is of another type"))
}

/// Reads a value as it is, or, as frameworks write it, a number in a text and 0 and 1 for false and true.
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
fn in_any_form<T: DeserializeOwned>(raw: &str) -> Option<T> {
    let mut forms = std::iter::once(raw).chain(other_forms(raw));
    forms.find_map(|form| serde_json::from_str(form).ok())
}

/// The content of a text, and what 0 and 1 stand for.
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
fn other_forms(raw: &str) -> [&str; 2] {
    let content = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
    let truth = match content {
        "0" => "false",
        "1" => "true",
        _ => "",
    };
    [content, truth]
}

/// The same for JavaScript's own values.
#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub(crate) fn strict<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// The same for JavaScript's own values, which have no raw text.
#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Sent<T> {
        Read(T),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Sent::deserialize(deserializer)? {
        Sent::Read(read) => read,
        Sent::Other(_) => T::default(),
    })
}

/// Reads a list and keeps every entry: one that cannot be read becomes its default. Anything but a list becomes an
/// empty one.
pub(crate) fn lenient_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    #[derive(Deserialize)]
    #[serde(bound = "T: DeserializeOwned + Default")]
    struct Entry<T>(#[serde(deserialize_with = "lenient")] T);
    let entries: Vec<Entry<T>> = lenient(deserializer)?;
    Ok(entries.into_iter().map(|Entry(entry)| entry).collect())
}

/// Why a request was refused, as far as the reply says it.
///
/// ```
/// use guichet::protocol::Refusal;
/// let refusal = Refusal::read(br#"{"message": "Taken.", "error": {"code": "plan_code_taken", "retryable": false}}"#);
/// assert_eq!((refusal.code.as_deref(), refusal.retryable), (Some("plan_code_taken"), Some(false)));
/// // RFC 9457, and what frameworks and proxies write, too.
/// let refusal = Refusal::read(br#"{"title": "Bad Request", "detail": "The phone is unknown.", "status": 400}"#);
/// assert_eq!(refusal.message.as_deref(), Some("The phone is unknown."));
/// let refusal = Refusal::read(br#"{"message": "Invalid.", "errors": {"phone": ["The phone is unknown."]}}"#);
/// assert_eq!((refusal.fields[0].param.as_str(), refusal.fields[0].message.as_str()), ("phone", "The phone is unknown."));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// The service's stable code for the cause.
    pub code: Option<String>,
    /// The service's message.
    pub message: Option<String>,
    /// The service's identifier of the request.
    pub request_id: Option<String>,
    /// Whether the service says that sending the request again can help.
    pub retryable: Option<bool>,
    /// Every field that was refused.
    pub fields: Vec<FieldError>,
    /// The identifier of the object that exists already.
    pub existing_id: Option<String>,
}

impl Refusal {
    /// Reads what is present: of the members that decision 1 names first, then of those of RFC 9457 and Laravel, and
    /// else the text.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        let body = without_mark(body);
        let Ok(reply) = serde_json::from_slice::<Value>(body) else {
            return Self { message: plain_text(body), ..Self::default() };
        };
        let error = &reply["error"];
        let text = |of: &Value, name: &str| of[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let either = |name: &str| text(error, name).or_else(|| text(&reply, name));
        let message = either("message").or_else(|| text(&reply, "error"));
        let lists = [&error["errors"], &reply["errors"], &reply["invalid-params"]];
        Self {
            code: either("code"),
            message: message.or_else(|| text(&reply, "detail")).or_else(|| text(&reply, "title")),
            request_id: either("request_id"),
            retryable: error["retryable"].as_bool(),
            fields: lists.into_iter().map(fields).find(|fields| !fields.is_empty()).unwrap_or_default(),
            existing_id: either("existing_id"),
        }
    }
}

/// A reply, parsed once, as far as its call needs it.
///
/// ```
/// use guichet::protocol::{AttemptResult, ParsedReply};
/// let body = br#"{"message": "Too many requests.", "error": {"retryable": true}}"#;
/// let reply = ParsedReply::new(429, None, body);
/// assert_eq!(reply.refusal.as_ref().and_then(|refusal| refusal.message.as_deref()), Some("Too many requests."));
/// assert_eq!(reply.result(), AttemptResult::Reply { status: 429, retry_after: None, retryable: Some(true) });
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ParsedReply {
    /// Its status.
    pub status: ReplyStatus,
    /// Its `Retry-After`, if it can be parsed.
    pub retry_after: Option<Duration>,
    /// Why it refuses the request, if it does.
    pub refusal: Option<Refusal>,
}

impl ParsedReply {
    /// Parses a reply with this HTTP status.
    #[must_use]
    pub fn new(http: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let status = ReplyStatus::read(http, body);
        let refusal = (status.counts_as >= 400).then(|| Refusal::read(body));
        Self { status, retry_after, refusal }
    }

    /// The result of the attempt.
    #[must_use]
    pub fn result(&self) -> AttemptResult {
        let retryable = self.refusal.as_ref().and_then(|refusal| refusal.retryable);
        AttemptResult::Reply { status: self.status.of_attempt, retry_after: self.retry_after, retryable }
    }
}

/// A list of errors, or an object that has the messages of each field.
fn fields(errors: &Value) -> Vec<FieldError> {
    let first =
        |of: &Value, names: &[&str]| names.iter().find_map(|name| of[*name].as_str()).unwrap_or_default().to_owned();
    match errors {
        Value::Array(errors) => errors
            .iter()
            .filter(|error| error.is_object())
            .map(|error| FieldError {
                param: first(error, &["param", "name", "field", "pointer"]),
                code: first(error, &["code"]),
                message: first(error, &["message", "reason", "detail"]),
            })
            .collect(),
        Value::Object(errors) => errors
            .iter()
            .map(|(param, messages)| FieldError {
                param: param.clone(),
                code: String::new(),
                message: messages.as_str().or_else(|| messages[0].as_str()).unwrap_or_default().to_owned(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The longest message that is taken from a reply that is no JSON.
const LONGEST_TEXT: usize = 200;

/// What a reply says that is no JSON: a text, or the title of a page.
fn plain_text(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let text = match text.trim_start().starts_with('<') {
        true => text.split_once("<title>")?.1.split_once("</title>")?.0,
        false => &text,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let text: String = words.join(" ").chars().take(LONGEST_TEXT).collect();
    Some(text).filter(|text| !text.is_empty())
}

/// The bytes without the mark of UTF-8 that some frameworks write first.
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Read(
        #[serde(deserialize_with = "lenient")] Option<u32>,
        #[serde(deserialize_with = "lenient")] String,
        #[serde(deserialize_with = "strict")] bool,
    );

    #[test]
    fn numbers_in_texts_and_truths_in_numbers_are_read() {
        for (text, read) in [
            (r#"[2, "2", true]"#, Some(Read(Some(2), "2".to_owned(), true))),
            (r#"["2", "true", "1"]"#, Some(Read(Some(2), "true".to_owned(), true))),
            (r#"["two", 2, 0]"#, Some(Read(None, String::new(), false))),
            (r#"[null, null, 2]"#, None),
            (r#"[null, null, "yes"]"#, None),
        ] {
            assert_eq!(serde_json::from_str(text).ok(), read, "{text}");
        }
    }

    #[test]
    fn a_refusal_is_read_as_far_as_it_goes() {
        for (body, code, message, field) in [
            (r#"{"error": "invalid_key"}"#, None, Some("invalid_key"), None),
            (r#"{"error": {"code": "taken", "message": "Taken."}}"#, Some("taken"), Some("Taken."), None),
            (r#"{"code": "taken", "message": ["no text"]}"#, Some("taken"), None, None),
            (r#"{"type": "about:blank", "title": "Bad Request", "status": 400}"#, None, Some("Bad Request"), None),
            (
                r#"{"title": "Invalid", "invalid-params": [{"name": "phone", "reason": "Unknown."}]}"#,
                None,
                Some("Invalid"),
                Some(("phone", "Unknown.")),
            ),
            (
                r#"{"message": "Invalid.", "errors": {"phone": ["Unknown.", "Short."]}}"#,
                None,
                Some("Invalid."),
                Some(("phone", "Unknown.")),
            ),
            (r#"{"errors": [{"detail": "Unknown.", "pointer": "/phone"}]}"#, None, None, Some(("/phone", "Unknown."))),
            ("\u{feff}{\"message\": \"Taken.\"}", None, Some("Taken."), None),
            ("  upstream\n timed out ", None, Some("upstream timed out"), None),
            (
                "<html><head><title>502 Bad\nGateway</title></head><body>nginx</body></html>",
                None,
                Some("502 Bad Gateway"),
                None,
            ),
            ("<p>No title</p>", None, None, None),
            ("", None, None, None),
            ("[]", None, None, None),
            ("null", None, None, None),
            (r#"{"message": "", "errors": [], "error": null}"#, None, None, None),
        ] {
            let refusal = Refusal::read(body.as_bytes());
            let first = refusal.fields.first().map(|field| (field.param.as_str(), field.message.as_str()));
            assert_eq!((refusal.code.as_deref(), refusal.message.as_deref(), first), (code, message, field), "{body}");
        }
        assert_eq!(Refusal::read(b"42").message, None, "a number is no text");
        assert_eq!(Refusal::read("é".repeat(9_000).as_bytes()).message.map(|text| text.chars().count()), Some(200));
    }

    #[test]
    fn a_refusal_is_believed_whatever_its_status() {
        let named = |status| (status, status);
        let (unnamed, none) = ((400, 200), (200, 200));
        for (body, refusal) in [
            (r#"{"status_code": 401, "data": {}}"#, named(401)),
            (r#"{"status_code": 400, "response_type": "success"}"#, named(400)),
            (r#"{"response_type": "error", "status_code": 503}"#, named(503)),
            (r#"{"response_type": "error", "status_code": 200}"#, unnamed),
            (r#"{"response_type": "error"}"#, unnamed),
            (r#"{"success": false}"#, unnamed),
            (r#"{"status_code": 1042}"#, unnamed),
            (r#"{"status_code": 399, "response_type": "success", "success": true}"#, none),
            (r#"{"status_code": "401", "success": "false", "response_type": "failure"}"#, none),
            (r#"{"data": {"success": false, "status_code": 500}}"#, none),
            (r#"[{"success": false}]"#, none),
            ("OK", none),
            ("\u{feff}{\"success\": false}", unnamed),
        ] {
            let status = ReplyStatus::read(200, body.as_bytes());
            assert_eq!((status.counts_as, status.of_attempt), refusal, "{body}");
        }
        let status = ReplyStatus::read(404, br#"{"status_code": 401, "success": false}"#);
        assert_eq!((status.counts_as, status.of_attempt), (404, 404), "HTTP has refused it");
    }

    #[test]
    fn a_list_that_goes_on_says_so_in_any_form() {
        for (body, has_more) in [
            (r#"["a"]"#, false),
            (r#"{"data": ["a"], "meta": {"current_page": 1, "last_page": 1, "total": 1}}"#, false),
            (r#"{"data": ["a"], "meta": {"current_page": 1, "last_page": 2}}"#, true),
            (r#"{"data": ["a"], "links": {"next": null}}"#, false),
            (r#"{"data": ["a"], "links": {"next": "https://api.example.com/plans?page=2"}}"#, true),
            (r#"{"data": ["a"], "next_page_url": "https://api.example.com/plans?page=2"}"#, true),
            (r#"{"data": ["a"], "total": 2}"#, true),
            (r#"{"data": ["a"], "meta": {"total": 1}, "total": "2"}"#, false),
            (r#"{"data": ["a"], "total": 2, "pagination": {"has_more": false}}"#, false),
            ("\u{feff}{\"data\": [\"a\"], \"pagination\": {\"has_more\": true}}", true),
        ] {
            let page = decode_page::<String>(body.as_bytes()).expect(body);
            assert_eq!((page.entries, page.has_more, page.next), (vec!["a".to_owned()], has_more, None), "{body}");
        }
    }
}
