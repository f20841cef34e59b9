//! What a payment company does otherwise than the document, or does not say in it: how a payment is read, found and
//! canceled, and its words for a status. Nothing in a profile weakens a rule: amount, currency and reference are
//! compared as always.

use super::ledger::{Asked, Found, Payment};
use crate::operations::{CancelPaymentIntent, PaymentIntent, ReadPaymentIntent};
use crate::platform::origin_of;
use crate::protocol::{Error, Kind, Method, Operation, Spec, decode, is_list, percent_encode};
use crate::values::{IntentStatus, Invalid};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A profile: the file `service.json`.
///
/// ```
/// use guichet::native::Profile;
/// let profile = Profile::new(r#"{"base_url": "https://api.example.com", "read": {"method": "GET", "path": "/v1/charges/{payment_ref}"},
///     "cancel": null, "statuses": {"pending": "processing"}}"#)?;
/// let wrong = Profile::new(r#"{"base_url": "https://api.example.com", "read": {"method": "GET", "path": "//evil.example/{id}"}}"#);
/// assert_eq!(wrong.unwrap_err().reason(), "`read.path` must begin with one `/`.");
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    /// The address of all operations, without `/v1`.
    pub base_url: String,
    /// The address where payments are created, if that is another.
    pub gateway_url: Option<String>,
    /// The origins that a `checkout_url` may have. Empty: that of `base_url`.
    pub checkout_origins: Vec<String>,
    pub(super) read: Route,
    pub(super) find_by_reference: Option<Route>,
    /// Without this member as documented. `None`: nothing is canceled.
    pub(super) cancel: Option<Route>,
    pub(super) statuses: BTreeMap<String, IntentStatus>,
}

#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) credential: RouteCredential,
    /// Whether the reply may be a list: by the document it is none.
    pub(super) may_list: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RouteCredential {
    Key,
    ClientSecret,
}

/// A payment's names, as far as they are known.
struct Names<'a> {
    id: Option<&'a str>,
    payment_ref: Option<&'a str>,
    merchant_reference: &'a str,
    client_secret: Option<&'a str>,
}

/// A request about a payment that was created. It may hold a client secret, so it has no `Debug`.
pub struct PaymentRequest {
    /// The operation that it is, for the retry table.
    pub spec: &'static Spec,
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// What it is sent with instead of the key.
    pub client_secret: Option<String>,
    /// Whether the reply may be a list: to a creation, and by the document, it is none.
    pub may_list: bool,
}

impl PaymentRequest {
    /// The request that creates a payment.
    #[must_use]
    pub fn creation(spec: &'static Spec) -> Self {
        Self { spec, method: spec.method, target: spec.path.to_owned(), client_secret: None, may_list: false }
    }

    /// What is kept, encrypted, of the payment that this is asked of: its client secret.
    #[must_use]
    pub fn kept<'a>(payment: &'a Payment, asked: &Asked) -> Option<&'a str> {
        asked_of(payment, asked)?.read_with.as_deref()
    }

    /// What is asked of a payment, by the profile or else by the document.
    ///
    /// # Errors
    /// Kind `unsupported` if the service has no such operation, or a name is not known that it needs.
    pub fn new(
        profile: Option<&Profile>,
        payment: &Payment,
        asked: &Asked,
        client_secret: Option<&str>,
    ) -> Result<Self, Error> {
        let payment_ref = asked_of(payment, asked).and_then(|found| found.payment_ref.as_deref());
        let names = Names { id: id_of(asked), payment_ref, merchant_reference: &payment.reference, client_secret };
        match (profile, asked) {
            (Some(profile), _) => profile.route(asked).ok_or_else(unsupported)?.request(asked, &names),
            (None, Asked::Find) => Err(unsupported()),
            (None, _) => Route::documented(spec_of(asked)).request(asked, &names),
        }
    }
}

fn spec_of(asked: &Asked) -> &'static Spec {
    match asked {
        Asked::Read(_) | Asked::Find => const { &ReadPaymentIntent::SPEC },
        Asked::Cancel(_) => const { &CancelPaymentIntent::SPEC },
    }
}

fn id_of(asked: &Asked) -> Option<&str> {
    match asked {
        Asked::Read(id) | Asked::Cancel(id) => Some(id),
        Asked::Find => None,
    }
}

fn asked_of<'a>(payment: &'a Payment, asked: &Asked) -> Option<&'a Found> {
    payment.found.iter().find(|found| Some(found.id.as_str()) == id_of(asked))
}

/// The payment that a reply has: of a list, as a search gives it, the one of this reference. A list is read only if the
/// reply may be one. Its status is one of our words. `body` is the whole reply.
///
/// # Errors
/// If it cannot be read as a payment, or as a list of payments.
pub fn payment_of(
    profile: Option<&Profile>,
    reference: &str,
    may_list: bool,
    body: &[u8],
) -> Result<Option<PaymentIntent>, serde_json::Error> {
    let payment = match may_list && is_list(body) {
        true => decode::<Vec<PaymentIntent>>(body)?
            .into_iter()
            .find(|intent| intent.merchant_reference.as_deref() == Some(reference)),
        false => Some(decode::<PaymentIntent>(body)?),
    };
    Ok(payment.map(|mut intent| {
        if let Some(ours) = profile.and_then(|profile| profile.statuses.get(intent.status.as_str())) {
            intent.status = ours.clone();
        }
        intent
    }))
}

/// The parts of a path that a value takes the place of.
const PLACES: [&str; 4] = ["{id}", "{payment_ref}", "{merchant_reference}", "{client_secret}"];

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// [`Invalid`] with the name of the member that is wrong. Whether a key may be sent to an address is checked where
    /// it is.
    pub fn new(json: &str) -> Result<Self, Invalid> {
        // Not by `Deserialize`, whose error names no member, and which reads a list as a struct.
        let value = serde_json::from_str(json).map_err(|error| Invalid::because(error.to_string()))?;
        let Value::Object(mut members) = value else {
            return Err(Invalid::because("A profile is an object in JSON."));
        };
        let mut address = |name: &str| match members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if path_of(&text).is_some() => Ok(Some(text)),
            Some(_) => Err(wrong(name, "must be an address without a query: https://api.example.com.")),
        };
        let base_url = address("base_url")?.ok_or_else(|| missing("base_url"))?;
        let gateway_url = address("gateway_url")?;
        let origin = |value| match value {
            Value::String(text) if is_origin(&text) => Some(text),
            _ => None,
        };
        let checkout_origins = match members.remove("checkout_origins") {
            None => Some(Vec::new()),
            Some(Value::Array(list)) => list.into_iter().map(origin).collect(),
            Some(_) => None,
        };
        let checkout_origins = checkout_origins
            .ok_or_else(|| wrong("checkout_origins", "must be a list of origins: https://pay.example.com."))?;
        let mut route = |name: &str, methods: &[Method], places: &[&str]| {
            members.remove(name).map(|value| Route::new(name, value, methods, places)).transpose()
        };
        let read = route("read", &[Method::Get, Method::Post], &PLACES)?.flatten().ok_or_else(|| missing("read"))?;
        let find = route("find_by_reference", &[Method::Get, Method::Post], &["{merchant_reference}"])?;
        let cancel = route("cancel", &[Method::Post, Method::Put, Method::Delete], &PLACES)?
            .unwrap_or_else(|| Some(Route::documented(const { &CancelPaymentIntent::SPEC })));
        let mut statuses = BTreeMap::new();
        match members.remove("statuses") {
            None => {}
            Some(Value::Object(words)) => {
                for (word, ours) in words {
                    let known = |text: &str| match IntentStatus::from(text.to_owned()) {
                        IntentStatus::Unknown(_) => None,
                        known => Some(known),
                    };
                    let name = || ["statuses.", &word].concat();
                    if known(&word).is_some() {
                        return Err(wrong(&name(), "is a word of the document, which keeps its meaning."));
                    }
                    let reason = "must be `requires_action`, `processing`, `succeeded`, `failed` or `canceled`.";
                    let ours = ours.as_str().and_then(known).ok_or_else(|| wrong(&name(), reason))?;
                    statuses.insert(word, ours);
                }
            }
            Some(_) => return Err(wrong("statuses", "must be an object.")),
        }
        only_known(&members)?;
        Ok(Self { base_url, gateway_url, checkout_origins, read, find_by_reference: find.flatten(), cancel, statuses })
    }

    /// How this is asked. `None`: not at all.
    fn route(&self, asked: &Asked) -> Option<&Route> {
        match asked {
            Asked::Read(_) => Some(&self.read),
            Asked::Find => self.find_by_reference.as_ref(),
            Asked::Cancel(_) => self.cancel.as_ref(),
        }
    }

    /// The request that reads a payment, or cancels it, by the one name that the profile's path has, whichever it is:
    /// for a person who has that name, and gives it in the place of an id.
    ///
    /// # Errors
    /// Kind `unsupported` if the path needs several names or the client secret, or the service cancels nothing.
    pub fn by_name(&self, asked: &Asked) -> Result<PaymentRequest, Error> {
        let route = self.route(asked).ok_or_else(unsupported)?;
        if route.needs_secret() || route.path.matches('{').count() != 1 {
            let message = "By the profile, a payment is asked for by several names or by its client secret. Your shop has them, and the command has not.";
            return Err(Error::new(Kind::Unsupported, message));
        }
        let name = id_of(asked);
        let merchant_reference = name.unwrap_or_default();
        route.request(asked, &Names { id: name, payment_ref: name, merchant_reference, client_secret: None })
    }

    /// Whether the service finds a payment by its reference.
    #[must_use]
    pub fn finds(&self) -> bool {
        self.find_by_reference.is_some()
    }

    /// Whether the service cancels a payment.
    #[must_use]
    pub fn cancels(&self) -> bool {
        self.cancel.is_some()
    }

    /// Whether a payment is read or canceled by its client secret, which is then kept as long as it is read.
    #[must_use]
    pub fn needs_client_secret(&self) -> bool {
        [Some(&self.read), self.cancel.as_ref()].into_iter().flatten().any(Route::needs_secret)
    }
}

impl Route {
    fn documented(spec: &Spec) -> Self {
        Self { method: spec.method, path: spec.path.to_owned(), credential: RouteCredential::Key, may_list: false }
    }

    /// The route in this member of a profile; null: none.
    fn new(name: &str, value: Value, methods: &[Method], places: &[&str]) -> Result<Option<Self>, Invalid> {
        let mut members = match value {
            Value::Null => return Ok(None),
            Value::Object(members) => members,
            _ => return Err(wrong(name, "must be an object.")),
        };
        let mut text = |member: &str| match members.remove(member) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(&[name, ".", member].concat(), "must be a text.")),
        };
        let method = text("method")?.ok_or_else(|| missing("method"))?;
        let path = text("path")?.ok_or_else(|| missing("path"))?;
        let credential = match text("credential")?.as_deref() {
            None | Some("key") => RouteCredential::Key,
            Some("client_secret") => RouteCredential::ClientSecret,
            Some(other) => return Err(Invalid::because(["unknown variant `", other, "`"].concat())),
        };
        only_known(&members)?;
        let method =
            Method::of_word(&method).ok_or_else(|| Invalid::because("a method is GET, POST, PUT or DELETE"))?;
        let route = Self { method, path, credential, may_list: true };
        route.check(name, methods, places)?;
        Ok(Some(route))
    }

    fn check(&self, name: &str, methods: &[Method], places: &[&str]) -> Result<(), Invalid> {
        let wrong = |member: &str, reason: &str| Err(wrong(&[name, member].concat(), reason));
        if !methods.contains(&self.method) {
            let words: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
            return wrong(".method", &["must be one of ", &words.join(", "), "."].concat());
        }
        let path = self.path.as_str();
        if !path.starts_with('/') || path.starts_with("//") {
            return wrong(".path", "must begin with one `/`.");
        }
        // `%2e` is a dot to the parsers of addresses.
        let is_up = |part: &str| matches!(&*part.to_ascii_lowercase().replace("%2e", "."), "." | "..");
        let is_unsafe = |byte: u8| byte.is_ascii_control() || matches!(byte, b'\\' | b'#' | b' ') || !byte.is_ascii();
        if path.bytes().any(is_unsafe) || path.split(['/', '?']).any(is_up) {
            return wrong(".path", "may have no `\\`, `#`, `..`, space or character beyond ASCII.");
        }
        let rest = places.iter().fold(path.to_owned(), |path, place| path.replace(place, ""));
        if rest.contains(['{', '}']) {
            return wrong(".path", &["may have no other braces than ", &places.join(", "), "."].concat());
        }
        if rest == path {
            return wrong(".path", &["must have one of ", &places.join(", "), "."].concat());
        }
        if path.contains("}{") {
            return wrong(".path", "must have something between two values.");
        }
        Ok(())
    }

    fn needs_secret(&self) -> bool {
        self.credential == RouteCredential::ClientSecret || self.path.contains("{client_secret}")
    }

    fn request(&self, asked: &Asked, names: &Names<'_>) -> Result<PaymentRequest, Error> {
        let values = [names.id, names.payment_ref, Some(names.merchant_reference), names.client_secret];
        let mut target = String::new();
        let mut rest = self.path.as_str();
        while let Some((before, from)) = rest.split_once('{') {
            let (place, after) = from.split_once('}').ok_or_else(unsupported)?;
            let value = PLACES.iter().position(|one| one.trim_matches(['{', '}']) == place).and_then(|at| values[at]);
            // A path of `.` or `..` would lead to another operation.
            let value = value.filter(|value| !matches!(*value, "" | "." | "..")).ok_or_else(unsupported)?;
            target.push_str(before);
            percent_encode(&mut target, value);
            rest = after;
        }
        target.push_str(rest);
        let client_secret = match self.credential {
            RouteCredential::Key => None,
            RouteCredential::ClientSecret => Some(names.client_secret.ok_or_else(unsupported)?.to_owned()),
        };
        let (spec, method, may_list) = (spec_of(asked), self.method, self.may_list);
        Ok(PaymentRequest { spec, method, target, client_secret, may_list })
    }
}

/// The path of an address of a service, without a slash at its begin. `None` if the text is no such address, or has
/// more than a path.
fn path_of(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_odd = rest.bytes().any(|byte| byte <= b' ' || matches!(byte, b'?' | b'#' | b'\\'));
    (!is_odd && !host.is_empty() && !host.bytes().any(|byte| byte == b'@') && origin_of(text).is_some()).then_some(path)
}

fn unsupported() -> Error {
    Error::new(Kind::Unsupported, "By the profile, this service cannot be asked for this payment.")
}

fn wrong(member: &str, reason: &str) -> Invalid {
    Invalid::because(["`", member, "` ", reason].concat())
}

fn missing(member: &str) -> Invalid {
    Invalid::because(["missing field `", member, "`"].concat())
}

/// That every member has been read.
fn only_known(members: &Map<String, Value>) -> Result<(), Invalid> {
    let unknown = members.keys().next();
    unknown.map_or(Ok(()), |name| Err(Invalid::because(["unknown field `", name, "`"].concat())))
}

fn is_origin(text: &str) -> bool {
    path_of(text).is_some_and(str::is_empty) && !text.bytes().any(|byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cases(name: &str) -> Vec<Value> {
        let cases: Value = serde_json::from_str(include_str!("../../tests/shop/profile.json")).expect("JSON");
        cases[name].as_array().expect("a list").clone()
    }

    #[test]
    fn a_wrong_profile_is_refused_by_name() {
        for case in cases("wrong") {
            let (text, words) = (case[0].as_str().expect("a profile"), case[1].as_str().expect("words"));
            let refused = Profile::new(text).expect_err(text);
            assert!(refused.reason().starts_with(words), "{text}: {refused}");
        }
    }

    #[test]
    fn a_payment_is_asked_for_as_the_profile_says() {
        let order = json!({
            "reference": "ORDER 17", "body": {"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com",
                "description": "Shoes", "amount": "45000"},
            "found": [{"id": "pi_1", "payment_ref": "PAY/1?a", "state": "open", "status": "processing", "read_with": "sealed"}],
        });
        let payment: Payment = serde_json::from_value(order).expect("a payment");
        for case in cases("requests") {
            let profile = case["profile"].as_object().map(|members| {
                let mut members = members.clone();
                members.insert("base_url".to_owned(), json!("https://api.example.com"));
                Profile::new(&Value::Object(members).to_string()).expect("a profile")
            });
            let asked: Asked = serde_json::from_value(case["asked"].clone()).expect("what is asked");
            let secret = PaymentRequest::kept(&payment, &asked).map(|_| "pi_1_secret_1");
            let request = PaymentRequest::new(profile.as_ref(), &payment, &asked, secret).ok().map(|request| {
                let words = [Some(request.method.as_str().to_owned()), Some(request.target), request.client_secret];
                words.into_iter().flatten().collect::<Vec<String>>()
            });
            assert_eq!(json!(request), case["request"], "{case}");
        }
    }

    #[test]
    fn a_list_is_read_only_where_a_profile_asks() {
        let list = br#"{"data": [{"id": "pi_2", "merchant_reference": "OTHER", "amount": 1, "currency": "XAF", "status": "done"},
            {"id": "pi_1", "merchant_reference": "ORDER-17", "amount": 1, "currency": "XAF", "status": "done"}]}"#;
        let found = payment_of(None, "ORDER-17", true, list).expect("a list").expect("a payment");
        assert_eq!(found.id.as_str(), "pi_1");
        assert_eq!(payment_of(None, "ORDER-17", true, b"[]").expect("a list"), None);
        assert!(payment_of(None, "ORDER-17", false, list).is_err(), "a reply to a creation");
        assert!(payment_of(None, "ORDER-17", false, b"[]").is_err(), "nothing is known of what it did");
    }
}
