//! Reads a reply's envelope from its bytes. The browser reads the same fields from its own JSON objects.

use super::FieldError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads the output of a reply: `data` if it is present, else the root (the document shows replies of both kinds).
///
/// # Errors
/// If the bytes are not JSON or do not have the shape of `T`.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    match data(body) {
        Some(data) => serde_json::from_str(data),
        None => serde_json::from_slice(body),
    }
}

/// The bytes that [`decode`] reads.
#[cfg(feature = "native-no-provider")]
pub(crate) fn payload(body: &[u8]) -> &[u8] {
    data(body).map_or(body, str::as_bytes)
}

/// The text of `data`, if it is present.
fn data(body: &[u8]) -> Option<&str> {
    #[derive(Deserialize)]
    struct Open<'a> {
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
    }
    // A bare array has no `data`. Without this check, serde would read the array as the struct, with its first entry as
    // `data`.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    let open: Open<'_> = if is_object { serde_json::from_slice(body).ok()? } else { return None };
    open.data.map(RawValue::get)
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
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Pagination {
        #[serde(deserialize_with = "lenient")]
        has_more: Option<bool>,
        #[serde(deserialize_with = "lenient")]
        next_cursor: Option<String>,
    }
    let entries = decode(body)?;
    // A body that is the array itself has no `pagination`.
    let Beside { pagination } = serde_json::from_slice(body).unwrap_or_default();
    let next = pagination.next_cursor.filter(|cursor| !cursor.is_empty() && pagination.has_more != Some(false));
    let has_more = next.is_some() || pagination.has_more == Some(true);
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
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
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

/// The `error` member of a reply that refuses a request (a decision of ours), as far as it is present.
///
/// ```
/// use guichet::protocol::Refusal;
/// let refusal = Refusal::read(br#"{"message": "Taken.", "error": {"code": "plan_code_taken", "retryable": false}}"#);
/// assert_eq!((refusal.code.as_deref(), refusal.retryable), (Some("plan_code_taken"), Some(false)));
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default)]
#[non_exhaustive]
pub struct Refusal {
    /// The service's stable code for the cause.
    #[serde(deserialize_with = "lenient")]
    pub code: Option<String>,
    /// The service's message, which stands beside `error`.
    #[serde(skip)]
    pub message: Option<String>,
    /// The service's identifier of the request.
    #[serde(deserialize_with = "lenient")]
    pub request_id: Option<String>,
    /// Whether the service says that sending the request again can help.
    #[serde(deserialize_with = "lenient")]
    pub retryable: Option<bool>,
    /// Every field that was refused.
    #[serde(rename = "errors", deserialize_with = "lenient")]
    pub fields: Vec<FieldError>,
    /// The identifier of the object that exists already.
    #[serde(deserialize_with = "lenient")]
    pub existing_id: Option<String>,
}

impl Refusal {
    /// Reads what is present; a body without an error gives an empty refusal.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Body {
            #[serde(deserialize_with = "lenient")]
            message: Option<String>,
            #[serde(deserialize_with = "lenient")]
            error: Refusal,
        }
        let Body { message, error } = serde_json::from_slice(body).unwrap_or_default();
        Self { message, ..error }
    }
}
