//! A profile while it is being found, and the requests that are tried for it.

use guichet::native::Profile;
use guichet::values::Invalid;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How a payment is read by services that we know.
const READS: [&str; 8] = [
    "/v1/payment-intents/{id}",
    "/v1/payment-intents/{payment_ref}",
    "/v1/payment-intents/{merchant_reference}",
    "GET /v1/payment-intents?payment_ref={payment_ref}",
    "GET /v1/payment-intents?merchant_reference={merchant_reference}",
    "GET /v1/payment-intents?reference={merchant_reference}",
    "/v1/payment-intents/{id}?client_secret={client_secret}",
    "GET /v1/payment-intents?client_secret={client_secret}",
];
const FINDS: [&str; 3] = [
    "GET /v1/payment-intents?merchant_reference={merchant_reference}",
    "GET /v1/payment-intents?reference={merchant_reference}",
    "GET /v1/payment-intents/{merchant_reference}",
];
/// The first is the document's.
const CANCELS: [&str; 4] = [
    "POST /v1/payment-intents/{id}/cancel",
    "POST /v1/payment-intents/{payment_ref}/cancel",
    "DELETE /v1/payment-intents/{id}",
    "DELETE /v1/payment-intents/{payment_ref}",
];

/// The paths that the company documents. They are tried before ours.
#[derive(clap::Args)]
#[command(next_help_heading = "What your company documents")]
pub(super) struct Paths {
    /// How it reads a payment: '/charges/{payment_ref}', also with {id}, {merchant_reference} or {client_secret}. 'POST
    /// ' or 'GET ' in front names the method; without it both are tried. May be repeated.
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// How it finds a payment by your reference: '/charges?reference={merchant_reference}'. May be repeated.
    #[arg(long, value_name = "PATH")]
    find: Vec<String>,
    /// How it cancels a payment: 'POST /charges/{id}/void'. May be repeated.
    #[arg(long, value_name = "PATH")]
    cancel: Vec<String>,
}

/// The requests to try, in this order.
pub(super) struct Candidates {
    pub reads: Vec<Route>,
    pub finds: Vec<Route>,
    pub cancels: Vec<Route>,
}

/// A request that reads, finds or cancels a payment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Route {
    method: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<&'static str>,
}

/// The members of a profile, as far as they are known.
#[derive(Clone, Serialize)]
pub(super) struct Draft {
    pub base_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_url: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checkout_origins: Vec<String>,
    pub read: Route,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find_by_reference: Option<Route>,
    /// Without it as documented; null: nothing is canceled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Option<Route>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, &'static str>,
}

impl Draft {
    pub(super) fn new(base_url: String, gateway_url: Option<String>) -> Self {
        let read = Route { method: "GET".to_owned(), path: READS[0].to_owned(), credential: None };
        let (find_by_reference, cancel) = (None, None);
        let (checkout_origins, statuses) = (Vec::new(), BTreeMap::new());
        Self { base_url, gateway_url, checkout_origins, read, find_by_reference, cancel, statuses }
    }

    pub(super) fn profile(&self) -> Result<Profile, Invalid> {
        Profile::new(&self.to_json())
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    pub(super) fn reading(&self, read: &Route) -> Self {
        Self { read: read.clone(), ..self.clone() }
    }

    pub(super) fn finding(&self, find: &Route) -> Self {
        Self { find_by_reference: Some(find.clone()), ..self.clone() }
    }

    pub(super) fn canceling(&self, cancel: &Route) -> Self {
        Self { cancel: Some(Some(cancel.clone())), ..self.clone() }
    }
}

impl Candidates {
    /// # Errors
    /// If one of the caller's paths is none that a profile may have.
    pub(super) fn new(paths: &Paths) -> Result<Self, Invalid> {
        let draft = Draft::new("https://api.example.com".to_owned(), None);
        let check = |argument: &str, routes: &[Route], with: &dyn Fn(&Route) -> Draft| {
            let wrong = |invalid| Invalid::because(format!("--{argument}: {invalid}"));
            routes.iter().try_for_each(|route| with(route).profile().map(drop).map_err(wrong))
        };
        let own = |paths: &[String], methods| paths.iter().flat_map(|path| Route::named(path, methods)).collect();
        let ours = |paths: &[&str], methods| paths.iter().flat_map(|path| Route::named(path, methods)).collect();
        let (both, changing) = (&["GET", "POST"][..], &["POST", "PUT", "DELETE"][..]);
        let own: [Vec<Route>; 3] = [own(&paths.read, both), own(&paths.find, both), own(&paths.cancel, changing)];
        check("read", &own[0], &|route| draft.reading(route))?;
        check("find", &own[1], &|route| draft.finding(route))?;
        check("cancel", &own[2], &|route| draft.canceling(route))?;
        let ours: [Vec<Route>; 3] = [ours(&READS, both), ours(&FINDS, both), ours(&CANCELS, changing)];
        let [mut reads, finds, cancels] = [0, 1, 2].map(|at| [&own[at][..], &ours[at]].concat());
        // With the key first: a client secret would have to be kept.
        reads.sort_by_key(Route::needs_secret);
        let with_secret: Vec<Route> = reads.iter().map(Route::with_client_secret).collect();
        reads.extend(with_secret);
        Ok(Self { reads, finds, cancels })
    }
}

impl Route {
    /// `POST /charges/{id}`, or a path, which is tried by each method.
    fn named(text: &str, methods: &[&str]) -> Vec<Self> {
        let route =
            |method: &str, path: &str| Self { method: method.to_owned(), path: path.to_owned(), credential: None };
        match text.split_once(' ') {
            Some((method, path)) => vec![route(method, path)],
            None => methods.iter().map(|method| route(method, text)).collect(),
        }
    }

    fn needs_secret(&self) -> bool {
        self.path.contains("{client_secret}")
    }

    fn with_client_secret(&self) -> Self {
        Self { credential: Some("client_secret"), ..self.clone() }
    }

    /// Whether it is the cancellation of the document.
    pub(super) fn is_documented_cancellation(&self) -> bool {
        self.to_string() == CANCELS[0]
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = if self.credential.is_some() { " with the client secret" } else { "" };
        write!(f, "{} {}{with}", self.method, self.path)
    }
}
