//! Lists as streams: a stream follows the service's cursor and holds one page at a time.

use super::fetch::Reply;
use super::{Client, CustomerClient, SecretKey, Transport};
use crate::protocol::{Credential, Error, Fulfils, Operation, Page, Request, Spec};
use crate::values::SessionToken;
use futures_core::Stream;
use serde::de::DeserializeOwned;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

impl Client {
    /// Every entry of a list, page after page. It holds one page at a time, requests a page only after every entry of
    /// the one before was taken, and ends after an error. If the service's cursors form a circle, or if it says that
    /// there are more entries but sends no cursor, the list ends with an error of kind
    /// [`Unreadable`](crate::protocol::Kind::Unreadable), which keeps the reply.
    ///
    /// A service that sends no cursor beside its array (the document shows none) has sent the whole list.
    ///
    #[doc = example!()]
    /// use guichet::operations::ListPaymentIntents;
    /// use guichet::values::PageLimit;
    /// # for number in 1..=3 { client.create_payment_intent(&order(number)?).await?; }
    /// let mut payments = client.all(&ListPaymentIntents::new().limit(PageLimit::new(2)?));
    /// let mut count = 0;
    /// while let Some(payment) = payments.next().await {
    ///     println!("{}", payment?.id);
    ///     count += 1;
    /// }
    /// assert_eq!(count, 3);
    /// # Ok(()) }
    /// ```
    pub fn all<O, T>(&self, list: &O) -> All<T>
    where
        O: Operation<Output = Vec<T>>,
        T: DeserializeOwned + Send + 'static,
        SecretKey: Fulfils<O::Role>,
    {
        All::new(self, None, list)
    }
}

impl CustomerClient {
    /// Every entry of a list that a session token may request; see [`Client::all`].
    pub fn all<O, T>(&self, list: &O) -> All<T>
    where
        O: Operation<Output = Vec<T>>,
        T: DeserializeOwned + Send + 'static,
        SessionToken: Fulfils<O::Role>,
    {
        All::new(&self.client, Some(self.token.clone()), list)
    }
}

/// The entries of a list: [`Client::all`]. It is a [`Stream`]; [`All::next`] needs no trait.
///
/// ```no_run
/// # async fn print(mut payments: guichet::native::All<guichet::operations::PaymentIntent>) -> Result<(), guichet::protocol::Error> {
/// while let Some(payment) = payments.next().await {
///     println!("{}", payment?.id);
/// }
/// # Ok(()) }
/// ```
#[must_use = "a list sends no request until its next entry is requested"]
pub struct All<T> {
    client: Client,
    /// The session token, if it is not the merchant's list.
    token: Option<SessionToken>,
    spec: &'static Spec,
    /// The cursors that were followed: each is requested once.
    followed: HashSet<String>,
    state: State<T>,
}

enum State<T> {
    /// A page, and the request for the next one, the error after this one, or `None` after the last.
    Reading(VecDeque<T>, Option<Result<Request, Error>>),
    /// The next page is requested.
    Fetching(Request, Fetching<T>),
    /// An error that was not yet returned, then the end.
    Ending(Option<Error>),
}

/// The page, and its reply.
type Fetching<T> = Pin<Box<dyn Future<Output = Result<(Page<T>, Reply), Error>> + Send>>;

impl<T: DeserializeOwned + Send + 'static> All<T> {
    fn new<O: Operation>(client: &Client, token: Option<SessionToken>, list: &O) -> Self {
        let state = State::Reading(VecDeque::new(), Some(Transport::request(list)));
        Self { client: client.clone(), token, spec: const { &O::SPEC }, followed: HashSet::new(), state }
    }

    /// The next entry; `None` after the last entry and after an error.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    fn fetch_page(&self, request: &Request) -> Fetching<T> {
        let (client, token, spec, request) = (self.client.clone(), self.token.clone(), self.spec, request.clone());
        Box::pin(async move {
            let credential: &(dyn Credential + Sync) = match &token {
                Some(token) => token,
                None => client.key(),
            };
            let reply = client.fetch(spec, request, credential).await?;
            Ok((reply.clone().into_page(spec)?, reply))
        })
    }

    /// The state after a page: its entries, and the request for the next page.
    fn turn(&mut self, page: Page<T>, reply: Reply, request: &Request) -> State<T> {
        let next = page.has_more.then(|| {
            let why = match page.next {
                None => "The service says that there are more entries, and names no cursor for them.",
                // The service might send empty pages forever.
                Some(_) if page.entries.is_empty() => "The service sent an empty page and named another after it.",
                Some(cursor) => {
                    let next = request.starting_after(&cursor);
                    if next != *request && self.followed.insert(cursor) {
                        return Ok(next);
                    }
                    "The service named a page again that was read already."
                }
            };
            Err(reply.rejected(self.spec, why))
        });
        State::Reading(page.entries.into(), next)
    }
}

impl<T: DeserializeOwned + Send + 'static> Stream for All<T> {
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match &mut this.state {
                State::Ending(error) => return Poll::Ready(error.take().map(Err)),
                State::Reading(entries, next) => match (entries.pop_front(), next.take()) {
                    (Some(entry), after) => {
                        *next = after;
                        return Poll::Ready(Some(Ok(entry)));
                    }
                    (None, Some(Ok(request))) => {
                        this.state = State::Fetching(request.clone(), this.fetch_page(&request));
                    }
                    (None, Some(Err(error))) => this.state = State::Ending(Some(error)),
                    (None, None) => this.state = State::Ending(None),
                },
                State::Fetching(request, fetching) => match fetching.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok((page, reply))) => {
                        let request = request.clone();
                        this.state = this.turn(page, reply, &request);
                    }
                    Poll::Ready(Err(error)) => this.state = State::Ending(Some(error)),
                },
            }
        }
    }
}

/// Nothing in it is pinned, so it can be moved.
impl<T> Unpin for All<T> {}

impl<T> fmt::Debug for All<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("All").field("operation", &self.spec.name).finish_non_exhaustive()
    }
}
