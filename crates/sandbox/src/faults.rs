//! Injected faults: the next calls of an operation fail in a chosen way.

use super::unavailable::Unavailable;
use guichet::flow::nearest;
use guichet::protocol::{Operation, Spec};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use strum::IntoStaticStr;

/// Makes the next calls of one operation fail. [`Tenant::fault`](super::Tenant::fault) adds it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use guichet::operations::CreatePaymentIntent;
/// use guichet_sandbox::{Fault, Sandbox};
///
/// let sandbox = Sandbox::start().await?;
/// let shop = sandbox.merchant().await?;
/// shop.fault(Fault::lost_response::<CreatePaymentIntent>().times(2)).await?; // twice: stored, but the response is lost
/// shop.fault(Fault::status::<CreatePaymentIntent>(503).retry_after(1)).await?;
/// assert_eq!(shop.faults().await?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Fault {
    pub(super) operation: &'static str,
    #[serde(flatten)]
    pub(super) kind: FaultKind,
    pub(super) count: u32,
}

/// How a call fails.
///
/// ```
/// use guichet::operations::CreatePlan;
/// use guichet_sandbox::{Fault, FaultKind};
/// assert_eq!(Fault::drop::<CreatePlan>().kind(), FaultKind::Drop);
/// ```
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(tag = "kind", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FaultKind {
    /// Executed after a delay.
    Delay {
        /// The delay.
        milliseconds: u64,
    },
    /// Not executed: the connection is closed without a response.
    Drop,
    /// Executed and stored; then the connection is closed without a response.
    LostResponse,
    /// Executed and stored; the response is a page of HTML, as from a gateway.
    Malformed,
    /// Not executed: the response is an error with this status.
    Status {
        /// From 400 to 599.
        status: u16,
        /// The `Retry-After` header, in seconds.
        retry_after: Option<u32>,
    },
    /// Executed and stored; the connection is closed in the middle of the response.
    Truncate,
}

/// The most waiting faults of one merchant. One fault may be for many calls.
pub(super) const MAX_FAULTS: usize = 1000;

/// Why a fault was not added.
#[derive(Debug)]
pub enum AddFaultError {
    /// The merchant has 1,000 waiting faults, the most of one merchant.
    TooMany,
    /// The store failed.
    Unavailable(Unavailable),
}

impl fmt::Display for AddFaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => f.write_str(
                "A merchant has at most 1,000 waiting faults. Give one fault a `count`, or delete the waiting ones.",
            ),
            Self::Unavailable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AddFaultError {}

impl From<Unavailable> for AddFaultError {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error)
    }
}

/// The longest delay, in milliseconds.
pub(super) const LONGEST_DELAY: u32 = 600_000;

impl Fault {
    fn once<O: Operation>(kind: FaultKind) -> Self {
        Self { operation: O::SPEC.name, kind, count: 1 }
    }

    /// The call is executed after a delay of at most ten minutes.
    #[must_use]
    pub fn delay<O: Operation>(by: Duration) -> Self {
        let milliseconds = u64::try_from(by.as_millis()).unwrap_or(u64::MAX).min(LONGEST_DELAY.into());
        Self::once::<O>(FaultKind::Delay { milliseconds })
    }

    /// The call is not executed: the connection is closed without a response.
    #[must_use]
    pub fn drop<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::Drop)
    }

    /// The call is executed and stored; then the connection is closed without a response.
    #[must_use]
    pub fn lost_response<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::LostResponse)
    }

    /// The call is executed and stored; the response is a page of HTML.
    #[must_use]
    pub fn malformed<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::Malformed)
    }

    /// The call is not executed: the response is an error with this status, 400 to 599. Any other number counts as 500.
    #[must_use]
    pub fn status<O: Operation>(status: u16) -> Self {
        let status = if (400..=599).contains(&status) { status } else { 500 };
        Self::once::<O>(FaultKind::Status { status, retry_after: None })
    }

    /// The call is executed and stored; the connection is closed in the middle of the response.
    #[must_use]
    pub fn truncate<O: Operation>() -> Self {
        Self::once::<O>(FaultKind::Truncate)
    }

    /// Adds a `Retry-After` header. Only [`Fault::status`] has one.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        if let FaultKind::Status { retry_after, .. } = &mut self.kind {
            *retry_after = Some(seconds);
        }
        self
    }

    /// Applies to the next `count` calls.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// The operation whose calls fail.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// How they fail.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The number of calls that will fail.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The fault as JSON for the control API.
    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a fault is plain words and numbers")
    }
}

impl FaultKind {
    /// Every kind, each with its default, in the order in which messages list them.
    pub(super) const ALL: [Self; 6] = [
        Self::Status { status: 503, retry_after: None },
        Self::Delay { milliseconds: 0 },
        Self::Drop,
        Self::Truncate,
        Self::Malformed,
        Self::LostResponse,
    ];

    /// The names of all kinds in the control API, sorted.
    #[must_use]
    pub fn names() -> [&'static str; 6] {
        let mut names = Self::ALL.map(Self::as_str);
        names.sort_unstable();
        names
    }

    /// Its name in the control API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

macro_rules! specs {
    ($($operation:ident)*) => {
        &[$(<guichet::operations::$operation as Operation>::SPEC),*]
    };
}

/// The operations of the interface.
pub(super) const SPECS: &[Spec] = guichet::every_operation!(specs);

/// Finds an operation by its name.
///
/// # Errors
/// A message with the nearest name and all operations.
pub(super) fn operation_named(name: &str) -> Result<&'static str, String> {
    let names: Vec<_> = SPECS.iter().map(|spec| spec.name).collect();
    if let Some(known) = names.iter().find(|known| **known == name) {
        return Ok(known);
    }
    let suggestion =
        nearest(name, names.iter().copied()).map(|known| format!(" Did you mean {known}?")).unwrap_or_default();
    Err(format!("Unknown operation.{suggestion} The operations are: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::operations::CreatePlan;
    use serde_json::json;

    #[test]
    fn a_fault_is_written_whole() {
        let faults = [
            Fault::delay::<CreatePlan>(Duration::from_millis(30)),
            Fault::drop::<CreatePlan>(),
            Fault::lost_response::<CreatePlan>(),
            Fault::malformed::<CreatePlan>(),
            Fault::status::<CreatePlan>(503).times(3),
            Fault::status::<CreatePlan>(429).retry_after(7),
            Fault::truncate::<CreatePlan>(),
        ];
        for fault in faults {
            let written = fault.to_json();
            assert_eq!(written["kind"], fault.kind.as_str());
            assert!(FaultKind::names().contains(&fault.kind.as_str()), "{fault:?} can be set by its name");
            assert_eq!((&written["operation"], &written["count"]), (&json!("create_plan"), &json!(fault.count)));
        }
        let written =
            json!({ "operation": "create_plan", "kind": "status", "count": 1, "status": 503, "retry_after": null });
        assert_eq!(Fault::status::<CreatePlan>(503).to_json(), written);
    }
}
