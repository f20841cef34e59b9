//! The client where there is no page: on a server that renders one. Every call fails with [`Kind::Unsupported`].

use super::builder::ClientBuilder;
use super::client::{Outcome, Quote, Return};
use crate::flow::{Purchase, QuoteRequest, State};
use crate::operations::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod, SessionState};
use crate::protocol::{Error, Kind};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Engine;

/// The order of a checkout, which is not read.
pub(super) struct Order;

/// There are no windows.
pub(super) enum Popup {}

/// The state of a session that was never requested.
pub(super) struct SessionStatus {
    pub(super) state: State,
    pub(super) expires_at: Option<f64>,
    pub(super) email: Option<String>,
}

impl Order {
    pub(super) fn new<T>(_: &T) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Engine {
    pub(super) fn new(_: ClientBuilder) -> Result<Self, Error> {
        Ok(Self)
    }

    pub(super) async fn methods(&self, _: &ListPaymentMethods, _: Duration) -> Result<Vec<PaymentMethod>, Error> {
        unsupported()
    }

    pub(super) async fn fee(&self, _: &CalculateFee, _: Duration) -> Result<FeeBreakdown, Error> {
        unsupported()
    }

    pub(super) async fn quotes(&self, _: &QuoteRequest, _: Duration) -> Result<Vec<Quote>, Error> {
        unsupported()
    }

    pub(super) fn session(&self) -> SessionStatus {
        SessionStatus { state: State::None, expires_at: None, email: None }
    }

    pub(super) async fn validate(&self, _: Duration) -> Result<SessionState, Error> {
        unsupported()
    }

    pub(super) async fn renew(&self) -> Result<(), Error> {
        unsupported()
    }

    pub(super) async fn revoke(&self, _: Duration) -> Result<(), Error> {
        unsupported()
    }

    pub(super) fn popup<P>(&self, _: &Order) -> Option<P> {
        None
    }

    pub(super) async fn checkout(&self, _: Order, _: Option<&Popup>, _: bool, _: Duration) -> Result<Outcome, Error> {
        unsupported()
    }

    pub(super) fn returned(&self) -> Option<Return> {
        None
    }

    pub(super) async fn wait_for_outcome(&self, _: &Purchase, _: Duration) -> Result<Outcome, Error> {
        unsupported()
    }
}

fn unsupported<T>() -> Result<T, Error> {
    Err(Error::new(
        Kind::Unsupported,
        "This needs a page in a browser, and this program is not compiled for one (wasm32).",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{Client, QuoteRequest};
    use crate::flow::{Purchase, State};
    use crate::operations::ListPaymentMethods;
    use crate::protocol::{Error, Kind};
    use crate::values::Amount;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn where_there_is_no_page_every_call_is_unsupported_and_none_panics() {
        let headers = || [("X-CSRF-Token", "1")];
        let client = Client::builder("/pay").merchant("/guichet").merchant_headers(headers).build().unwrap();
        assert_eq!(client, client.clone());
        let session = client.session();
        assert_eq!((session.state(), session.expires_at(), session.email()), (State::None, None, None));
        assert_eq!(ready(client.returned()), None);
        let purchase = Purchase::default();
        let request = QuoteRequest::new(Amount::units(5_000));
        for kind in [
            kind(client.list_payment_methods(&ListPaymentMethods::new())),
            kind(client.quotes(&request)),
            kind(client.checkout(&()).popup().into_future()),
            kind(client.wait_for_outcome(&purchase)),
            kind(session.validate()),
            kind(session.renew()),
            kind(session.revoke()),
        ] {
            assert_eq!(kind, Some(Kind::Unsupported));
        }
    }

    /// Leptos and other frameworks move it between a server's threads.
    #[test]
    fn a_client_without_a_page_may_be_sent_to_another_thread() {
        fn is_send<T: Send + Sync>() {}
        is_send::<Client>();
    }

    fn kind<T>(call: impl Future<Output = Result<T, Error>>) -> Option<Kind> {
        ready(call).err().map(|error| error.kind())
    }

    fn ready<T>(call: impl Future<Output = T>) -> T {
        match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it waits for something"),
        }
    }
}
