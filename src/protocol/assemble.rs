//! Makes the request of an operation: a serde serializer that puts each field into the path, the query, the body or the
//! header, as the [`Spec`] says, and omits absent fields.

use super::operation::{FieldLocation, around};
use super::{Method, Operation, Spec};
use crate::platform::to_json;
use serde::Serialize;
use serde::ser::{Impossible, SerializeStruct, Serializer};
use std::fmt::{self, Display};

/// One request, ready for a socket: `target` begins with `/v1` and is percent-encoded; `body` is JSON, absent when the
/// operation has no field for it.
///
/// ```
/// use guichet::operations::ReadPaymentIntent;
/// use guichet::protocol::assemble;
/// use guichet::values::IntentId;
/// let request = assemble(&ReadPaymentIntent::new(IntentId::new("pi_1").unwrap())).unwrap();
/// assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/v1/payment-intents/pi_1"));
/// ```
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The JSON body.
    pub body: Option<String>,
    /// The value of the header `Idempotency-Key`, if the operation has one.
    pub idempotency_key: Option<String>,
}

/// Without the body, which may hold a card number or a one-time code.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).field("target", &self.target).finish_non_exhaustive()
    }
}

impl Request {
    /// A request without a body.
    #[must_use]
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), body: None, idempotency_key: None }
    }

    /// The same request for the next page of a list, which starts after this cursor.
    #[cfg(feature = "native-no-provider")]
    pub(crate) fn starting_after(&self, cursor: &str) -> Self {
        const CURSOR: &str = "starting_after=";
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let mut target = [path, "?"].concat();
        for field in query.split('&').filter(|field| !field.is_empty() && !field.starts_with(CURSOR)) {
            target.extend([field, "&"]);
        }
        target.push_str(CURSOR);
        percent_encode(&mut target, cursor);
        Self { target, ..self.clone() }
    }
}

/// Makes the request of an operation.
///
/// # Errors
/// [`Unwritable`], for example if an amount is not whole, a path value is empty or a query value is an object.
pub fn assemble<O: Operation>(operation: &O) -> Result<Request, Unwritable> {
    assemble_as(const { &O::SPEC }, operation)
}

/// Makes the request of an operation for another route that does the same, by the same method.
pub(crate) fn assemble_as<O: Operation>(spec: &'static Spec, operation: &O) -> Result<Request, Unwritable> {
    // Known when it is compiled: a page's module, which sends no body, holds no writer of bodies. This saves 1.3 KB
    // there.
    if const { matches!(O::SPEC.method, Method::Get) } {
        operation.serialize(Assembly::<false>::new(spec))
    } else {
        operation.serialize(Assembly::<true>::new(spec))
    }
}

/// Makes the request of an operation from the texts of its fields, which all are in its path or its query.
#[cfg(feature = "shop")]
pub(crate) fn assemble_texts<'a>(
    spec: &'static Spec,
    fields: impl Iterator<Item = (&'a str, String)>,
) -> Result<Request, Unwritable> {
    let mut assembly = Assembly::<true>::new(spec);
    for (name, text) in fields {
        assembly.put(name, &|_| Ok(Some(text.clone())))?;
    }
    assembly.end()
}

/// The error of a field whose value cannot be sent, or of a `Spec` that puts a field where its value cannot be written.
/// The test of the operation finds the latter.
///
/// ```
/// use guichet::operations::ReadPaymentIntent;
/// use guichet::protocol::{Unwritable, assemble};
/// use guichet::values::IntentId;
/// // Such a path would lead to another operation.
/// let unwritable: Unwritable = assemble(&ReadPaymentIntent::new(IntentId::new("..").unwrap())).unwrap_err();
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Unwritable;

impl Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of the operation has a value that cannot be sent")
    }
}

impl std::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

/// The serializer of an operation, which must be a struct. It collects the parts of the request, with a body if `BODY`.
struct Assembly<const BODY: bool> {
    spec: &'static Spec,
    path: String,
    query: String,
    body: String,
    idempotency_key: Option<String>,
}

impl<const BODY: bool> Assembly<BODY> {
    #[inline(never)]
    fn new(spec: &'static Spec) -> Self {
        Self { spec, path: spec.path.to_owned(), query: String::new(), body: String::new(), idempotency_key: None }
    }

    #[inline(never)]
    fn put(
        &mut self,
        name: &str,
        write: &dyn Fn(FieldLocation) -> Result<Option<String>, Unwritable>,
    ) -> Result<(), Unwritable> {
        let location = self.spec.location(name);
        match (location, write(location)?) {
            (FieldLocation::Path, text) => {
                // A URL parser resolves `..` and `.`, and an empty segment changes the path: the request would reach
                // another operation.
                let text = text.filter(|text| !["", ".", ".."].contains(&text.as_str())).ok_or(Unwritable)?;
                let (before, after) = around(&self.path, name).ok_or(Unwritable)?;
                let mut path = String::from(before);
                percent_encode(&mut path, &text);
                path.push_str(after);
                self.path = path;
            }
            (FieldLocation::Header, key) => self.idempotency_key = key,
            (_, None) => {}
            (FieldLocation::Query, Some(text)) => {
                self.query += if self.query.is_empty() { "?" } else { "&" };
                self.query += name;
                self.query += "=";
                percent_encode(&mut self.query, &text);
            }
            // An absent field.
            (FieldLocation::Body, Some(json)) if json == "null" => {}
            (FieldLocation::Body, Some(json)) => {
                self.body.push_str(if self.body.is_empty() { "{\"" } else { ",\"" });
                self.body.push_str(name);
                self.body.push_str("\":");
                self.body.push_str(&json);
            }
        }
        Ok(())
    }
}

impl<const BODY: bool> SerializeStruct for Assembly<BODY> {
    type Ok = Request;
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unwritable> {
        // The compiler generates this method for each field type, so everything that does not depend on the type is in
        // `put`.
        self.put(name, &|location| match location {
            FieldLocation::Body if BODY => to_json(value).map(Some).ok_or(Unwritable),
            FieldLocation::Body => Err(Unwritable),
            _ => value.serialize(PlainText),
        })
    }

    #[inline(never)]
    fn end(mut self) -> Result<Request, Unwritable> {
        let body = (!self.body.is_empty()).then(|| self.body + "}");
        self.path.push_str(&self.query);
        Ok(Request { method: self.spec.method, target: self.path, body, idempotency_key: self.idempotency_key })
    }
}

/// Appends a text with everything but RFC 3986 unreserved characters encoded, so that a `/` does not split a value of
/// the path.
pub(crate) fn percent_encode(out: &mut String, text: &str) {
    const DIGITS: &str = "0123456789ABCDEF";
    // By hand: `percent-encoding` has a table of every byte, which adds 0.2 KB (brotli) to the wasm, and pushing a
    // `char` 0.2 KB.
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            *out += text.get(at..=at).unwrap_or_default();
        } else {
            *out += "%";
            for digit in [byte >> 4, byte & 15].map(usize::from) {
                *out += DIGITS.get(digit..=digit).unwrap_or_default();
            }
        }
    }
}

/// The serializer of one value of the path, the query or the header: text, or `None` if the value is absent.
struct PlainText;

/// Implements methods of a serializer that fail: those that no request needs, for every serializer of this crate, and
/// the given ones in addition.
macro_rules! refuse {
    ($($method:ident($($kind:ty),*) -> $ok:ty;)*) => {
        $crate::protocol::refuse! { each
            $($method($($kind),*) -> $ok;)*
            serialize_i8(i8) -> Self::Ok;
            serialize_i16(i16) -> Self::Ok;
            serialize_i32(i32) -> Self::Ok;
            serialize_i64(i64) -> Self::Ok;
            serialize_f32(f32) -> Self::Ok;
            serialize_f64(f64) -> Self::Ok;
            serialize_char(char) -> Self::Ok;
            serialize_bytes(&[u8]) -> Self::Ok;
            serialize_unit() -> Self::Ok;
            serialize_unit_struct(&'static str) -> Self::Ok;
            serialize_seq(Option<usize>) -> Self::SerializeSeq;
            serialize_tuple(usize) -> Self::SerializeTuple;
            serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
            serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
            serialize_map(Option<usize>) -> Self::SerializeMap;
            serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
        }
        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, Unwritable> {
            Err(Unwritable)
        }
    };
    (each $($method:ident($($kind:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $kind),*) -> Result<$ok, Unwritable> {
            Err(Unwritable)
        }
    )*};
}
pub(crate) use refuse;

impl Serializer for PlainText {
    type Ok = Option<String>;
    type Error = Unwritable;
    type SerializeSeq = Impossible<Self::Ok, Unwritable>;
    type SerializeTuple = Impossible<Self::Ok, Unwritable>;
    type SerializeTupleStruct = Impossible<Self::Ok, Unwritable>;
    type SerializeTupleVariant = Impossible<Self::Ok, Unwritable>;
    type SerializeMap = Impossible<Self::Ok, Unwritable>;
    type SerializeStruct = Impossible<Self::Ok, Unwritable>;
    type SerializeStructVariant = Impossible<Self::Ok, Unwritable>;

    fn serialize_bool(self, truth: bool) -> Result<Option<String>, Unwritable> {
        Ok(Some(if truth { "true" } else { "false" }.to_owned()))
    }
    fn serialize_u8(self, number: u8) -> Result<Option<String>, Unwritable> {
        Ok(Some(number.to_string()))
    }
    fn serialize_u16(self, number: u16) -> Result<Option<String>, Unwritable> {
        Ok(Some(number.to_string()))
    }
    fn serialize_u32(self, number: u32) -> Result<Option<String>, Unwritable> {
        Ok(Some(number.to_string()))
    }
    fn serialize_u64(self, number: u64) -> Result<Option<String>, Unwritable> {
        Ok(Some(number.to_string()))
    }
    fn serialize_str(self, text: &str) -> Result<Option<String>, Unwritable> {
        Ok(Some(text.to_owned()))
    }
    fn serialize_none(self) -> Result<Option<String>, Unwritable> {
        Ok(None)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Option<String>, Unwritable> {
        value.serialize(self)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, word: &'static str) -> Result<Option<String>, Unwritable> {
        Ok(Some(word.to_owned()))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Option<String>, Unwritable> {
        value.serialize(self)
    }
    refuse! {
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
    }
}

impl<const BODY: bool> Serializer for Assembly<BODY> {
    type Ok = Request;
    type Error = Unwritable;
    type SerializeSeq = Impossible<Request, Unwritable>;
    type SerializeTuple = Impossible<Request, Unwritable>;
    type SerializeTupleStruct = Impossible<Request, Unwritable>;
    type SerializeTupleVariant = Impossible<Request, Unwritable>;
    type SerializeMap = Impossible<Request, Unwritable>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<Request, Unwritable>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Request, Unwritable> {
        Err(Unwritable)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, _: &T) -> Result<Request, Unwritable> {
        Err(Unwritable)
    }
    refuse! {
        serialize_bool(bool) -> Self::Ok;
        serialize_u8(u8) -> Self::Ok;
        serialize_u16(u16) -> Self::Ok;
        serialize_u32(u32) -> Self::Ok;
        serialize_u64(u64) -> Self::Ok;
        serialize_str(&str) -> Self::Ok;
        serialize_none() -> Self::Ok;
        serialize_unit_variant(&'static str, u32, &'static str) -> Self::Ok;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_in_a_path_value_stays_one_value() {
        let mut out = String::new();
        percent_encode(&mut out, "mobile money/é");
        assert_eq!(out, "mobile%20money%2F%C3%A9");
    }

    #[cfg(feature = "native-no-provider")]
    #[test]
    fn the_next_page_starts_after_the_cursor_and_after_nothing_else() {
        let list = |target: &str| Request::new(Method::Get, target);
        for (target, next) in [
            ("/v1/customers", "/v1/customers?starting_after=cus_1%2F2"),
            ("/v1/customers?limit=20", "/v1/customers?limit=20&starting_after=cus_1%2F2"),
            ("/v1/customers?starting_after=cus_0&limit=20", "/v1/customers?limit=20&starting_after=cus_1%2F2"),
        ] {
            assert_eq!(list(target).starting_after("cus_1/2").target, next);
        }
    }
}
