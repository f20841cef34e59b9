//! Faults that a tester asks for: the next calls of an operation go wrong, in one of the ways that calls go wrong.

use crate::protocol::Operation;
use serde_json::{Value, json};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The next calls of one operation go wrong. [`Tenant::fault`](super::Tenant::fault) asks for it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use guichet::operations::CreatePaymentIntent;
/// use guichet::sandbox::{Fault, Sandbox};
///
/// let sandbox = Sandbox::start().await?;
/// let shop = sandbox.merchant().await?;
/// shop.fault(Fault::lost_response::<CreatePaymentIntent>().times(2)); // stored, and then nobody hears of it, twice
/// shop.fault(Fault::status::<CreatePaymentIntent>(503).retry_after(1));
/// assert_eq!(shop.faults().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    pub(super) operation: &'static str,
    pub(super) kind: FaultKind,
    pub(super) count: u32,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// Done, but only after a while.
    Delay {
        /// How long.
        milliseconds: u64,
    },
    /// Not done: the connection ends without an answer.
    Drop,
    /// Done and stored, and then the connection ends without an answer.
    LostResponse,
    /// Done and stored, and then the answer is a page of HTML, as a gateway might send it.
    Malformed,
    /// Not done: refused with this status.
    Status {
        /// From 400 to 599.
        status: u16,
        /// What `Retry-After` says, in seconds.
        retry_after: Option<u32>,
    },
    /// Done and stored, and then the connection ends in the middle of the answer.
    Truncate,
}

/// How many faults of one merchant wait at once. One fault may be for many calls.
pub(super) const MOST_FAULTS: usize = 1000;

/// A merchant has as many faults as may wait.
#[derive(Debug)]
pub(super) struct TooManyFaults;

impl fmt::Display for TooManyFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("A merchant has at most 1,000 faults at once. Give one fault a `count`, or delete those that wait.")
    }
}

/// The longest a call is delayed.
pub(super) const LONGEST_DELAY: u64 = 600_000;

impl Fault {
    fn once<O: Operation>(kind: FaultKind) -> Self {
        Self { operation: O::SPEC.name, kind, count: 1 }
    }

    /// It is done, but only after a while: ten minutes at most.
    #[must_use]
    pub fn delay<O: Operation>(by: Duration) -> Self {
        let milliseconds = u64::try_from(by.as_millis()).unwrap_or(u64::MAX).min(LONGEST_DELAY);
        Self::once::<O>(FaultKind::Delay { milliseconds })
    }

    /// It is not done: the connection ends without an answer.
    #[must_use]
    pub fn drop<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::Drop)
    }

    /// It is done and stored, and then the connection ends without an answer.
    #[must_use]
    pub fn lost_response<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::LostResponse)
    }

    /// It is done and stored, and then the answer is a page of HTML.
    #[must_use]
    pub fn malformed<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::Malformed)
    }

    /// It is not done: it is refused with this status, from 400 to 599. Any other counts as 500.
    #[must_use]
    pub fn status<O: Operation>(status: u16) -> Self {
        let status = if (400..=599).contains(&status) { status } else { 500 };
        Self::once::<O>(FaultKind::Status { status, retry_after: None })
    }

    /// It is done and stored, and then the connection ends in the middle of the answer.
    #[must_use]
    pub fn truncate<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::Truncate)
    }

    /// With a `Retry-After`; it says something beside a status alone.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        if let FaultKind::Status { retry_after, .. } = &mut self.kind {
            *retry_after = Some(seconds);
        }
        self
    }

    /// So many calls, one after another.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// The operation whose calls go wrong.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// How they go wrong.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// How many calls are still to go wrong.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// As the side door writes it.
    pub(super) fn written(&self) -> Value {
        let mut fields = json!({ "operation": self.operation, "kind": self.kind.as_str(), "count": self.count });
        match self.kind {
            FaultKind::Delay { milliseconds } => fields["milliseconds"] = json!(milliseconds),
            FaultKind::Status { status, retry_after } => {
                fields["status"] = json!(status);
                fields["retry_after"] = json!(retry_after);
            }
            FaultKind::Drop | FaultKind::LostResponse | FaultKind::Malformed | FaultKind::Truncate => {}
        }
        fields
    }
}

impl FaultKind {
    /// The word of the side door.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delay { .. } => "delay",
            Self::Drop => "drop",
            Self::LostResponse => "lost_response",
            Self::Malformed => "malformed",
            Self::Status { .. } => "status",
            Self::Truncate => "truncate",
        }
    }
}

/// Finds the operation of this name, or says which operations there are.
///
/// # Errors
/// A sentence that lists them, with the nearest name first where one is near.
pub(super) fn operation_named(name: &str) -> Result<&'static str, String> {
    use crate::operations::*;
    macro_rules! names {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC.name),*]
        };
    }
    let names = crate::every_operation!(names);
    if let Some(known) = names.into_iter().find(|known| *known == name) {
        return Ok(known);
    }
    let likeness = |known: &&str| strsim::jaro(known, name);
    let nearest = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let suggestion = nearest.filter(|known| likeness(known) > 0.8).map(|known| format!(" Did you mean {known}?"));
    let suggestion = suggestion.unwrap_or_default();
    Err(format!("There is no operation of this name.{suggestion} The operations are: {}.", names.join(", ")))
}

/// A merchant's faults that are still to come, in the order they were asked for.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    /// Adds one behind the others.
    ///
    /// # Errors
    /// Where [`MOST_FAULTS`] wait already.
    pub(super) fn add(&self, fault: Fault) -> Result<(), TooManyFaults> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() >= MOST_FAULTS {
            return Err(TooManyFaults);
        }
        if fault.count > 0 {
            faults.push(fault);
        }
        Ok(())
    }

    /// How this call goes wrong, if it does; that fault has then struck once.
    pub(super) fn take(&self, operation: &str) -> Option<FaultKind> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = faults.iter().position(|fault| fault.operation == operation)?;
        let kind = faults[place].kind;
        faults[place].count -= 1;
        if faults[place].count == 0 {
            faults.remove(place);
        }
        Some(kind)
    }

    pub(super) fn list(&self) -> Vec<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
