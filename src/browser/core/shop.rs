//! The client of a shop's page: composes the parts that all its calls share.

use super::checkout::Checkouts;
use super::flights::SingleFlight;
use super::merchant::MerchantRoutes;
use super::outcome::Purchases;
use super::quotes::PublicReader;
use super::session::{Session, SessionStatus};
use crate::browser::PublicReads;
use crate::protocol::NoCredential;
use std::cell::Cell;
use std::rc::Rc;

/// The options of the page.
pub(crate) struct ShopConfig {
    pub(crate) merchant: MerchantRoutes,
    /// The origins that a `checkout_url` may have.
    pub(crate) checkout_origins: Vec<String>,
    pub(crate) public_reads: PublicReads,
    /// Called when the session's state may have changed.
    pub(crate) on_session: Box<dyn Fn(SessionStatus)>,
}

pub(crate) struct Shop {
    pub(crate) session: Rc<Session>,
    pub(crate) reader: Rc<PublicReader>,
    pub(crate) purchases: Rc<Purchases>,
    pub(crate) checkouts: Rc<Checkouts>,
}

impl Shop {
    /// Creates the client. Sends nothing.
    pub(crate) fn new(config: ShopConfig) -> Self {
        let ShopConfig { merchant, checkout_origins, public_reads, on_session } = config;
        let merchant = Rc::new(merchant);
        let session = Session::open(&merchant.transport, &merchant, on_session);
        let reader = Rc::new(reader(&session, &merchant, public_reads));
        let purchases = Rc::new(Purchases { merchant: Rc::clone(&merchant), session: Rc::clone(&session) });
        let checkouts = Rc::new(Checkouts {
            merchant,
            purchases: Rc::clone(&purchases),
            origins: checkout_origins,
            under_way: SingleFlight::default(),
            warned: Cell::new(false),
        });
        Self { session, reader, purchases, checkouts }
    }
}

fn reader(session: &Rc<Session>, merchant: &Rc<MerchantRoutes>, reads: PublicReads) -> PublicReader {
    let (session, merchant) = (Rc::clone(session), Rc::clone(merchant));
    PublicReader {
        is_merchant: reads == PublicReads::Merchant,
        send: Box::new(move |request, options| match reads {
            PublicReads::Session => Box::pin(Rc::clone(&session).send(request.with_credential(), options)),
            PublicReads::Anonymous => merchant.transport.send(&request, &NoCredential, options),
            PublicReads::Merchant => merchant.read(&request, options),
        }),
    }
}
