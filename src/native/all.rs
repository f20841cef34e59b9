//! A list from its first entry to its last: a stream that follows the service's cursor and holds one page at a time.

use super::fetch::Answer;
use super::{Client, CustomerClient, SecretKey};
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
    /// Every entry of a list, page after page, for as long as somebody asks for the next. It holds one page at a time,
    /// asks for a page only once the one before is used up, and ends after an error. If the service sends it in a circle, or
    /// says that there are more entries and names no cursor, it ends with an error of kind
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
    /// Every entry of a list that a session token may ask for, as [`Client::all`].
    pub fn all<O, T>(&self, list: &O) -> All<T>
    where
        O: Operation<Output = Vec<T>>,
        T: DeserializeOwned + Send + 'static,
        SessionToken: Fulfils<O::Role>,
    {
        All::new(&self.client, Some(self.token.clone()), list)
    }
}

/// The entries of a list: [`Client::all`]. A [`Stream`], and [`All::next`] for those who want no more than that.
///
/// ```no_run
/// # async fn print(mut payments: guichet::native::All<guichet::operations::PaymentIntent>) -> Result<(), guichet::protocol::Error> {
/// while let Some(payment) = payments.next().await {
///     println!("{}", payment?.id);
/// }
/// # Ok(()) }
/// ```
#[must_use = "a list that nobody asks for its next entry asks the service nothing"]
pub struct All<T> {
    client: Client,
    /// Whose list it is, where it is not the merchant's.
    token: Option<SessionToken>,
    spec: &'static Spec,
    /// What follows each cursor is asked for once.
    followed: HashSet<String>,
    state: State<T>,
}

enum State<T> {
    /// A page is at hand, and perhaps the request of the next, or why there is none.
    Reading(VecDeque<T>, Option<Result<Request, Error>>),
    /// A page is being asked for.
    Asking(Request, Asking<T>),
    /// An error that was not told yet, and the end.
    Ending(Option<Error>),
}

/// The page, and the reply that it is read from.
type Asking<T> = Pin<Box<dyn Future<Output = Result<(Page<T>, Answer), Error>> + Send>>;

impl<T: DeserializeOwned + Send + 'static> All<T> {
    fn new<O: Operation>(client: &Client, token: Option<SessionToken>, list: &O) -> Self {
        let state = State::Reading(VecDeque::new(), Some(Client::request(list)));
        Self { client: client.clone(), token, spec: const { &O::SPEC }, followed: HashSet::new(), state }
    }

    /// The next entry; `None` after the last, and after an error.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    fn ask(&self, request: &Request) -> Asking<T> {
        let (client, token, spec, request) = (self.client.clone(), self.token.clone(), self.spec, request.clone());
        Box::pin(async move {
            let credential: &(dyn Credential + Sync) = match &token {
                Some(token) => token,
                None => client.key(),
            };
            let answer = client.fetch(spec, request, credential).await?;
            Ok((answer.clone().into_page(spec)?, answer))
        })
    }

    /// What is read next, after this page of that request.
    fn turn(&mut self, page: Page<T>, answer: Answer, request: &Request) -> State<T> {
        let next = page.has_more.then(|| {
            let why = match page.next {
                None => "The service says that there are more entries, and names no cursor for them.",
                // Following these might never end.
                Some(_) if page.entries.is_empty() => "The service sent an empty page and named another after it.",
                Some(cursor) => {
                    let next = request.starting_after(&cursor);
                    if next != *request && self.followed.insert(cursor) {
                        return Ok(next);
                    }
                    "The service named a page again that was read already."
                }
            };
            Err(answer.rejected(self.spec, why))
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
                    (None, Some(Ok(request))) => this.state = State::Asking(request.clone(), this.ask(&request)),
                    (None, Some(Err(error))) => this.state = State::Ending(Some(error)),
                    (None, None) => this.state = State::Ending(None),
                },
                State::Asking(request, asking) => match asking.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok((page, answer))) => {
                        let request = request.clone();
                        this.state = this.turn(page, answer, &request);
                    }
                    Poll::Ready(Err(error)) => this.state = State::Ending(Some(error)),
                },
            }
        }
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for All<T> {}

impl<T> fmt::Debug for All<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("All").field("operation", &self.spec.name).finish_non_exhaustive()
    }
}
