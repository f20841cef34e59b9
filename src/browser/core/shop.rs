//! The client of a shop's page: composes the parts that all its calls share.

use super::checkout::Checkouts;
use super::error::Pending;
use super::flights::SingleFlight;
use super::merchant::MerchantRoutes;
use super::outcome::Purchases;
use super::quotes::ReadPublic;
use super::reply::Reply;
use super::session::{Session, SessionStatus};
use super::time::CallOptions;
use super::transport::{AuthorizedRequest, Transport};
use crate::protocol::NoCredential;
use std::cell::Cell;
use std::rc::Rc;

/// The options of the page.
pub(crate) struct ShopConfig {
    pub(crate) merchant: MerchantRoutes,
    /// The origins that a `checkout_url` may have.
    pub(crate) checkout_origins: Vec<String>,
    /// Whether methods and fees are requested with the session's token.
    pub(crate) reads_with_session: bool,
    /// Called when the session's state may have changed.
    pub(crate) on_session: Box<dyn Fn(SessionStatus)>,
}

pub(crate) struct Shop {
    pub(crate) session: Rc<Session>,
    pub(crate) read_public: ReadPublic,
    pub(crate) purchases: Rc<Purchases>,
    pub(crate) checkouts: Rc<Checkouts>,
}

impl Shop {
    /// Creates the client. Sends nothing.
    pub(crate) fn new(config: ShopConfig) -> Self {
        let ShopConfig { merchant, checkout_origins, reads_with_session, on_session } = config;
        let (transport, merchant) = (Rc::clone(&merchant.transport), Rc::new(merchant));
        let session = Session::open(&transport, &merchant, on_session);
        let purchases = Rc::new(Purchases { merchant: Rc::clone(&merchant), session: Rc::clone(&session) });
        let checkouts = Rc::new(Checkouts {
            merchant,
            purchases: Rc::clone(&purchases),
            origins: checkout_origins,
            under_way: SingleFlight::default(),
            warned: Cell::new(false),
        });
        let read_public = read_public(&session, transport, reads_with_session);
        Self { session, read_public, purchases, checkouts }
    }
}

fn read_public(session: &Rc<Session>, transport: Rc<Transport>, reads_with_session: bool) -> ReadPublic {
    let session = Rc::clone(session);
    Rc::new(move |request: AuthorizedRequest<NoCredential>, options: CallOptions| -> Pending<Reply> {
        if reads_with_session {
            Box::pin(Rc::clone(&session).send(request.with_credential(), options))
        } else {
            transport.send(&request, &NoCredential, options)
        }
    })
}
