//! What a shop decides about its payments, without socket, clock or database: which are open, what a click does, when
//! each is read again and who first, when reading ends, which reference comes next, what has paid and what is to be
//! given back.
//!
//! `decide` says what an `Event` means for an `Order`. A caller commits the order it gives if nobody has changed it
//! since it was loaded, and then does the effects, each of which brings another event. So nothing is sent, and no
//! address is handed out, that is not stored; and a server that is killed between two steps leaves an order that the
//! next event goes on from.
//!
//! `due` says when a payment is read again, and `round` who comes first. `tests/shop/ledger.json` has the cases.

mod amount;
pub mod answer;
mod apply;
mod body;
mod books;
mod changed;
mod click;
mod clock;
pub mod contract;
mod decide;
mod due;
mod event;
mod order;
mod outcome;
mod reconcile;
mod replies;
mod restore;
mod run;
mod shared;
mod statement;
mod store;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod histories;

pub use apply::apply;
pub use body::{Body, MARK, Money, WrongMember};
pub use books::{Books, Day, MethodSum, Mismatch, MismatchReason, OrderRefund, for_each_order, mismatches, refunds};
pub use clock::Clock;
pub use decide::{Decision, decide};
pub use due::{Due, Next, due, hold_until, is_confirmed, is_free, is_held, not_readable, round, to_read};
pub use event::{
    Address, Adopt, Alarm, Answer, Asked, Changed, Click, Effect, Event, Got, Known, Led, OrderState, PaidBy, Purchase,
    Reading, RefundDue, Reply, Resolve, Seen, Service, Verdict,
};
pub use order::{
    Closed, DAY, Duplicate, Entry, Found, FoundState, Order, Payment, RefundKey, Send, SendResult, State, Time, Why,
};
pub use outcome::{Done, ONCE, Outcome, Read, Receiver, Requests, Round};
pub use reconcile::{Compared, Comparison, Difference, DifferenceKind, NotJudged};
pub use run::Ledger;
pub use shared::{Closing, Restore, Shared};
pub use statement::{AmountUnit, StatementRow, StatementRules, WhyNotJudged};
pub use store::{Commit, Loaded, OpenEvent, Row, Store};
