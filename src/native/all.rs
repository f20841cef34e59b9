//! Lists as streams: a stream follows the service's cursor and holds one page at a time.

use super::bearer::Bearer;
use super::{Client, CustomerClient, SecretKey, Transport};
use crate::protocol::{Error, Fulfils, Operation, Page, Request, Spec};
use crate::values::SessionToken;
use futures_util::stream::{Stream, StreamExt as _, unfold};
use serde::de::DeserializeOwned;
use std::collections::{HashSet, VecDeque};
use std::fmt;
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
        All::new(self.transport(), Ok(self.key().header().clone()), list)
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
        All::new(self.client.transport(), Bearer::of(&self.token, const { &O::SPEC }), list)
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
    operation: &'static str,
    entries: Pin<Box<dyn Stream<Item = Result<T, Error>> + Send>>,
}

impl<T: DeserializeOwned + Send + 'static> All<T> {
    fn new<O: Operation>(transport: &Transport, bearer: Result<Bearer, Error>, list: &O) -> Self {
        let spec = const { &O::SPEC };
        let pages = Pages {
            transport: transport.clone(),
            bearer,
            spec,
            followed: HashSet::new(),
            read: VecDeque::new(),
            next: Some(Transport::request(list)),
        };
        let entries = unfold(pages, |mut pages| async move {
            let entry = pages.next_entry().await?;
            Some((entry, pages))
        });
        Self { operation: spec.name, entries: Box::pin(entries.fuse()) }
    }

    /// The next entry; `None` after the last entry and after an error.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        self.entries.next().await
    }
}

impl<T> Stream for All<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.entries.as_mut().poll_next(context)
    }
}

impl<T> fmt::Debug for All<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("All").field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// The pages of a list.
struct Pages<T> {
    transport: Transport,
    /// The credential, or why it cannot be sent.
    bearer: Result<Bearer, Error>,
    spec: &'static Spec,
    /// The cursors that were followed: each is requested once.
    followed: HashSet<String>,
    /// The entries that were read and not yet returned.
    read: VecDeque<T>,
    /// The request for the next page, or the error after these entries; `None` after the last page.
    next: Option<Result<Request, Error>>,
}

impl<T: DeserializeOwned> Pages<T> {
    async fn next_entry(&mut self) -> Option<Result<T, Error>> {
        loop {
            if let Some(entry) = self.read.pop_front() {
                return Some(Ok(entry));
            }
            let page = match self.next.take()? {
                Ok(request) => self.read_page(request).await,
                Err(error) => Err(error),
            };
            if let Err(error) = page {
                return Some(Err(error));
            }
        }
    }

    /// Reads a page, and finds the request for the one after it.
    async fn read_page(&mut self, request: Request) -> Result<(), Error> {
        let bearer = self.bearer.clone()?;
        let reply = self.transport.call(self.spec, request.clone(), &bearer).await.result?;
        let page: Page<T> = reply.clone().into_page()?;
        self.next = page.has_more.then(|| {
            let why = match page.next {
                None => "The service says that there are more entries, and names no cursor for them.",
                // The service might send empty pages forever.
                Some(_) if page.entries.is_empty() => "The service sent an empty page and named another after it.",
                Some(cursor) => {
                    let next = request.starting_after(&cursor);
                    if next != request && self.followed.insert(cursor) {
                        return Ok(next);
                    }
                    "The service named a page again that was read already."
                }
            };
            Err(reply.rejected(why))
        });
        self.read = page.entries.into();
        Ok(())
    }
}
