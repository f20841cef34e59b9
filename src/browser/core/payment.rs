//! Moves an intent so that nobody is charged twice, and reads it until it is settled or needs its customer.

use super::browser::{notify, pause as sleep};
use super::error::{CallError, Pending};
use super::hosted::HostedCheckout;
use super::time::{CallOptions, now};
use super::transport::AuthorizedRequest;
use crate::flow::{IntentSnapshot, LostCharge, Ms, classify_lost_charge, pause, pause_within};
use crate::operations::{
    AbandonPaymentIntent, AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, Instrument,
};
use crate::protocol::{Kind, Repeat};
use crate::values::{ClientSecret, IntentStatus};
use js_sys::Function;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The greatest number of times one move is sent. It is repeated only if the one before is known not to have arrived.
const MAX_SENDINGS: u32 = 3;

/// A request that changes an intent.
pub(crate) enum Move {
    Pay(Instrument),
    /// With the code that the customer received.
    Answer(String),
    Cancel,
    /// Ends the attempt of mobile money that was read last.
    Abandon,
}

impl Move {
    fn request(self, page: &HostedCheckout) -> Result<AuthorizedRequest<ClientSecret>, CallError> {
        let id = page.id.clone();
        match self {
            Self::Pay(instrument) => AuthorizedRequest::new(&AttachPaymentMethod::new(id, instrument)),
            Self::Answer(code) => AuthorizedRequest::new(&AnswerPaymentIntent::new(id, code)),
            Self::Cancel => AuthorizedRequest::new(&CancelPaymentIntent::new(id)),
            Self::Abandon => {
                let attempt = page.snapshot().attempts.and_then(|attempts| attempts.parse::<u32>().ok());
                AuthorizedRequest::new(&AbandonPaymentIntent::new(id, attempt.unwrap_or_default()))
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Pay(_) => "pay",
            Self::Answer(_) => "answer",
            Self::Cancel => "cancel",
            Self::Abandon => "abandon",
        }
    }
}

/// The options of following an intent.
pub(crate) struct FollowOptions {
    /// The end of following, on the monotonic clock.
    pub(crate) until: Ms,
    /// Called with the intent whenever its state has changed.
    pub(crate) on_status: Option<Function>,
    /// The time limit of each request.
    pub(crate) options: CallOptions,
}

impl FollowOptions {
    const DEFAULT_BUDGET: Ms = 600_000.0;

    /// Follows for this time from now.
    pub(crate) fn new(budget: Option<Ms>, on_status: Option<Function>, options: CallOptions) -> Self {
        Self { until: now() + budget.unwrap_or(Self::DEFAULT_BUDGET), on_status, options }
    }
}

impl HostedCheckout {
    /// Sends a move, and follows the intent. A second move of the same kind joins the first.
    pub(crate) fn move_and_follow(self: Rc<Self>, action: Move, follow: FollowOptions) -> Pending<JsValue> {
        Box::pin(async move {
            let key = action.name();
            let request = action.request(&self)?;
            let under_way = self.moves.under_way(key).unwrap_or_else(|| {
                let page = Rc::clone(&self);
                self.moves.start(
                    String::from(key),
                    Box::pin(async move {
                        // If it is paid or processing, there is nothing to pay: the customer sees its state.
                        let is_open = key != "pay"
                            || page.is_stale.get()
                            || page.snapshot().status == IntentStatus::RequiresAction;
                        if is_open {
                            page.send_once(request, follow.options).await?;
                        }
                        page.follow(follow, true).await
                    }),
                )
            });
            under_way.await
        })
    }

    /// Reads the intent, and follows it.
    pub(crate) async fn look_and_follow(self: Rc<Self>, follow: FollowOptions) -> Result<JsValue, CallError> {
        self.follow(follow, false).await
    }

    /// Reads the intent until it is settled or needs its customer. `is_seen`: it was read just now.
    async fn follow(self: Rc<Self>, follow: FollowOptions, mut is_seen: bool) -> Result<JsValue, CallError> {
        let FollowOptions { until, on_status, options } = follow;
        let mut looks = 1;
        let mut reported = None;
        let mut is_known = is_seen;
        let mut problem = None;
        if !is_seen {
            (looks, is_known, problem) = (2, false, None);
            match self.look(options).await {
                Ok(()) => (is_seen, is_known) = (true, true),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => problem = Some(error),
            }
        }
        loop {
            let standing = self.snapshot();
            let is_settled = standing.status.is_final() || standing.status == IntentStatus::RequiresAction;
            if reported.as_ref() != Some(&standing) {
                if let Some(on_status) = &on_status {
                    notify(on_status, &self.intent(), &JsValue::UNDEFINED);
                }
                reported = Some(standing);
            }
            match pause_within(looks, until - now()) {
                Some(time) if !(is_known && is_settled) => sleep(time).await,
                // An intent that was read before this call is no result of it.
                _ => return problem.filter(|_| !is_seen).map_or_else(|| Ok(self.intent()), Err),
            }
            looks += 1;
            problem = match self.look(options.restarted()).await {
                Err(error) if is_final(&error) => return Err(error),
                result => result.err(),
            };
            is_known = problem.is_none();
            is_seen |= is_known;
        }
    }

    /// Sends a move. If its reply is lost, reads the intent, and sends the move again only if it is known not to have
    /// arrived.
    async fn send_once(&self, request: AuthorizedRequest<ClientSecret>, options: CallOptions) -> Result<(), CallError> {
        let mut before = self.snapshot();
        if self.is_stale.get() {
            // The result of the move before is not known.
            self.look(options.restarted()).await?;
            before = self.snapshot();
            let is_repeatable = request.spec().repeat == Repeat::Always;
            if !is_repeatable && before.status != IntentStatus::RequiresAction {
                // It has arrived, so it is followed.
                return Ok(());
            }
        }
        let mut sendings = 0;
        loop {
            sendings += 1;
            self.is_stale.set(true);
            let result = self.send(&request, options.restarted())?.await.and_then(|reply| self.keep(&reply));
            let Err(error) = result else { return Ok(()) };
            // A conflict means that another tab was first: the intent's state says more than the error.
            if !(error.may_have_executed() || error.status() == 409) {
                self.is_stale.set(false);
                return Err(error);
            }
            if !self.look_after(options).await {
                return Err(error);
            }
            match self.classify(&before, error, request.spec().name)? {
                Next::Follow => return Ok(()),
                Next::Retry(error) if sendings >= MAX_SENDINGS => return Err(error),
                Next::Retry(_) => {}
            }
        }
    }

    /// Reads the result of a move, repeatedly, for as long as one call may take. Returns whether it could be read.
    async fn look_after(&self, options: CallOptions) -> bool {
        let options = options.restarted();
        let mut looks = 1;
        loop {
            let Err(problem) = self.look(options).await else { return true };
            let time = pause(looks);
            if !problem.may_have_executed() || options.remaining() <= time {
                return false;
            }
            sleep(time).await;
            looks += 1;
        }
    }

    /// Decides about a move whose reply was lost or refused, after the intent was read.
    fn classify(&self, before: &IntentSnapshot, error: CallError, operation: &'static str) -> Result<Next, CallError> {
        let now = self.snapshot();
        let was_refused = !error.may_have_executed();
        match classify_lost_charge(before, &now) {
            _ if was_refused && now.status.is_final() => {
                let message =
                    ["This payment is finished: ", now.status.as_str(), ". Show the intent as it is, and leave."]
                        .concat();
                Err(CallError::of(Kind::Settled, &message, operation, error.get("reply")))
            }
            LostCharge::Follow if !was_refused => Ok(Next::Follow),
            // A request with a reply, or one that is only late, may still be processed: it is not sent again.
            LostCharge::SendAgain if error.is(Kind::Offline) => Ok(Next::Retry(error)),
            _ => Err(error),
        }
    }
}

/// The action after a lost reply.
enum Next {
    Follow,
    Retry(CallError),
}

/// Whether no further read can change this error.
fn is_final(error: &CallError) -> bool {
    error.is_one_of(&[Kind::Session, Kind::NotFound, Kind::Unsupported])
}
