//! The hosted checkout page: one intent, paid with its client secret.

use super::browser::{current_address, history_state, navigate, page, replace_address};
use super::error::{CallError, Pending, check_address, check_no_secret_key, check_no_secret_key_in};
use super::flights::SingleFlight;
use super::late::{self, late_approval_of_payment, seconds};
use super::quotes::PublicReader;
use super::reply::Reply;
use super::time::CallOptions;
use super::transport::{AuthorizedRequest, Transport};
use super::value::{get, get_text, merged, object, optional, text};
use crate::flow::{IntentSnapshot, LateApproval, open, path_of, redirect_address};
use crate::operations::{
    AbandonPaymentIntent, AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, ReadPaymentIntent,
};
use crate::protocol::Operation;
use crate::values::{Address, ClientSecret, IntentId, IntentStatus};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The options of the page.
pub(crate) struct HostedConfig {
    pub(crate) transport: Transport,
    pub(crate) id: IntentId,
    pub(crate) secret: ClientSecret,
    /// The origins that `leave` may go to; any if it is empty.
    pub(crate) redirect_origins: Vec<String>,
    /// The paths of the operations that this service has elsewhere: an object, by the operation's name.
    pub(crate) paths: JsValue,
}

pub(crate) struct HostedCheckout {
    transport: Rc<Transport>,
    pub(super) id: IntentId,
    secret: ClientSecret,
    redirect_origins: Vec<String>,
    paths: JsValue,
    /// The service's own object, as it was last read.
    pub(super) intent: RefCell<JsValue>,
    /// Whether a declined attempt of it may still become money, by the `Date` of that reply.
    late: Cell<LateApproval>,
    /// A move was sent, and its result is not known yet.
    pub(super) is_stale: Cell<bool>,
    /// The move in progress, which a second one of its kind joins.
    pub(super) moves: SingleFlight<Result<JsValue, CallError>>,
}

/// The operations that the document does not show and that a service may have at other paths.
pub(crate) const MOVABLE: [&str; 5] = [
    ReadPaymentIntent::SPEC.name,
    AttachPaymentMethod::SPEC.name,
    AnswerPaymentIntent::SPEC.name,
    CancelPaymentIntent::SPEC.name,
    AbandonPaymentIntent::SPEC.name,
];

impl HostedCheckout {
    /// Checks the paths. Sends nothing.
    ///
    /// # Errors
    /// If a path is invalid.
    pub(crate) fn new(config: HostedConfig) -> Result<Rc<Self>, CallError> {
        let HostedConfig { transport, id, secret, redirect_origins, paths } = config;
        for name in MOVABLE {
            if let Some(path) = get(&paths, name) {
                path_of(&text(&path).unwrap_or_default(), "")
                    .map_err(|invalid| CallError::field("paths", invalid.reason()))?;
            }
        }
        Ok(Rc::new(Self {
            transport: Rc::new(transport),
            id,
            secret,
            redirect_origins,
            paths,
            intent: RefCell::default(),
            late: Cell::new(LateApproval::Open),
            is_stale: Cell::new(false),
            moves: SingleFlight::default(),
        }))
    }

    /// The service's own object, as it was last read.
    pub(crate) fn intent(&self) -> JsValue {
        self.intent.borrow().clone()
    }

    /// `{state, until?}`: whether a declined attempt may still become money, as the intent was last read.
    pub(crate) fn late(&self) -> JsValue {
        late::written(self.late.get())
    }

    /// Sends a request with the intent's own secret, to the path where this service has the operation. It never shares
    /// a request: a read that began before a charge was sent does not show that charge.
    pub(super) fn send(
        &self,
        request: &AuthorizedRequest<ClientSecret>,
        options: CallOptions,
    ) -> Result<Pending<Reply>, CallError> {
        let template = get_text(&self.paths, request.spec().name);
        let path = template.and_then(|path| path_of(&path, self.id.as_str()).ok());
        self.transport.send_alone(request, path.as_deref(), &self.secret, options)
    }

    /// Keeps the service's object as the current intent.
    pub(super) fn keep(&self, reply: &Reply) -> Result<(), CallError> {
        let intent = reply.data();
        if !get(&intent, "status").is_some_and(|status| status.is_string()) {
            return Err(reply.unreadable());
        }
        self.late.set(late_approval_of_payment(&intent, seconds(reply.date())));
        self.intent.replace(intent);
        self.is_stale.set(false);
        Ok(())
    }

    pub(super) fn snapshot(&self) -> IntentSnapshot {
        let intent = self.intent.borrow();
        IntentSnapshot {
            status: IntentStatus::from(get_text(&intent, "status").unwrap_or_default()),
            attempts: get_text(&intent, "attempts"),
            next_action: get(&intent, "next_action").and_then(|action| get_text(&action, "type")),
        }
    }

    /// Follows the address of the intent's own `next_action`.
    pub(crate) fn proceed(&self) -> Result<(), CallError> {
        let action = get(&self.intent.borrow(), "next_action").unwrap_or_default();
        let is_redirect = get_text(&action, "type").as_deref() == Some("redirect");
        let address = get_text(&action, "url").filter(|_| is_redirect).unwrap_or_default();
        check_no_secret_key_in(&address)?;
        check_address(Address::new(&address))?;
        page().map_or(Ok(()), |(window, _)| navigate(&window, &address, false))
    }

    /// Goes to the intent's own `redirect_url`.
    pub(crate) fn leave(&self) -> Result<(), CallError> {
        let intent = self.intent.borrow();
        let fields = ["payment_ref", "merchant_reference", "status"].map(|name| (name, get_text(&intent, name)));
        let mut known = vec![("payment_intent", self.id.as_str())];
        known.extend(fields.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        let address = get_text(&intent, "redirect_url").unwrap_or_default();
        let address = check_address(redirect_address(&address, &self.redirect_origins, &known))?;
        page().map_or(Ok(()), |(window, _)| navigate(&window, &address, true))
    }

    /// Reads the intent and keeps it.
    pub(crate) async fn look(&self, options: CallOptions) -> Result<(), CallError> {
        let request = AuthorizedRequest::new(&ReadPaymentIntent::new(self.id.clone()))?;
        self.keep(&self.send(&request, options)?.await?)
    }

    /// Reads methods and fees with the intent's own secret.
    pub(crate) fn reader(&self) -> Rc<PublicReader> {
        let (transport, secret) = (Rc::clone(&self.transport), self.secret.clone());
        Rc::new(PublicReader {
            is_merchant: false,
            send: Box::new(move |request, options| transport.send(&request.with_credential(), &secret, options)),
        })
    }
}

/// Checks the identifier and the secret of a page's intent.
///
/// # Errors
/// If one of them is missing.
pub(crate) fn check_intent(id: Option<String>, secret: Option<String>) -> Result<(IntentId, ClientSecret), CallError> {
    let (Some(id), Some(secret)) = (id.and_then(|id| IntentId::new(id).ok()), secret) else {
        return Err(CallError::field("intent", "The address has no payment intent, or no client secret."));
    };
    check_no_secret_key(id.as_str())?;
    check_no_secret_key(&secret)?;
    Ok((id, ClientSecret::new(secret)))
}

/// The identifier and the client secret of an address. If it is the page's own, the secret moves from the address bar
/// to `history.state`, where a reload and the back button find it.
pub(crate) fn intent_of_address(address: &str) -> Result<(Option<String>, Option<String>), CallError> {
    check_no_secret_key_in(address)?;
    let opened = open(address);
    if current_address().as_deref() != Some(address) {
        return Ok((opened.id, opened.client_secret));
    }
    let state = history_state();
    match opened.client_secret {
        Some(secret) => {
            let kept = object(&[("id", optional(opened.id.as_deref())), ("client_secret", optional(Some(&*secret)))]);
            let state = merged(&state, &object(&[("guichet", Some(kept))]));
            replace_address(&state, &opened.clean)?;
            Ok((opened.id, Some(secret)))
        }
        None => {
            let kept = get(&state, "guichet").unwrap_or_default();
            let is_same = get_text(&kept, "id") == opened.id;
            Ok((opened.id, get_text(&kept, "client_secret").filter(|_| is_same)))
        }
    }
}
