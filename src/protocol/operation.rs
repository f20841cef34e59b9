use super::Role;
use serde::Serialize;

/// One operation of the interface: a value of this type is one request, and [`Operation::SPEC`] is all that no caller
/// chooses. Both clients, the sandbox's routes, its faults, traces and documents walk this data.
///
/// ```
/// use guichet::operations::CreatePlan;
/// use guichet::protocol::Operation;
/// assert_eq!(CreatePlan::SPEC.name, "create_plan");
/// assert_eq!(CreatePlan::SPEC.path, "/v1/subscriptions/plans");
/// ```
pub trait Operation: Serialize {
    /// Who may send it.
    type Role: Role;
    /// What its reply holds in `data`. Native decodes it; the browser keeps the service's own object.
    type Output;
    /// Its fixed half.
    const SPEC: Spec;
}

/// The fixed half of an operation.
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
    /// Its name, which faults, traces and tables speak: `calculate_fee`.
    pub name: &'static str,
    /// Its HTTP method.
    pub method: Method,
    /// Its path with `/v1`; `{…}` are fields that travel in the path.
    pub path: &'static str,
    /// The fields that travel in the query. What is in neither path nor query is the body.
    pub query: &'static [&'static str],
    /// The envelope of its reply.
    pub envelope: Envelope,
    /// Whether the document shows it.
    pub source: Source,
    /// Whether sending it again can do harm.
    pub repeat: Repeat,
}

impl Spec {
    /// An operation that reads: always safe to repeat.
    #[must_use]
    pub const fn get(name: &'static str, path: &'static str) -> Self {
        Self { repeat: Repeat::Always, ..Self::new(name, Method::Get, path) }
    }

    /// An operation that makes or does something.
    #[must_use]
    pub const fn post(name: &'static str, path: &'static str) -> Self {
        Self::new(name, Method::Post, path)
    }

    /// An operation that puts something in place of what is there.
    #[must_use]
    pub const fn put(name: &'static str, path: &'static str) -> Self {
        Self::new(name, Method::Put, path)
    }

    /// An operation that takes something away: it is gone however often this is sent.
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

    /// These fields travel in the query.
    #[must_use]
    pub const fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// The reply comes in this envelope.
    #[must_use]
    pub const fn envelope(self, envelope: Envelope) -> Self {
        Self { envelope, ..self }
    }

    /// The document does not show it: a decision of ours.
    #[must_use]
    pub const fn assumed(self) -> Self {
        Self { source: Source::Decision, ..self }
    }

    /// Sending it again does no harm, since the service knows it by a field of its body or does it but once.
    #[must_use]
    pub const fn repeatable(self) -> Self {
        Self { repeat: Repeat::Always, ..self }
    }

    /// Sending it again does no harm under one [`IDEMPOTENCY_KEY`], which is a field of the operation: the service keeps
    /// for a day what it has made under it (a decision).
    #[must_use]
    pub const fn idempotency_key(self) -> Self {
        Self { repeat: Repeat::Keyed, ..self }
    }

    /// Where a field of this name travels.
    pub(crate) fn place(&self, field: &str) -> Place {
        // Most paths hold no field, and this is asked for each field of each call.
        let has_fields = self.path.bytes().any(|byte| byte == b'{');
        let in_path = has_fields
            && self
                .path
                .split('/')
                .any(|segment| segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) == Some(field));
        if in_path {
            Place::Path
        } else if self.query.contains(&field) {
            Place::Query
        } else if self.repeat == Repeat::Keyed && field == IDEMPOTENCY_KEY {
            Place::Header
        } else {
            Place::Body
        }
    }
}

/// The header under which a service does once what it is asked to make; see [`Spec::idempotency_key`].
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Where a field travels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    Body,
    Header,
    Path,
    Query,
}

/// An HTTP method of the interface.
///
/// ```
/// use guichet::protocol::Method;
/// assert_eq!(Method::Delete.as_str(), "DELETE");
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// `DELETE`
    Delete,
    /// `GET`
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// As it is written on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
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
#[non_exhaustive]
pub enum Envelope {
    /// `{success, message, data}`, of the session operations.
    Session,
    /// `{status_code, response_type, data, message?}`, of all others.
    Standard,
}

/// Where an operation comes from.
///
/// ```
/// use guichet::operations::CreateSubscription;
/// use guichet::protocol::{Operation, Source};
/// assert_eq!(CreateSubscription::SPEC.source, Source::Decision);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// `decisions.md`: the sandbox's own rule; a real service may have decided otherwise.
    Decision,
    /// `interface.md`.
    Documented,
}

/// Whether an operation may be sent again when its answer was lost.
///
/// ```
/// use guichet::operations::CreateEsimOrder;
/// use guichet::protocol::{Operation, Repeat};
/// assert_eq!(CreateEsimOrder::SPEC.repeat, Repeat::Keyed);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Repeat {
    /// It does no harm.
    Always,
    /// It does no harm under one [`IDEMPOTENCY_KEY`]; without one it may do twice what was asked once.
    Keyed,
    /// It may do twice what was asked once.
    Never,
}
