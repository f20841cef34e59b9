use super::Role;
use crate::values::words;
use serde::Serialize;

/// One operation of the interface: a value of this type is one request, and [`Operation::SPEC`] is the part that no
/// caller chooses. Both clients, and the sandbox's routes, faults, traces and documents, use this data.
///
/// ```
/// use guichet::operations::CreatePlan;
/// use guichet::protocol::Operation;
/// assert_eq!(CreatePlan::SPEC.name, "create_plan");
/// assert_eq!(CreatePlan::SPEC.path, "/v1/subscriptions/plans");
/// ```
pub trait Operation: Serialize {
    /// The role that may send it.
    type Role: Role;
    /// The type of its reply's `data`. The native client decodes it; the browser keeps the service's own object.
    type Output;
    /// Its constant part.
    const SPEC: Spec;
}

/// The constant part of an operation.
///
/// ```
/// use guichet::operations::ReadPaymentIntent;
/// use guichet::protocol::{Operation, Repeat, Spec};
/// const SPEC: Spec = ReadPaymentIntent::SPEC;
/// assert_eq!((SPEC.name, SPEC.repeat), ("read_payment_intent", Repeat::Always));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Spec {
    /// Its name in faults, traces and tables: `calculate_fee`.
    pub name: &'static str,
    /// Its HTTP method.
    pub method: Method,
    /// Its path with `/v1`; `{…}` are fields in the path.
    pub path: &'static str,
    /// The fields in the query. A field that is in neither path nor query is in the body.
    pub query: &'static [&'static str],
    /// The envelope of its reply.
    pub envelope: Envelope,
    /// Whether the document shows it.
    pub source: Source,
    /// Whether it may be sent again.
    pub repeat: Repeat,
}

impl Spec {
    /// A `GET`: it only reads, so it is always safe to repeat.
    #[must_use]
    pub const fn get(name: &'static str, path: &'static str) -> Self {
        Self { repeat: Repeat::Always, ..Self::new(name, Method::Get, path) }
    }

    /// A `POST`: it creates or executes something.
    #[must_use]
    pub const fn post(name: &'static str, path: &'static str) -> Self {
        Self::new(name, Method::Post, path)
    }

    /// A `PUT`: it replaces something.
    #[must_use]
    pub const fn put(name: &'static str, path: &'static str) -> Self {
        Self::new(name, Method::Put, path)
    }

    /// A `DELETE`: it removes something, with the same effect however often it is sent.
    #[must_use]
    pub const fn delete(name: &'static str, path: &'static str) -> Self {
        Self { repeat: Repeat::Always, ..Self::new(name, Method::Delete, path) }
    }

    const fn new(name: &'static str, method: Method, path: &'static str) -> Self {
        Self {
            name,
            method,
            path,
            query: &[],
            envelope: Envelope::Standard,
            source: Source::Documented,
            repeat: Repeat::Never,
        }
    }

    /// Puts these fields into the query.
    #[must_use]
    pub const fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// Sets the envelope of the reply.
    #[must_use]
    pub const fn envelope(self, envelope: Envelope) -> Self {
        Self { envelope, ..self }
    }

    /// Marks an operation that the document does not show: a decision of ours.
    #[must_use]
    pub const fn assumed(self) -> Self {
        Self { source: Source::Decision, ..self }
    }

    /// Marks an operation that is safe to repeat: the service recognizes it by a field of its body, or its effect is
    /// the same.
    #[must_use]
    pub const fn repeatable(self) -> Self {
        Self { repeat: Repeat::Always, ..self }
    }

    /// Marks an operation that is safe to repeat under one [`IDEMPOTENCY_KEY`], which is a field of the operation: the
    /// service keeps the result of a key for a day (a decision).
    #[must_use]
    pub const fn idempotency_key(self) -> Self {
        Self { repeat: Repeat::Keyed, ..self }
    }

    /// The part of the request that contains a field.
    #[must_use]
    pub fn location(&self, field: &str) -> FieldLocation {
        if around(self.path, field).is_some() {
            FieldLocation::Path
        } else if self.query.contains(&field) {
            FieldLocation::Query
        } else if self.repeat == Repeat::Keyed && field == IDEMPOTENCY_KEY {
            FieldLocation::Header
        } else {
            FieldLocation::Body
        }
    }
}

/// Splits a path around a field in braces.
pub(super) fn around<'a>(path: &'a str, field: &str) -> Option<(&'a str, &'a str)> {
    let mut braces = path.bytes().enumerate().filter(|(_, byte)| *byte == b'{');
    braces.find_map(|(at, _)| {
        let after = path.get(at + 1..)?.strip_prefix(field)?.strip_prefix('}')?;
        Some((path.get(..at)?, after))
    })
}

/// The header under which a service executes a request only once; see [`Spec::idempotency_key`].
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The part of a request that contains a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FieldLocation {
    /// The JSON body.
    Body,
    /// A header.
    Header,
    /// The path.
    Path,
    /// The query.
    Query,
}

words! {
    /// An HTTP method of the interface.
    ///
    /// ```
    /// use guichet::protocol::Method;
    /// assert_eq!(Method::Delete.as_str(), "DELETE");
    /// ```
    #[non_exhaustive]
    Method {
        /// `DELETE`
        Delete = "DELETE",
        /// `GET`
        Get = "GET",
        /// `POST`
        Post = "POST",
        /// `PUT`
        Put = "PUT",
    }
}

/// The two envelopes of the document.
///
/// ```
/// use guichet::operations::CreateSession;
/// use guichet::protocol::{Envelope, Operation};
/// assert_eq!(CreateSession::SPEC.envelope, Envelope::Session);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Envelope {
    /// `{success, message, data}`, of the session operations.
    Session,
    /// `{status_code, response_type, data, message?}`, of all others.
    Standard,
}

/// The origin of an operation.
///
/// ```
/// use guichet::operations::CreateSubscription;
/// use guichet::protocol::{Operation, Source};
/// assert_eq!(CreateSubscription::SPEC.source, Source::Decision);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// `decisions.md`: the sandbox's own rule; a real service may have decided otherwise.
    Decision,
    /// The interface document shows it.
    Documented,
}

/// Whether an operation may be sent again if its response was lost.
///
/// ```
/// use guichet::operations::CreateEsimOrder;
/// use guichet::protocol::{Operation, Repeat};
/// assert_eq!(CreateEsimOrder::SPEC.repeat, Repeat::Keyed);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Repeat {
    /// Repeating it does no harm.
    Always,
    /// Repeating it under one [`IDEMPOTENCY_KEY`] does no harm; without a key it may be executed twice.
    Keyed,
    /// It may be executed twice.
    Never,
}
