//! The client of a shop's page: the parts that all its calls share.

use super::call_options::CallOptions;
use super::checkout::Checkout;
use super::events::Pending;
use super::merchant::MerchantRoutes;
use super::outcome::Outcome;
use super::page::Tabs;
use super::quotes::PublicReads;
use super::session::{Session, SessionStatus};
use super::single_flight::SingleFlight;
use super::transport::{AuthorizedRequest, Reply, Transport};
use crate::protocol::NoCredential;
use std::cell::Cell;
use std::rc::{Rc, Weak};

/// The options of the page.
pub(crate) struct ShopConfig {
    pub(crate) transport: Transport,
    pub(crate) merchant: MerchantRoutes,
    /// The origins that a `checkout_url` may have.
    pub(crate) checkout_origins: Vec<String>,
    /// Whether methods and fees are requested with the session's token.
    pub(crate) reads_with_session: bool,
    /// Called when the session's state may have changed.
    pub(crate) on_session: Box<dyn Fn(SessionStatus)>,
}

pub(crate) struct Shop {
    pub(super) transport: Rc<Transport>,
    pub(super) merchant: MerchantRoutes,
    pub(super) session: Session,
    pub(super) tabs: Option<Tabs>,
    pub(super) checkout_origins: Vec<String>,
    pub(super) renewals: SingleFlight<()>,
    pub(super) checkouts: SingleFlight<Outcome>,
    /// Whether the console already says that the return nonce is missing.
    pub(super) warned: Cell<bool>,
    reads_with_session: bool,
}

impl Shop {
    /// Creates the client. Sends nothing.
    pub(crate) fn new(config: ShopConfig) -> Rc<Self> {
        let ShopConfig { transport, merchant, checkout_origins, reads_with_session, on_session } = config;
        Rc::new_cyclic(|shop: &Weak<Self>| {
            let shop = shop.clone();
            let hear = move |message: &str| {
                if let Some(shop) = shop.upgrade() {
                    shop.hear(message);
                }
            };
            Self {
                tabs: Tabs::open(transport.base.with("#guichet"), hear),
                transport: Rc::new(transport),
                merchant,
                session: Session::new(on_session),
                checkout_origins,
                renewals: SingleFlight::default(),
                checkouts: SingleFlight::default(),
                warned: Cell::new(false),
                reads_with_session,
            }
        })
    }

    /// Starts a checkout, or joins that of an equal order.
    pub(crate) fn checkout(self: &Rc<Self>, checkout: Checkout) -> Pending<Outcome> {
        Box::pin(Rc::clone(self).start_or_join(checkout))
    }
}

impl PublicReads for Shop {
    fn read_public(self: Rc<Self>, request: AuthorizedRequest<NoCredential>, options: CallOptions) -> Pending<Reply> {
        if self.reads_with_session {
            Box::pin(async move { self.send_with_session(request.with_credential(), options).await })
        } else {
            self.transport.send(&request, &NoCredential, options)
        }
    }
}
